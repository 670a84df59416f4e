// Manual indexes through every operation on a log.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Manual indexes", .leavesSoundStores) struct ManualIndexTests {
  private static func open(
    _ files: any FileSystem, _ mode: StoreMode = .create, segmentSize: UInt64 = 4 << 10
  ) throws -> Store {
    // The filter's parent must exist before the registration of the filter.
    let isThere = try files.exists("store/log")
    var options = StoreOptions(
      mode: mode, segmentSize: segmentSize, indexes: isThere ? [ManualHistory.even] : [],
      logger: quietLogger)
    options.pageCellCapacity = 5
    return try Store(path: "store", fileSystem: files, options: options)
  }

  /// A new store with the index and its filter.
  private static func make(
    _ history: inout ManualHistory, on files: any FileSystem, segmentSize: UInt64 = 4 << 10
  ) throws -> Store {
    let store = try open(files, segmentSize: segmentSize)
    try store.define(ManualHistory.index, ManualIndex(on: notes))
    try store.register(ManualHistory.even)
    history.noteOther()
    history.noteOther()
    return store
  }

  private static func checkAll(
    _ store: Store, _ history: ManualHistory, from first: CommitNumber = 0, _ label: String
  ) throws {
    for commit in first...store.newestCommit {
      try history.check(try store.snapshot(at: .commit(commit)), label)
    }
    #expect(try store.checkInvariants() == [], Comment(rawValue: label))
  }

  @Test(
    "Groups have the order that the caller made, at every commit and after reopening",
    arguments: seeds(1...8))
  func lists(seed: UInt64) throws {
    let files = MemoryFileSystem()
    var history = ManualHistory(seed: seed)
    var store = try Self.make(&history, on: files)
    for round in 1...4 {
      for _ in 0..<25 {
        try history.commit(to: store)
        try history.check(try store.snapshot(), "seed \(seed)")
      }
      try Self.checkAll(store, history, "seed \(seed), round \(round)")
      if round == 2 { try store.checkpoint() }
      try store.close()
      if round == 3 { try files.unlink("store/pages") }
      store = try Self.open(files)
      try Self.checkAll(store, history, "seed \(seed), reopened \(round)")
    }
  }

  @Test("A follower shows the same groups, commit by commit", arguments: seeds(1...3))
  func followers(seed: UInt64) async throws {
    let files = MemoryFileSystem()
    var history = ManualHistory(seed: seed)
    let store = try Self.make(&history, on: files)
    let reader = try Self.open(files, .readOnly)
    for turn in 0..<40 {
      try history.commit(to: store)
      if turn % 9 == 0 { try await store.checkpoint() }
      try await reader.reached(store.newestCommit)
      try history.check(try reader.snapshot(), "seed \(seed), turn \(turn)")
    }
    let past = try await reader.snapshot(at: .commit(store.newestCommit / 2))
    try history.check(past, "seed \(seed), past")
  }

  @Test("Records and a diff of two roots give the same changes", arguments: seeds(1...6))
  func changes(seed: UInt64) throws {
    var history = ManualHistory(seed: seed)
    let store = try Self.make(&history, on: MemoryFileSystem())
    for _ in 0..<40 { try history.commit(to: store) }
    var random = SeededGenerator(seed: seed)
    for _ in 0..<30 {
      let from = CommitNumber.random(in: 2...store.newestCommit, using: &random)
      let to = CommitNumber.random(in: 2...store.newestCommit, using: &random)
      let (old, new) = (
        try store.snapshot(at: .commit(from)), try store.snapshot(at: .commit(to))
      )
      for index in [ManualHistory.index, "even"] {
        let recorded = try store.affectedRows(ofIndex: index, from: old, to: new)
        let compared = try store.affectedRows(
          ofIndex: index, from: old, to: new, usesRecords: false)
        #expect(recorded.significant == compared.significant, "seed \(seed), \(from) to \(to)")
      }
    }
  }

  @Test("Reverting restores the order too", arguments: seeds(1...6))
  func reverting(seed: UInt64) throws {
    var history = ManualHistory(seed: seed)
    let store = try Self.make(&history, on: MemoryFileSystem())
    var random = SeededGenerator(seed: seed)
    for _ in 0..<12 {
      for _ in 0..<6 { try history.commit(to: store) }
      let target = CommitNumber.random(in: 0...store.newestCommit, using: &random)
      let done = try store.revert(to: .commit(target))
      if done.operations > 0 { history.noteReverted(to: target) }
      #expect(done.commit == CommitNumber(history.states.count - 1))
      try history.check(try store.snapshot(), "seed \(seed)")
    }
    try Self.checkAll(store, history, "seed \(seed)")
  }

  @Test("Compaction keeps the order at every commit that can be read", arguments: seeds(1...8))
  func compaction(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed &* 31)
    let files = MemoryFileSystem()
    var history = ManualHistory(seed: seed)
    var store = try Self.make(&history, on: files, segmentSize: 2 << 10)
    for round in 1...4 {
      for _ in 0..<40 { try history.commit(to: store) }
      let tagged = CommitNumber.random(
        in: max(1, store.horizon)...store.newestCommit, using: &random)
      try store.write { try $0.tag("t\(round % 3)", commit: tagged) }
      history.noteOther()
      let wanted = CommitNumber.random(
        in: max(1, store.horizon)...store.newestCommit, using: &random)
      try store.compact(to: .before(wanted))
      let label = "seed \(seed), round \(round), horizon \(store.horizon)"
      try Self.checkAll(store, history, from: store.horizon, label)
      for tag in try store.snapshot().tags() where tag.commit < store.horizon {
        try history.check(try store.snapshot(at: .commit(tag.commit)), label)
      }
      try store.close()
      if Bool.random(using: &random) { try files.unlink("store/pages") }
      store = try Self.open(files, segmentSize: 2 << 10)
      try Self.checkAll(store, history, from: store.horizon, label + ", reopened")
    }
  }

  @Test("A compacted history copied by its bases has the same order", arguments: seeds(1...4))
  func bases(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed &* 17)
    var history = ManualHistory(seed: seed)
    let store = try Self.make(&history, on: MemoryFileSystem(), segmentSize: 2 << 10)
    for round in 1...3 {
      for _ in 0..<40 { try history.commit(to: store) }
      let tagged = CommitNumber.random(
        in: max(1, store.horizon)...store.newestCommit, using: &random)
      try store.write { try $0.tag("t\(round)", commit: tagged) }
      history.noteOther()
      try store.compact(to: .before(.random(in: tagged...store.newestCommit, using: &random)))
    }
    let disk = MemoryFileSystem()
    let bases = try store.baseCommits()
    let writer = try BaseWriter(folder: "store", fileSystem: disk)
    var previous: CommitNumber = 0
    for base in bases {
      try writer.write(try store.baseInfo(of: base)) { write in
        try store.forEachBaseOperation(of: base, after: previous, write)
      }
      previous = base
    }
    writer.close()
    let copy = try Self.open(disk)
    let tags = try Set(copy.snapshot().tags().map(\.commit))
    for base in bases where base == copy.horizon || tags.contains(base) {
      try history.check(try copy.snapshot(at: .commit(base)), "seed \(seed), base \(base)")
    }
    #expect(try copy.checkInvariants() == [])
  }

  @Test("Erasing a row removes it from every group and moves no other", arguments: seeds(1...4))
  func erasing(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    var options = StoreOptions(segmentSize: 4 << 10, logger: quietLogger)
    options.pageCellCapacity = 5
    let store = try Store(at: folder.path, options: options)
    var history = ManualHistory(seed: seed)
    try store.define(ManualHistory.index, ManualIndex(on: notes))
    try store.register(ManualHistory.even)
    history.noteOther()
    history.noteOther()
    for _ in 0..<50 { try history.commit(to: store) }
    for key in ["k3", "k5"] as [Key] {
      let report = try store.erase(key, in: notes.name)
      if report.deleted != nil { history.noteDeleted(key) }
      history.forget(key)
      try Self.checkAll(store, history, "seed \(seed), erased \(key)")
    }
    for _ in 0..<10 { try history.commit(to: store) }
    try Self.checkAll(store, history, "seed \(seed), after")
    try store.close()
  }

  @Test("Salvage of a sound store keeps the order", arguments: seeds(1...2))
  func salvaging(seed: UInt64) throws {
    let files = MemoryFileSystem()
    var history = ManualHistory(seed: seed)
    let store = try Self.make(&history, on: files)
    for _ in 0..<40 { try history.commit(to: store) }
    try store.close()
    try Store.salvage(from: "store", to: "saved", on: files)
    let saved = try Store(
      path: "saved", fileSystem: files, options: StoreOptions(indexes: [ManualHistory.even]))
    try Self.checkAll(saved, history, "seed \(seed)")
  }

  @Test("Rows placed repeatedly into the same gap stay in order, with short labels")
  func crowded() throws {
    let store = try Store.tiny()
    try store.define("list", ManualIndex(on: notes))
    var keys: [Key] = []
    for number in 0..<1_500 {
      let key = Key("k\(number)")
      let place = number == 0 ? 0 : 1
      try store.write { tx in
        try tx.put(Note(group: nil, number: number), for: key, in: notes)
        try tx.group("g", of: "list").insert(ManualHistory.id(key), at: place)
      }
      keys.insert(key, at: place)
    }
    let index = try store.snapshot().index("list")
    #expect(try index.rows(in: "g").map(\.key) == keys)
    for position in [0, 1, 2, 700, 1_499] {
      let entry = try index.entry(at: position, in: "g")
      #expect(entry.order.count - entry.row.key.count - 5 <= 64)
    }
    // Neighbouring rows sometimes got new labels; few commits have operations besides put and
    // place.
    let many = try (2...store.newestCommit).filter { try store.commit($0).operationCount > 2 }
    #expect(!many.isEmpty && many.count < 20)
    #expect(try store.checkInvariants() == [])
  }

  @Test("Moving a row to its own position writes nothing")
  func nothingToDo() throws {
    let store = try Store.tiny()
    try store.define("list", ManualIndex(on: notes))
    for key in ["a", "b", "c"] as [Key] {
      try store.write { tx in
        try tx.put(Note(number: 0), for: key, in: notes)
        try tx.group("g", of: "list").append(ManualHistory.id(key))
      }
    }
    let newest = store.newestCommit
    try store.write { tx in
      let group = try tx.group("g", of: "list")
      try group.move(ManualHistory.id("a"), to: 0)
      try group.append(ManualHistory.id("c"))
      try group.insert(ManualHistory.id("b"), before: ManualHistory.id("c"))
      try group.insert(ManualHistory.id("b"), after: ManualHistory.id("a"))
      try group.insert(ManualHistory.id("b"), after: ManualHistory.id("b"))
      #expect(try !group.remove(ManualHistory.id("z")))
      #expect(try group.count == 3)
    }
    #expect(store.newestCommit == newest)
  }

  @Test("A placing that is not possible is refused, and changes nothing")
  func refused() throws {
    let store = try Store.tiny(indexes: [byGroup()])
    try store.define("list", ManualIndex(on: notes))
    try store.put(Note(number: 1), for: "a")
    try store.put(Note(number: 1), for: "b")
    try store.put([1], for: "x")
    try store.write { try $0.group("g", of: "list").append(ManualHistory.id("a")) }
    let newest = store.newestCommit
    func refusal(_ body: @escaping (ManualGroup) throws -> Void) -> TreeRingError.Code? {
      code { try store.write { try body(try $0.group("g", of: "list")) } }
    }
    #expect(refusal { try $0.append(ManualHistory.id("none")) } == .notFound)
    #expect(refusal { try $0.append(RowID(bucket: "blobs", key: "x")) } == .invalidInput)
    #expect(refusal { try $0.insert(ManualHistory.id("b"), at: 2) } == .invalidInput)
    #expect(refusal { try $0.insert(ManualHistory.id("b"), at: -1) } == .invalidInput)
    #expect(refusal { try $0.move(ManualHistory.id("a"), to: 1) } == .invalidInput)
    #expect(refusal { try $0.move(ManualHistory.id("b"), to: 0) } == .notFound)
    #expect(
      refusal { try $0.insert(ManualHistory.id("a"), before: ManualHistory.id("b")) } == .notFound)
    #expect(code { try store.write { try $0.group("g", of: "byGroup") } } == .notFound)
    #expect(code { try store.write { try $0.group("g", of: "none") } } == .notFound)
    let long = GroupName(bytes: Array(repeating: 1, count: 300))
    #expect(code { try store.write { try $0.group(long, of: "list") } } == .tooLarge)
    #expect(store.newestCommit == newest)
  }

  @Test("A redefined manual index keeps its rows; removed or of another kind, it loses them")
  func definedAnew() throws {
    let store = try Store.tiny()
    func keys() throws -> [String] { try store.snapshot().index("list").keys("g") }
    try store.define("list", ManualIndex(on: "notes", "blobs"))
    try store.write { tx in
      try tx.put(Note(number: 1), for: "a", in: notes)
      try tx.put([1], for: "b", in: blobs)
      try tx.group("g", of: "list").append(RowID(bucket: "blobs", key: "b"))
      try tx.group("g", of: "list").append(ManualHistory.id("a"))
    }
    let both = store.newestCommit
    #expect(try keys() == ["b", "a"])
    try store.define("list", ManualIndex(on: "notes"))
    #expect(try keys() == ["a"])
    // The current definition answers at every commit.
    #expect(try store.snapshot(at: .commit(both)).index("list").keys("g") == ["a"])
    try store.define("list", ManualIndex(on: "notes", "blobs"))
    #expect(try keys() == ["a"])
    try store.removeIndex("list")
    try store.define("list", ManualIndex(on: "notes", "blobs"))
    #expect(try keys().isEmpty)
    #expect(try store.snapshot(at: .commit(both)).index("list").keys("g") == ["b", "a"])
    try store.define("list", FieldIndex(bucket: "notes", group: "group", order: []))
    try store.define("list", ManualIndex(on: "notes"))
    #expect(try keys().isEmpty)
    #expect(try store.checkInvariants() == [])
  }

  @Test("A placed row that a filter cannot decode is left out and counted")
  func undecodable() throws {
    struct Odd: Error {}
    let picky = GroupIndex("picky", filtering: "list", on: notes, version: 1) { row in
      if row.row.number < 0 { throw Odd() }
      return true
    }
    let store = try Store.tiny()
    try store.define("list", ManualIndex(on: notes))
    try store.register(picky)
    func undecodable() throws -> Int {
      let index = try store.snapshot().index("picky")
      return index.undecodableCount
    }
    try store.put(Note(number: -1), for: "a")
    #expect(try undecodable() == 0)
    for _ in 0..<2 {
      try store.write { try $0.group("g", of: "list").append(ManualHistory.id("a")) }
      #expect(try undecodable() == 1)
      try store.write { _ = try $0.group("g", of: "list").remove(ManualHistory.id("a")) }
      #expect(try undecodable() == 0)
    }
    try store.write { try $0.group("g", of: "list").append(ManualHistory.id("a")) }
    try store.write { try $0.delete("a", in: "notes") }
    #expect(try undecodable() == 0)
    #expect(try store.checkInvariants() == [])
  }
}
