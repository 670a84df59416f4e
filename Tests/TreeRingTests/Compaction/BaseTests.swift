// Bases of a compacted history, read from one store and written into another: the states are the
// same at every readable commit.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Bases of compacted histories", .leavesSoundStores) struct BaseTests {
  /// Writes the bases of a store into a new store.
  private func copyBases(
    of store: Store, to folder: String, on files: any FileSystem
  ) throws -> [CommitNumber] {
    let bases = try store.baseCommits()
    let writer = try BaseWriter(folder: folder, fileSystem: files)
    defer { writer.close() }
    var previous: CommitNumber = 0
    for base in bases {
      try writer.write(try store.baseInfo(of: base)) { write in
        try store.forEachBaseOperation(of: base, after: previous, write)
      }
      previous = base
    }
    return bases
  }

  @Test(
    "A store that begins with copied bases equals the model, at tags and at the horizon",
    arguments: seeds(1...4))
  func copy(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed &* 7_919)
    let files = MemoryFiles()
    let store = try files.open(capacity: 6)
    var history = RandomHistory(seed: seed)
    try store.define("byGroup", RandomHistory.fieldIndex)
    for _ in 1...store.newestCommit { history.noteEmptyCommit() }
    for round in 1...3 {
      for _ in 0..<50 { try history.commit(to: store) }
      for _ in 0..<2 {
        let tagged = CommitNumber.random(
          in: max(1, store.horizon)...store.newestCommit, using: &random)
        try store.write {
          try $0.tag("tag \(Int.random(in: 0..<4, using: &random))", commit: tagged)
        }
        history.noteEmptyCommit()
      }
      let wanted = CommitNumber.random(in: 1...store.newestCommit, using: &random)
      try store.compact(to: .before(wanted))
      let label = "seed \(seed), round \(round), horizon \(store.horizon)"
      let disk = MemoryFileSystem()
      let bases = try copyBases(of: store, to: "store", on: disk)
      #expect(bases.last == store.horizon, "\(label)")
      #expect(verifyLog(directory: "store/log", fileSystem: disk) == [], "\(label)")
      let copy = try MemoryFiles(fileSystem: disk).open(capacity: 6)
      #expect(copy.newestCommit >= store.horizon, "\(label)")
      #expect(copy.horizon == store.horizon, "\(label)")
      let tags = Set(try copy.snapshot(at: .commit(copy.horizon)).tags().map(\.commit))
      for commit in 1...store.horizon {
        if commit == store.horizon || tags.contains(commit) && bases.contains(commit) {
          let snapshot = try copy.snapshot(at: .commit(commit))
          try history.check(snapshot, label: "\(label), at \(commit)")
          #expect(
            try snapshot.timestamp == store.snapshot(at: .commit(commit)).timestamp, "\(label)")
        } else if !tags.contains(commit) {
          #expect(code { try copy.snapshot(at: .commit(commit)) } == .beyondHorizon, "\(label)")
        }
      }
      #expect(try copy.checkInvariants() == [], "\(label)")
      try copy.close()
    }
  }

  @Test("A row keeps the commits that wrote, made and touched it, and its coder's version")
  func stamps() throws {
    let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
    let coded = Bucket<[UInt8]>(
      "blobs", coder: RowCoder(version: 7, encode: { $0 }, decode: { bytes, _ in Array(bytes) }))
    try store.put([1], for: "a")
    try store.write { try $0.touch("a", in: "blobs") }
    try store.write { try $0.put(object: [2], for: "a", in: coded) }
    try store.put(Array(repeating: 3, count: 5_000), for: "large")
    try store.write { try $0.put(metadata: [4], for: "large", in: "blobs") }
    try store.compact(to: .dropHistory)
    let disk = MemoryFileSystem()
    #expect(try copyBases(of: store, to: "store", on: disk) == [5])
    let copy = try Store(path: nil, fileSystem: disk, options: StoreOptions(logger: quietLogger))
    let (old, new) = (try store.snapshot(), try copy.snapshot())
    for key in ["a", "large"] as [Key] {
      #expect(try new.row(key, in: "blobs") == old.row(key, in: "blobs"))
    }
    let row = try #require(try new.row("a", in: "blobs"))
    #expect(row.written == 3 && row.created == 1)
    #expect(try new.withObject(of: "a", in: "blobs") { $1 } == 7)
    #expect(try new.row("large", in: "blobs")?.object.count == 5_000)
    try copy.put([9], for: "b")
    #expect(copy.newestCommit == 6)
  }

  @Test(
    "A base is whole or absent after any failed call and any power failure", arguments: seeds(1...1)
  )
  func crashes(seed: UInt64) throws {
    let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
    for number in 0..<30 { try store.put([UInt8(number)], for: Key("k\(number % 4)")) }
    try store.write { try $0.tag("early", commit: 12) }
    try store.compact(to: .before(25))
    var calls = 0
    while true {
      let disk = SimulatedFileSystem(seed: seed)
      disk.crash(after: calls)
      let isDone = code { _ = try copyBases(of: store, to: "store", on: disk) } == nil
      let after = disk.afterCrash(seed: seed &+ UInt64(calls))
      var options = StoreOptions(mode: .readWrite, logger: quietLogger)
      options.pageCellCapacity = 4
      if let copy = try? Store(path: "store", fileSystem: after, options: options) {
        #expect([12, 25].contains(copy.newestCommit), "after \(calls) calls")
        #expect(copy.horizon == copy.newestCommit, "after \(calls) calls")
        let there = try copy.snapshot().row("k1", in: "blobs")
        let wanted = try store.snapshot(at: .commit(copy.newestCommit)).row("k1", in: "blobs")
        #expect(there == wanted, "after \(calls) calls")
        if isDone { #expect(copy.newestCommit == 25) }
        try copy.close()
      } else {
        #expect(!isDone, "after \(calls) calls")
      }
      if isDone { break }
      calls += 1
    }
    #expect(calls > 10)
  }

  @Test("An operation that cannot be part of a base is refused, and nothing of that base is kept")
  func refusals() throws {
    let disk = MemoryFileSystem()
    let writer = try BaseWriter(folder: "store", fileSystem: disk)
    let date = Timestamp(microseconds: 1_000)
    let row = RowID(bucket: "blobs", key: "k")
    func put(
      at commit: CommitNumber, _ operation: UInt32 = 0, created: CommitNumber = 1
    ) -> BaseOperation {
      BaseOperation(
        .row(row, .put(coder: 0, object: [1], metadata: nil)),
        stamp: Stamp(commit: commit, operation: operation), timestamp: date,
        created: Stamp(commit: created, operation: 0))
    }
    let second = Stamp(commit: 2, operation: 0)
    let bad: [[BaseOperation]] = [
      [put(at: 6)], [put(at: 0)], [put(at: 4), put(at: 3)], [put(at: 2, created: 3)],
      [put(at: 2, created: 0)], [put(at: 2, 1), put(at: 2, 1)], [put(at: 2, 1 << 31)],
      [BaseOperation(.row(row, .touch), stamp: second, timestamp: date)],
      [BaseOperation(.tag(name: "t", commit: 3), stamp: second, timestamp: date)],
    ]
    for operations in bad {
      let outcome = code {
        try writer.write(BaseInfo(commit: 5, timestamp: date)) { try operations.forEach($0) }
      }
      #expect(outcome == .invalidInput, "\(operations)")
    }
    #expect(try disk.list("store/log") == [])
    try writer.write(BaseInfo(commit: 5, timestamp: date)) { try $0(put(at: 5)) }
    #expect(
      code { try writer.write(BaseInfo(commit: 5, timestamp: date)) { _ in } } == .invalidInput)
    writer.close()
    #expect(code { try BaseWriter(folder: "store", fileSystem: disk) } == .alreadyExists)
    let store = try Store(
      path: "store", fileSystem: disk, options: StoreOptions(logger: quietLogger))
    #expect(code { try BaseWriter(folder: "store", fileSystem: disk) } == .locked)
    try store.put([1], for: "after")
    try store.close()
    #expect(
      code { try BaseWriter(folder: "store", fileSystem: disk, continues: true) }
        == .alreadyExists)
  }
}
