// Bucket numbers by name: the answers of a catalog equal those of its bucket table, whatever names
// were looked up before.

import TestSupport
import Testing

@testable import TreeRing

@Suite struct BucketNumberTests {
  /// Names of equal length and equal last and middle bytes share a slot of the cache.
  private static let names =
    ["", "a", "ä", "a\u{308}", String(repeating: "n", count: 300), "x\0y"]
    + (0..<200).map { "b\($0)b" } + (100..<150).map { "\($0)rows" }

  @Test func `a catalog finds the number of every bucket, and of no other name`() {
    for seed: UInt64 in 1...20 {
      var random = SeededGenerator(seed: seed)
      var catalog = Catalog()
      var numbers: [[UInt8]: UInt32] = [:]
      var former: (catalog: Catalog, numbers: [[UInt8]: UInt32])?
      for name in Self.names.shuffled(using: &random) {
        if Bool.random(using: &random) {
          let number = catalog.nextBucketNumber
          catalog.add(BucketReference(number: number, name: name))
          numbers[Array(name.utf8)] = number
        }
        // The earlier catalog shares nothing that the later one changes.
        if former == nil, numbers.count == 20 { former = (catalog, numbers) }
        for name in Self.names.shuffled(using: &random).prefix(30) {
          #expect(
            catalog.number(ofBucket: name) == numbers[Array(name.utf8)], "seed \(seed), \(name)")
        }
      }
      for name in Self.names {
        #expect(
          former?.catalog.number(ofBucket: name) == former?.numbers[Array(name.utf8)],
          "seed \(seed), \(name)")
      }
    }
  }

  @Test func `threads that look up the same new names get the same numbers`() async {
    for _ in 0..<50 {
      var catalog = Catalog()
      for (index, name) in Self.names.enumerated() {
        catalog.add(BucketReference(number: UInt32(index) + 1, name: name))
      }
      let shared = catalog
      await withTaskGroup(of: [UInt32?].self) { group in
        for _ in 0..<4 {
          group.addTask { Self.names.map { shared.number(ofBucket: $0) } }
        }
        for await found in group { #expect(found == (1...UInt32(Self.names.count)).map { $0 }) }
      }
    }
  }
}
