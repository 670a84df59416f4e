// Sorted bulk load.

import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Loading sorted rows", .leavesSoundStores) struct LoadTests {
  private let bucket = Bucket<[UInt8]>.bytes("loaded")

  private func rows(_ range: Range<Int>) -> [(key: Key, row: [UInt8])] {
    range.map { (Key("k" + String(1_000_000 + $0)), Array("value \($0)".utf8)) }
  }

  @Test("Loaded rows can be read, whether they lie behind other rows or between them")
  func load() throws {
    let store = try Store.inMemory()
    #expect(try store.write { try $0.load(rows(1000..<3000), in: bucket) }.value == 2000)
    #expect(try store.write { try $0.load(rows(3000..<3500), in: bucket) }.value == 500)
    #expect(try store.write { try $0.load(rows(0..<1500), in: bucket) }.value == 1500)
    let snapshot = try store.snapshot()
    #expect(try snapshot.rows(in: bucket).map(\.key) == rows(0..<3500).map(\.key))
    #expect(try snapshot.written("k1001200", in: "loaded") == 3)
    #expect(try store.checkInvariants() == [])
  }

  @Test("Rows out of order end the load, and nothing of the transaction remains")
  func outOfOrder() throws {
    let store = try Store.inMemory()
    #expect {
      try store.write { try $0.load(rows(0..<5) + rows(4..<6), in: bucket) }
    } throws: {
      ($0 as? TreeRingError)?.code == .invalidInput
    }
    #expect(try store.snapshot().count(in: "loaded") == 0)
    #expect(store.newestCommit == 0)
  }
}
