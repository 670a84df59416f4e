import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("Observing a store", .leavesSoundStores)
struct ObserverTests {
  @Test("An observer's changes are minimal, over any jumps in time and changes of mappings")
  func follows() throws {
    for seed in seeds(1...25) {
      var board = try Board(seed: seed)
      try board.commit()
      var observer = board.store.observer(of: board.mappings(), limit: .max)
      #expect(observer.commit == nil)
      var list = FollowedList()
      for turn in 0..<25 {
        for _ in 0..<Int.random(in: 0...3, using: &board.random) { try board.commit() }
        let commits = board.store.newestCommit
        let jumps = Int.random(in: 0..<3, using: &board.random) == 0
        let point = jumps ? CommitNumber.random(in: 0...commits, using: &board.random) : commits
        let snapshot = try board.store.snapshot(at: .commit(point))
        let edits = Int.random(in: 0..<4, using: &board.random) == 0
        let change = try observer.advance(
          to: snapshot, mappings: edits ? board.mappings() : nil)
        #expect(change.isReset == (turn == 0), "seed \(seed)")
        #expect(observer.commit == point)
        try list.apply(change)
        #expect(
          try list.sections == Board.list(observer.mappings, snapshot), "seed \(seed), turn \(turn)"
        )
      }
    }
  }

  @Test("Groups ordered by a row's commit are re-ordered by a write without a change")
  func writtenAgain() throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [Board.index]))
    func put(_ line: [UInt8], _ key: String) throws {
      try store.write { try $0.put(line, for: Key(key), in: Board.lines) }
    }
    let mappings = Mappings(
      of: "board", groupsWhere: { $0.first?.written != 7 },
      orderedBy: { [.descending(Int($0.last?.written ?? 0))] })
    try put([1, 5], "x")
    try put([2, 5], "y")
    let start = store.newestCommit
    var steady = store.observer(of: mappings)
    var late = steady
    for observer in 0..<2 {
      let first = observer == 0 ? try steady.advance() : try late.advance()
      #expect(first.after.visibleGroups == ["g2", "g1"])
    }
    // Changed and changed back.
    try put([1, 6], "x")
    #expect(try steady.advance().after.visibleGroups == ["g1", "g2"])
    try put([1, 5], "x")
    #expect(try steady.advance().after.visibleGroups == ["g1", "g2"])
    let change = try late.advance()
    #expect(change.after.visibleGroups == ["g1", "g2"])
    #expect(change.sections.moves.count == 1 && change.changeset.count == 1)
    // Written without a change.
    try put([2, 5], "y")
    let end = store.newestCommit
    #expect(try steady.advance().after.visibleGroups == ["g2", "g1"])
    for (from, to) in [(start, end - 1), (end - 1, start), (end - 1, end), (end, end - 1)] {
      for usesRecords in [true, false] {
        let changeset = try EquivalenceTests.compared(
          store, mappings, from: from, to: to, usesRecords: usesRecords)
        #expect(changeset.sections.moves.count == 1, "\(from) to \(to), records: \(usesRecords)")
      }
    }
    // The group is not listed while the seventh commit wrote its first row.
    try put([1, 5], "x")
    #expect(store.newestCommit == 7)
    #expect(try steady.advance().sections.deletes == [1])
    try put([1, 5], "x")
    #expect(try steady.advance().sections.inserts == [0])
  }

  @Test("Change records and two roots give the same changeset, forward and backward")
  func recordsAndRoots() throws {
    for seed in seeds(1...25) {
      var board = try Board(seed: seed)
      for _ in 0..<12 { try board.commit() }
      let mappings = board.mappings()
      let newest = board.store.newestCommit
      for _ in 0..<10 {
        let from = CommitNumber.random(in: 0...newest, using: &board.random)
        let to = CommitNumber.random(in: 0...newest, using: &board.random)
        let old = try board.store.snapshot(at: .commit(from))
        let new = try board.store.snapshot(at: .commit(to))
        let groups = StoreGroups(
          snapshot: new, reader: try new.index("board"), names: board.store.rowNames)
        let changesets = try [true, false].map { usesRecords in
          let affected = try board.store.affectedRows(
            ofIndex: "board", from: old, to: new, usesRecords: usesRecords)
          var cursor = MappingCursor(mappings)
          let start = StoreGroups(
            snapshot: old, reader: try old.index("board"), names: board.store.rowNames)
          _ = try cursor.reset(to: start, at: from)
          return try cursor.advance(to: groups, by: affected, limit: .max).changeset
        }
        #expect(changesets[0] == changesets[1], "seed \(seed), \(from) to \(to)")
      }
    }
  }

  @Test("A stream starts with a reset and gives a slow reader one merged change")
  func stream() async throws {
    var board = try Board(seed: 1)
    for _ in 0..<5 { try board.commit() }
    let mappings = board.mappings()
    var changes = board.store.changes(of: mappings, limit: .max).makeAsyncIterator()
    var list = FollowedList()
    let start = board.store.newestCommit
    let first = try #require(try await changes.next())
    #expect(first.isReset && first.after.commit == start)
    try list.apply(first)
    try await board.store.write { try $0.put([1, 0], for: "new", in: Board.lines) }
    for _ in 0..<9 { try board.commit() }
    try await board.store.write { try $0.put([3, 0], for: "new", in: Board.lines) }
    let second = try #require(try await changes.next())
    #expect(!second.isReset && second.before.commit == start)
    #expect(second.after.commit == board.store.newestCommit)
    try list.apply(second)
    #expect(try list.sections == Board.list(mappings, board.store.snapshot()))
  }

  @Test("A stream waits for a commit that affects its rows, and cancelling ends it")
  func waiting() async throws {
    let board = try Board(seed: 2)
    let store = board.store
    try await store.write { try $0.put([1, 0], for: "a", in: Board.lines) }
    let start = store.newestCommit
    let mappings = Mappings(of: "board", groups: ["g1"])
    let reader = Task {
      var commits: [CommitNumber] = []
      for try await change in store.changes(of: mappings) {
        commits.append(change.after.commit)
        if commits.count == 1 {
          try await store.write { try $0.put([2, 0], for: "b", in: Board.lines) }
          try await store.write { try $0.put([1, 1], for: "c", in: Board.lines) }
        } else {
          withUnsafeCurrentTask { $0?.cancel() }
        }
      }
      return commits
    }
    #expect(try await reader.value == [start, start + 2])
    let idle = Task {
      var count = 0
      for try await _ in store.changes(of: mappings) { count += 1 }
      return count
    }
    idle.cancel()
    #expect(try await idle.value <= 1)
  }

  @Test("A waiting observer pins nothing")
  func pinsNothing() throws {
    var board = try Board(seed: 3)
    try board.commit()
    var observer = board.store.observer(of: board.mappings())
    do {
      let change = try observer.advance()
      #expect(change.isReset && board.store.pins.count == 1)
    }
    #expect(board.store.pins.isEmpty)
    try board.commit()
    #expect(try !observer.advance().isReset)
  }

  @Test("A replaced definition is a change; a missing index is an error")
  func otherIndex() throws {
    let store = try Store.inMemory()
    let rows = Bucket<[UInt8]>.bytes("rows")
    try store.write { try $0.put(Array(#"{"g":"x","n":1}"#.utf8), for: "a", in: rows) }
    try store.define("i", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    var observer = store.observer(of: Mappings(of: "i", groups: ["x"]))
    #expect(try observer.advance().after.rowCount == 1)
    try store.define(
      "i", FieldIndex(bucket: "rows", group: "g", order: [.init("n", descending: true)]))
    #expect(try !observer.advance().isReset)
    #expect(try observer.advance().isEmpty)
    #expect(throws: TreeRingError.self) {
      try observer.advance(mappings: Mappings(of: "none", groups: []))
    }
    #expect(observer.mappings.index == "i")
  }

  @Test("Public types are sendable, and sections and rows are random-access collections")
  func types() throws {
    func isSendable<T: Sendable>(_: T.Type) {}
    func hasRandomAccess<T: RandomAccessCollection & Sendable>(_ collection: T) -> T { collection }
    isSendable(Mappings.self)
    isSendable(RangeOptions.self)
    isSendable(RangeChange.self)
    isSendable(RangeEdit.self)
    isSendable(RangePosition.self)
    isSendable(Change.self)
    isSendable(Changeset.self)
    isSendable(Step.self)
    isSendable(Stage.self)
    isSendable(StagePolicy.self)
    isSendable(StageState.self)
    isSendable(Placements.self)
    isSendable(LegacyChanges.self)
    isSendable(LegacyChanges.Kind.self)
    isSendable(LegacyChanges.SectionChange.self)
    isSendable(LegacyChanges.RowChange.self)
    isSendable(ShownRows.self)
    isSendable(MappingObserver.self)
    isSendable(MappingPosition.self)
    isSendable(MappingChanges.self)
    isSendable(MappingControl.self)
    isSendable(FlatList.self)
    isSendable(DisplayedRows.self)
    var board = try Board(seed: 1)
    for _ in 0..<5 { try board.commit() }
    var observer = board.store.observer(of: Mappings(of: "board", groups: ["g0", "g1"]))
    let shown = try observer.advance().after
    let sections = hasRandomAccess(shown.sections)
    #expect(sections.count == 2)
    for section in sections {
      let rows = hasRandomAccess(section)
      #expect(rows.reversed().map { $0 } == Array(rows).reversed())
      for (index, row) in rows.enumerated() {
        #expect(try shown.paths(of: row).contains(RowPath(section: section.index, row: index)))
      }
    }
  }
}
