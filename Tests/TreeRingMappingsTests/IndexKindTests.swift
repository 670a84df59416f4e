// Changesets over indexes of every kind: rows in several groups, manual, compared, filtered; and
// over replaced definitions.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("Changesets of every kind of index", .leavesSoundStores)
struct IndexKindTests {
  /// An observer, and the list that its changes produce.
  private struct Watcher {
    var observer: MappingObserver
    var list = FollowedList()
    /// The totals that its changes had last.
    var totals: [GroupName: GroupTotal] = [:]
    let index: String

    init(_ store: Store, _ index: String) throws {
      self.index = index
      observer = store.observer(of: IndexKindBoard.mappings(index), limit: .max)
    }

    /// Advances to a snapshot and compares the change with both ends.
    mutating func go(to snapshot: Snapshot, mayReset: Bool = false, _ label: String) throws {
      let label = Comment(rawValue: "\(label), \(index)")
      let before = list.sections
      let isFirst = observer.commit == nil
      let change = try observer.advance(to: snapshot)
      try list.apply(change)
      let expected = try IndexKindBoard.list(index, snapshot)
      #expect(list.sections == expected, label)
      for total in try change.totals() { totals[total.group] = total }
      let reader = try snapshot.index(index)
      for group in IndexKindBoard.groups {
        let sum = reader.hasSums ? try reader.sum(in: group) : nil
        let count = try reader.count(in: group)
        #expect(totals[group] == GroupTotal(group: group, count: count, sum: sum), label)
      }
      if isFirst || mayReset { return }
      #expect(!change.isReset, label)
      #expect(change.rowOperationCount == IndexKindBoard.cost(before, expected), label)
    }
  }

  @Test(
    "Changes are minimal, forward and backward, from records and from roots",
    arguments: seeds(1...8))
  func minimal(seed: UInt64) throws {
    let files = MemoryFileSystem()
    var board = try IndexKindBoard(seed: seed, files: files)
    for _ in 0..<10 { try board.commit() }
    for round in 0..<3 {
      var watchers = try IndexKindBoard.names.map { try Watcher(board.store, $0) }
      for turn in 0..<12 {
        for _ in 0..<Int.random(in: 0...2, using: &board.random) { try board.commit() }
        let newest = board.store.newestCommit
        let jumps = Int.random(in: 0..<2, using: &board.random) == 0
        let point = jumps ? CommitNumber.random(in: 0...newest, using: &board.random) : newest
        let snapshot = try board.store.snapshot(at: .commit(point))
        for index in watchers.indices {
          try watchers[index].go(
            to: snapshot, "seed \(seed), round \(round), turn \(turn), to \(point)")
        }
      }
      #expect(try board.store.checkInvariants() == [], "seed \(seed)")
      // Without change records, and at the end without the page file.
      try board.store.close()
      if round == 1 { try files.unlink("store/pages") }
      board = IndexKindBoard(
        seed: seed &+ UInt64(round) &* 1_000, store: try IndexKindBoard.open(files))
    }
  }

  @Test("The first change after a restart is minimal too", arguments: seeds(1...6))
  func restart(seed: UInt64) throws {
    let files = MemoryFileSystem()
    var board = try IndexKindBoard(seed: seed, files: files)
    for _ in 0..<12 { try board.commit() }
    var kept: [(position: MappingPosition, list: [[RowID]])] = []
    for index in IndexKindBoard.names {
      var watcher = try Watcher(board.store, index)
      try watcher.go(to: try board.store.snapshot(), "seed \(seed)")
      kept.append((try #require(watcher.observer.position), watcher.list.sections))
    }
    for _ in 0..<5 { try board.commit() }
    try board.store.close()
    let store = try IndexKindBoard.open(files)
    for (index, (position, list)) in zip(IndexKindBoard.names, kept) {
      var observer = store.observer(
        of: IndexKindBoard.mappings(index), from: position, limit: .max)
      let change = try observer.advance()
      let expected = try IndexKindBoard.list(index, store.snapshot())
      #expect(!change.isReset, "seed \(seed), \(index)")
      #expect(
        change.rowOperationCount == IndexKindBoard.cost(list, expected), "seed \(seed), \(index)")
    }
  }

  @Test("A replaced definition leads to a minimal change", arguments: seeds(1...8))
  func replaced(seed: UInt64) throws {
    for dropsRecords in [false, true] {
      var board = try IndexKindBoard(seed: seed)
      for _ in 0..<15 { try board.commit() }
      let label = "seed \(seed), records dropped: \(dropsRecords)"
      var watchers = try IndexKindBoard.names.map { try Watcher(board.store, $0) }
      let start = try board.store.snapshot()
      for index in watchers.indices { try watchers[index].go(to: start, label) }
      try board.commit()
      try board.store.register(IndexKindBoard.compared(2))
      try board.store.register(IndexKindBoard.summedCode(2))
      try board.store.define("summed", IndexKindBoard.summed(1))
      try board.store.register(IndexKindBoard.filter("few", of: "several", 2))
      try board.store.register(IndexKindBoard.filter("byHandFew", of: "hand", 2))
      try board.store.define("hand", ManualIndex(on: "lines", "others"))
      try board.commit()
      if dropsRecords { try IndexKindBoard.dropRecords(of: board.store) }
      let end = try board.store.snapshot()
      for index in watchers.indices { try watchers[index].go(to: end, label) }
      try board.commit()
      let last = try board.store.snapshot()
      for index in watchers.indices { try watchers[index].go(to: last, label) }
      #expect(try board.store.checkInvariants() == [])
    }
  }

  @Test("In a follower a replaced definition leads to a minimal change", arguments: seeds(1...4))
  func replacedInFollower(seed: UInt64) async throws {
    let files = MemoryFileSystem()
    var board = try IndexKindBoard(seed: seed, files: files)
    for _ in 0..<15 { try board.commit() }
    try await board.store.checkpoint()
    let later = [
      IndexKindBoard.compared(2), IndexKindBoard.summedCode(2),
      IndexKindBoard.filter("few", of: "several", 2),
      IndexKindBoard.filter("byHandFew", of: "hand", 2),
    ]
    let reader = try IndexKindBoard.open(
      files, .readOnly,
      indexes: [IndexKindBoard.several, IndexKindBoard.compared(), IndexKindBoard.summedCode()]
        + IndexKindBoard.filters + later)
    try await reader.reached(board.store.newestCommit)
    var watchers = try IndexKindBoard.names.map { try Watcher(reader, $0) }
    for turn in 0..<12 {
      if turn == 6 { for index in later { try await board.store.register(index) } }
      if turn % 4 == 3 { try await board.store.checkpoint() }
      try board.commit()
      try await reader.reached(board.store.newestCommit)
      let snapshot = try reader.snapshot()
      for index in watchers.indices {
        try watchers[index].go(to: snapshot, "seed \(seed), turn \(turn)")
      }
    }
  }

  @Test(
    "A change from beyond the horizon is a reset; from a kept commit it is minimal",
    arguments: seeds(1...4))
  func compacted(seed: UInt64) throws {
    var board = try IndexKindBoard(seed: seed)
    for _ in 0..<25 { try board.commit() }
    let store = board.store
    var beyond = try IndexKindBoard.names.map { try Watcher(store, $0) }
    var kept = try IndexKindBoard.names.map { try Watcher(store, $0) }
    let tagged = store.newestCommit - 10
    try store.write { try $0.tag("kept", commit: tagged) }
    for index in IndexKindBoard.names.indices {
      try beyond[index].go(to: try store.snapshot(at: .commit(tagged - 3)), "seed \(seed)")
      try kept[index].go(to: try store.snapshot(at: .commit(tagged)), "seed \(seed)")
    }
    try store.compact(to: .before(store.newestCommit - 2))
    try IndexKindBoard.dropRecords(of: store)
    for index in IndexKindBoard.names.indices {
      try beyond[index].go(to: try store.snapshot(), mayReset: true, "seed \(seed)")
      try kept[index].go(to: try store.snapshot(), "seed \(seed)")
    }
  }

  @Test("New labels move no row and no window", arguments: seeds(1...2))
  func relabeling(seed: UInt64) throws {
    let store = try Store.inMemory()
    let lines = IndexKindBoard.lines
    try store.define("hand", ManualIndex(on: lines))
    var random = SeededGenerator(seed: seed)
    func id(_ number: Int) -> RowID { RowID(bucket: "lines", key: Key("k\(number)")) }
    for number in 0..<40 {
      try store.write { tx in
        try tx.put([0], for: id(number).key, in: lines)
        try tx.group("g0", of: "hand").append(id(number))
      }
    }
    var plain = store.observer(of: Mappings(of: "hand", groups: ["g0"]), limit: .max)
    var window = store.observer(
      of: Mappings(of: "hand", groups: ["g0"]).range(
        .flexible(length: 6, offset: 14, growing: .inRangeOnly), of: "g0"), limit: .max)
    _ = try (plain.advance(), window.advance())
    let shown = try #require(try window.advance().after.row(at: RowPath(section: 0, row: 0)))
    var most = 0
    for number in 40..<900 {
      let commit = try store.write { tx in
        try tx.put([0], for: id(number).key, in: lines)
        // Always into the same gap, above the window.
        try tx.group("g0", of: "hand").insert(id(number), at: 5)
      }.commit
      most = max(most, try store.commit(commit).operationCount)
      let change = try plain.advance()
      #expect(change.rowOperationCount == 1 && change.changeset.rows.updates.isEmpty)
      if Int.random(in: 0..<4, using: &random) == 0 {
        let moved = try window.advance()
        #expect(moved.isEmpty)
        #expect(try moved.after.row(at: RowPath(section: 0, row: 0)) == shown)
      }
    }
    // Neighbouring rows did get new labels.
    #expect(most > 10)
  }
}
