// One row as of a point in history: every way of reading gives the answer of a snapshot of that
// point.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Reading one row of the past", .leavesSoundStores) struct PointReadTests {
  private static let keys = (0..<40).map { Key("k\($0)") }
  private static let bytes = Bucket<[UInt8]>.bytes("bytes")

  private static func options(_ budget: Int = 64 << 20) -> StoreOptions {
    StoreOptions(
      durability: .unsynced, memoryBudget: budget, segmentSize: 16 << 10, logger: quietLogger)
  }

  /// Compares every row at every commit, first read individually, then in the snapshot.
  ///
  /// - Returns: The number of states that the individual reads have rebuilt.
  @discardableResult
  private func check(_ store: Store, step: CommitNumber = 1) throws -> Int {
    store.timeTravel.evictAll()
    let newest = store.newestCommit
    var found: [CommitNumber: [Result<StoredRow?, TreeRingError>]] = [:]
    for number in stride(from: 0, through: newest + 1, by: CommitNumber.Stride(step)) {
      for bucket in ["items", "bytes", "none"] {
        for key in Self.keys {
          found[number, default: []].append(
            Result { () throws(TreeRingError) in
              try store.row(key, in: bucket, at: .commit(number))
            })
        }
      }
      for key in Self.keys.prefix(7)
      where code(of: { try store.commit(at: .commit(number)) }) == nil {
        let typed = try store.get(key, in: Self.bytes, at: .commit(number))
        #expect(typed == (try store.row(key, in: "bytes", at: .commit(number))?.object))
      }
    }
    let rebuilt = store.timeTravel.versions.count
    for (number, rows) in found.sorted(by: { $0.key < $1.key }) {
      let snapshot = Result { () throws(TreeRingError) in
        try store.snapshot(at: .commit(number))
      }
      var next = rows.makeIterator()
      for bucket in ["items", "bytes", "none"] {
        for key in Self.keys {
          let expected = snapshot.flatMap { snapshot in
            Result { () throws(TreeRingError) in try snapshot.row(key, in: bucket) }
          }
          #expect(Self.same(next.next(), expected), "\(bucket) \(key) at commit \(number)")
        }
      }
    }
    return rebuilt
  }

  private static func same(
    _ found: Result<StoredRow?, TreeRingError>?, _ expected: Result<StoredRow?, TreeRingError>
  ) -> Bool {
    switch (found, expected) {
    case (.success(let found)?, .success(let expected)): found == expected
    case (.failure(let found)?, .failure(let expected)): found.code == expected.code
    default: false
    }
  }

  @Test(
    "At every commit each row equals that of the snapshot, and no state is rebuilt",
    arguments: [1, 2])
  func everyCommit(seed: UInt64) throws {
    let store = try Store.inMemory(options: Self.options())
    var history = RandomHistory(seed: seed)
    for _ in 0..<150 { try history.commit(to: store) }
    #expect(try check(store) == 0)
  }

  @Test("After reopening, kept roots shorten the walk and change no result")
  func checkpoints() throws {
    let files = MemoryFileSystem()
    var store = try Store(path: "store", fileSystem: files, options: Self.options())
    var history = RandomHistory(seed: 3)
    for round in 0..<6 {
      for _ in 0..<40 { try history.commit(to: store) }
      if round < 5 { try store.checkpoint() }
    }
    try store.close()
    store = try Store(path: "store", fileSystem: files, options: Self.options())
    #expect(try check(store, step: 3) == 0)
    try store.close()
  }

  @Test("By tag and by date it is the same row as by number")
  func points() throws {
    let store = try Store.inMemory(options: Self.options())
    var random = SeededGenerator(seed: 9)
    var dates: [Timestamp] = []
    for number in 0..<200 {
      try store.write { tx in
        tx.timestamp = Timestamp(microseconds: Int64(1_000 + number / 3 * 10))
        tx.tags = ["tag \(number)"]
        try tx.put([UInt8(number)], for: Self.keys[number % 5], in: Self.bytes)
      }
      dates.append(Timestamp(microseconds: Int64(1_000 + number / 3 * 10)))
    }
    for _ in 0..<200 {
      let number = Int.random(in: 0..<200, using: &random)
      let key = Self.keys[Int.random(in: 0..<6, using: &random)]
      let expected = try store.snapshot(at: .commit(CommitNumber(number + 1)))
        .get(key, in: Self.bytes)
      #expect(try store.get(key, in: Self.bytes, at: .tag("tag \(number)")) == expected)
      for shift in [-1, 0, 1] as [Int64] {
        let date = Timestamp(microseconds: dates[number].microseconds + shift)
        let newest = dates.lastIndex { $0 <= date }.map { CommitNumber($0 + 1) } ?? 0
        #expect(try store.commit(at: .date(date)) == newest)
        #expect(
          try store.get(key, in: Self.bytes, at: .date(date))
            == store.snapshot(at: .date(date)).get(key, in: Self.bytes))
      }
    }
    #expect(code { _ = try store.get("k0", in: Self.bytes, at: .tag("none")) } == .notFound)
    #expect(code { _ = try store.get("k0", in: Self.bytes, at: .commit(999)) } == .notFound)
  }

  @Test("After compaction, rows are found at tags, at the horizon and after it only")
  func compaction() throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: files, options: Self.options())
    var history = RandomHistory(seed: 4)
    for round in 1...5 {
      for _ in 0..<40 { try history.commit(to: store) }
      let newest = store.newestCommit
      try store.write { try $0.tag("tag \(round)", commit: newest - 7) }
      history.noteEmptyCommit()
      if round > 1 {
        try store.compact(to: .before(newest - 30))
        try check(store)
      }
    }
    try store.close()
  }

  @Test("An erased row is found at no commit; written again, it is found from then on")
  func erasing() throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: files, options: Self.options())
    var history = RandomHistory(seed: 5)
    for _ in 0..<80 { try history.commit(to: store) }
    try store.erase("k3", in: "items")
    try store.erase("k4", in: "bytes")
    try store.write { try $0.put([1, 2, 3], for: "k4", in: Self.bytes) }
    try store.write { try $0.put([4], for: "k4", in: Self.bytes) }
    try check(store)
    try store.close()
  }

  @Test("A row that thousands of commits wrote is found by rebuilding the state")
  func hotRow() throws {
    let store = try Store.inMemory(options: Self.options())
    let count = 3_000
    for number in 0..<count {
      try store.write { tx in
        try tx.put(Array(repeating: UInt8(number % 251), count: 60), for: "hot", in: Self.bytes)
      }
    }
    for commit in [1, 10, 1_500, 2_990] {
      #expect(
        try store.get("hot", in: Self.bytes, at: .commit(CommitNumber(commit)))?.first
          == UInt8((commit - 1) % 251))
    }
    #expect(!store.timeTravel.versions.isEmpty)
  }
}
