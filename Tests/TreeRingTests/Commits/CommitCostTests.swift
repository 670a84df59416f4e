// A commit's cost does not depend on the indexes and buckets that it does not affect.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The cost of commits", .leavesSoundStores)
struct CommitCostTests {
  /// A store with `indexCount` indexes over one bucket of their own.
  private func store(indexCount: Int, budget: Int = 4 << 20) throws -> Store {
    let store = try Store.inMemory(
      options: StoreOptions(durability: .unsynced, memoryBudget: budget, logger: quietLogger))
    try store.write { tx in
      for number in 0..<indexCount {
        try tx.define(
          "index\(number)", try FieldIndex(bucket: "other\(number)", group: "g", order: []))
      }
    }
    return store
  }

  @Test("The counted size of a commit's records does not depend on the number of other indexes")
  func charges() throws {
    let charges = try [40, 200].map { count in
      let store = try store(indexCount: count)
      var charges: [Int] = []
      var last = store.records.byteCount
      for bucket in ["blobs", "other7", "other7", "blobs"] {
        try store.write { try $0.put(Array(#"{"g":1}"#.utf8), for: "a", in: .bytes(bucket)) }
        charges.append(store.records.byteCount - last)
        last = store.records.byteCount
      }
      #expect(charges[0] == RecordSize.commit && charges[3] == RecordSize.commit)
      #expect(charges[1] > charges[0], "the row it affected")
      return charges
    }
    #expect(charges[0] == charges[1])
  }

  @Test("Records of commits that affect no index stay within their part of the memory budget")
  func emptyRecords() throws {
    let store = try store(indexCount: 200)
    let limit = store.records.byteLimit
    let start = try store.snapshot()
    let count = limit / RecordSize.commit + 50
    for number in 0..<count { try store.put([UInt8(truncatingIfNeeded: number)], for: "a") }
    #expect(store.records.byteCount <= limit)
    #expect(store.records.commitCount == limit / RecordSize.commit)
    let end = try store.snapshot()
    #expect(try store.affectedRows(ofIndex: "index7", from: start, to: end).rows.isEmpty)
  }

  @Test("A commit that exceeds the limit has no records, and a diff of the trees replaces them")
  func recorderLimit() throws {
    let recorder = ChangeRecorder(byteLimit: 10_000)
    let place = [EncodedPlace(group: "g", sortKey: [1])]
    var most = 0
    for number in 0..<1_000 {
      Array("\(number)".utf8).withUnsafeBytes {
        recorder.record(
          index: 1, bucket: 1, key: $0, old: [], new: place, oldContent: nil, newContent: nil)
      }
      most = max(most, recorder.byteCount)
    }
    #expect(recorder.isOverLimit && most < 12_000)

    let store = try Store.inMemory(
      options: StoreOptions(
        durability: .unsynced, memoryBudget: 1 << 20, indexes: [byGroup()], logger: quietLogger))
    let start = try store.snapshot()
    try store.write { tx in
      for number in 0..<1_500 {
        try tx.put(Note(group: "g", number: number), for: Key("k\(number)"), in: notes)
      }
    }
    #expect(store.records.commitCount == 0 && store.records.byteCount == 0)
    let end = try store.snapshot()
    #expect(try store.affectedRows(ofIndex: "byGroup", from: start, to: end).rows.count == 1_500)
    try store.put(Note(group: "g", number: 1), for: "one")
    #expect(store.records.commitCount == 1)
  }

  @Test("Definitions are prepared once for all commits, and again after closures are registered")
  func definitions() throws {
    let calls = (0..<2).map { _ in Counter() }
    func index(_ number: Int) -> GroupIndex {
      let calls = calls[number]
      return GroupIndex("byGroup", on: notes, version: 1) { (note: Note) in
        _ = calls.next()
        return note.group.map { Place(in: $0, by: .ascending(note.number)) }
      }
    }
    let store = try Store.inMemory(indexes: [index(0)])
    try store.put(Note(group: "g", number: 1), for: "a")
    try store.put(Note(group: "g", number: 2), for: "a")
    #expect(calls.map(\.count) == [2, 0])
    // A running write continues with its first closure; the next write uses the new one.
    try store.write { tx in
      try store.register(index(1))
      try tx.put(Note(group: "g", number: 3), for: "a", in: notes)
    }
    #expect(calls.map(\.count) == [3, 0])
    try store.put(Note(group: "g", number: 4), for: "a")
    #expect(calls.map(\.count) == [3, 1])
    #expect(try store.checkInvariants() == [])
  }

  @Test("Lookup by bucket finds the definitions over it, after any additions and removals")
  func activeIndexes() {
    var random = SeededGenerator(seed: 1)
    var indexes = ActiveIndexes()
    var model: [UInt32: ActiveIndex] = [:]
    let buckets = ["a", "b", "c", "d"]
    for _ in 0..<2_000 {
      let number = UInt32.random(in: 1...30, using: &random)
      if model[number] != nil {
        indexes.remove(number)
        model[number] = nil
      } else {
        let index = ActiveIndex(
          number: number, name: "\(number)", evaluator: .manual,
          buckets: buckets.filter { _ in Bool.random(using: &random) })
        indexes.insert(index)
        model[number] = index
      }
      #expect(indexes.count == model.count)
      for bucket in buckets {
        let wanted = model.values.filter { $0.buckets.contains(bucket) }.map(\.number).sorted()
        #expect(indexes.covering(bucket).map(\.number) == wanted)
      }
    }
  }

  @Test("A change of a map does not change its earlier states", arguments: seeds(1...3))
  func persistentMap(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var map = PersistentMap<Int>()
    var model: [UInt64: Int] = [:]
    var states: [(PersistentMap<Int>, [UInt64: Int])] = []
    // Few low digits and many high ones make long paths; definitions have small numbers.
    let keys = (0..<300 as Range<UInt64>).map { (number) -> UInt64 in
      if number % 2 == 0 { return number }
      return number % 3 + number << 40
    }
    for turn in 0..<4_000 {
      let key = keys.randomElement(using: &random) ?? 0
      let value = Int.random(in: 0..<3, using: &random) == 0 ? nil : turn
      map[key] = value
      model[key] = value
      if turn % 200 == 0 { states.append((map, model)) }
    }
    for (map, model) in states + [(map, model)] {
      var found: [UInt64: Int] = [:]
      map.forEach { found[$0] = $1 }
      #expect(found == model && map.count == model.count)
      for key in keys + [7 << 50, .max] { #expect(map[key] == model[key]) }
    }
  }

  @Test("Adding to a bucket table does not change its earlier states")
  func bucketTable() {
    var table = BucketTable()
    var earlier: [BucketTable] = []
    for number in 1...2_000 {
      if number % 100 == 0 { earlier.append(table) }
      table.add(BucketReference(number: UInt32(number * 7), name: "bucket \(number)"))
    }
    for (index, table) in (earlier + [table]).enumerated() {
      let count = index < 20 ? (index + 1) * 100 - 1 : 2_000
      #expect(table.count == count && table.all.count == count)
      #expect(table.all.map(\.number) == (1...count).map { UInt32($0 * 7) })
      #expect(table["bucket \(count)"] == UInt32(count * 7))
      #expect(table.name(of: UInt32(count * 7)) == "bucket \(count)")
      #expect(table["bucket \(count + 1)"] == nil)
      #expect(table.name(of: UInt32(count * 7 + 7)) == nil)
    }
    // Names differ if their bytes differ.
    table.add(BucketReference(number: 1, name: "\u{E9}"))
    table.add(BucketReference(number: 2, name: "e\u{301}"))
    #expect(table["\u{E9}"] == 1 && table["e\u{301}"] == 2)
  }
}
