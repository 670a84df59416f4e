// Sorted bulk load.

import TestSupport
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

  /// The rows of random keys and lengths, ascending. Some objects lie in the log.
  private func randomRows(
    _ count: Int, _ random: inout SeededGenerator
  ) -> [(key: Key, row: [UInt8])] {
    let alphabet: [UInt8] = [0, 1, 97, 98, 255]
    let keys = (0..<count).map { _ in
      Key(
        bytes: (0..<Int.random(in: 1...9, using: &random)).map { _ in
          alphabet.randomElement(using: &random) ?? 0
        })
    }
    return Set(keys).sorted().map { key in
      let length = Int.random(in: 0..<10, using: &random) == 0 ? 3000 : 40
      return (key, [UInt8](repeating: UInt8.random(in: 0...9, using: &random), count: length))
    }
  }

  @Test(
    "A load leaves the state and the log of single puts, whatever else its sequence writes",
    arguments: seeds(1...20))
  func equalsPuts(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let options = StoreOptions(
      durability: .unsynced, memoryBudget: 1 << 20, segmentSize: 64 << 10, logger: quietLogger)
    let loaded = try Store(at: folder.path + "/loaded", options: options)
    let put = try Store(at: folder.path + "/put", options: options)
    let buckets = [Bucket<[UInt8]>.bytes("a"), .bytes("b"), .bytes("c")]
    for store in [loaded, put] {
      try store.register(
        GroupIndex("of c", on: Bucket<[UInt8]>.bytes("c"), version: 1) { row in
          row.count < 100 ? Place(in: "small") : nil
        })
    }
    for _ in 0..<12 {
      let bucket = buckets[Int.random(in: 0..<3, using: &random)]
      let other = buckets[Int.random(in: 0..<3, using: &random)]
      let rows = randomRows(Int.random(in: 1...400, using: &random), &random)
      // The writes of the sequence while the load reads it, by the row before which they come.
      var writes: [Int: Key] = [:]
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        writes[Int.random(in: 0..<rows.count, using: &random)] =
          rows.randomElement(using: &random)?.key
      }
      let deletes = Bool.random(using: &random)
      func write(before index: Int, in tx: Transaction) throws {
        guard let key = writes[index] else { return }
        if deletes {
          try tx.delete(key, in: other)
        } else {
          try tx.put([1, 2], for: key, in: other)
        }
      }
      try loaded.write { tx in
        let sequence = rows.enumerated().lazy.map { index, row in
          do { try write(before: index, in: tx) } catch { Issue.record(error) }
          return row
        }
        let count = try tx.load(sequence, in: bucket)
        #expect(count == rows.count)
      }
      try put.write { tx in
        for (index, row) in rows.enumerated() {
          try write(before: index, in: tx)
          try tx.put(row.row, for: row.key, in: bucket)
        }
      }
      if Bool.random(using: &random), let row = rows.last {
        for store in [loaded, put] { try store.write { try $0.delete(row.key, in: bucket) } }
      }
    }
    #expect(try payloads(of: loaded) == payloads(of: put))
    let (a, b) = (try loaded.snapshot(), try put.snapshot())
    for bucket in buckets {
      let rows = try a.rows(in: bucket)
      let expected = try b.rows(in: bucket)
      #expect(rows.map(\.key) == expected.map(\.key))
      #expect(rows.map(\.row) == expected.map(\.row))
    }
    #expect(try ids(in: a) == ids(in: b))
    for store in [loaded, put] {
      #expect(try store.checkInvariants() == [])
      try store.close()
    }
  }

  private func ids(in snapshot: Snapshot) throws -> [RowID?] {
    let group = try snapshot.index("of c").group("small")
    return try (0..<group.count).map { try group.id(at: $0) }
  }

  /// The bytes that each commit has in the log.
  private func payloads(of store: Store) throws -> [[UInt8]] {
    var payloads: [[UInt8]] = []
    try store.log.replay(from: 1, through: store.newestCommit) { _, payload in
      payloads.append(Array(payload))
      return true
    }
    return payloads
  }
}
