import TestSupport
import Testing
import TreeRing
import TreeRingLog
import TreeRingMappings

/// A store of lines in groups, changed at random.
private struct Board {
  static let lines = Bucket<[UInt8]>.bytes("lines")
  /// The first byte names the group, the second orders; a third names a second group.
  static let index = GroupIndex("board", on: lines, version: 1) { (line: [UInt8]) -> [Place] in
    let groups = line.count > 2 ? [line[0], line[2]] : [line[0]]
    return Set(groups).map { Place(in: "g\($0)", by: .ascending(Int(line[1]))) }
  }

  let store: Store
  var random: SeededGenerator

  init(seed: UInt64) throws {
    store = try Store.inMemory(options: StoreOptions(indexes: [Self.index]))
    random = SeededGenerator(seed: seed)
  }

  mutating func commit() throws {
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        let key = Key("k\(Int.random(in: 0..<20, using: &random))")
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try tx.delete(key, in: "lines")
        case 1 where try tx.contains(key, in: "lines"): try tx.touch(key, in: "lines")
        case 2 where try tx.contains(key, in: "lines"):
          try tx.put(
            metadata: [UInt8.random(in: 0..<3, using: &random)], for: key, in: "lines")
        default:
          var line = (0..<2).map { _ in UInt8.random(in: 0..<4, using: &random) }
          if Int.random(in: 0..<3, using: &random) == 0 {
            line.append(UInt8.random(in: 0..<4, using: &random))
          }
          try tx.put(line, for: key, in: Self.lines)
        }
      }
    }
  }

  mutating func mappings() -> Mappings {
    var mappings = Mappings(
      of: "board", groups: (0..<4).map { GroupName("g\($0)") }.shuffled(using: &random))
    if Bool.random(using: &random) { mappings = mappings.hidingEmptySections() }
    return
      mappings
      .range(
        .fixed(
          length: Int.random(in: 0...5, using: &random),
          offset: Int.random(in: 0...2, using: &random),
          pin: Bool.random(using: &random) ? .end : .beginning), of: "g1"
      )
      .reversed("g2", Bool.random(using: &random))
  }

  /// What a snapshot shows, read row by row.
  static func list(_ mappings: Mappings, _ snapshot: Snapshot) throws -> [[RowID]] {
    let reader = try snapshot.index("board")
    return try (mappings.groups ?? []).compactMap { group in
      var rows = try reader.rows(in: group).map { RowID(bucket: $0.bucket, key: $0.key) }
      if mappings.isReversed(group) { rows.reverse() }
      if let range = mappings.range(of: group) {
        switch range.pin {
        case .beginning: rows = Array(rows.dropFirst(range.offset).prefix(range.length))
        case .end: rows = Array(rows.dropLast(range.offset).suffix(range.length))
        }
      }
      return rows.isEmpty && mappings.hidesEmptySection(of: group) ? nil : rows
    }
  }
}

/// A list kept up to date by steps alone.
private struct FollowedList {
  var sections: [[RowID]] = []

  mutating func apply(_ change: Change) throws {
    func rows(_ section: Int) throws -> [RowID] {
      try (0..<(change.after.rowCount(inSection: section) ?? 0)).compactMap {
        try change.after.row(at: RowPath(section: section, row: $0))
      }
    }
    if change.isReset {
      sections = try change.after.outline.indices.map(rows)
      return
    }
    for step in change.changeset.steps() {
      switch step {
      case .deleteRow(let row, let path):
        #expect(sections[path.section].remove(at: path.row) == row)
      case .deleteSection(let section): sections.remove(at: section)
      case .insertSection(let section, let index):
        sections.insert(try rows(change.after.section(of: section.group) ?? 0), at: index)
      case .moveSection(let from, let to):
        sections.insert(sections.remove(at: from), at: to)
      case .insertRow(let row, let path): sections[path.section].insert(row, at: path.row)
      case .moveRow(let row, let from, let to):
        #expect(sections[from.section].remove(at: from.row) == row)
        sections[to.section].insert(row, at: to.row)
      case .updateRow(let row, let path, _): #expect(sections[path.section][path.row] == row)
      }
    }
  }
}

@Suite("Observing a store")
struct ObserverTests {
  @Test("An observer follows a store by minimal changes, through any jumps in time and edits")
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
          let touched = try board.store.touchedRows(
            ofIndex: "board", from: old, to: new, usesRecords: usesRecords)
          var cursor = MappingCursor(mappings)
          let start = StoreGroups(
            snapshot: old, reader: try old.index("board"), names: board.store.rowNames)
          _ = try cursor.reset(to: start, at: from)
          return try cursor.advance(to: groups, by: touched, limit: .max).changeset
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

  @Test("A stream waits for a commit that touches what it shows, and cancelling ends it")
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

  @Test("An observer that waits pins nothing")
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

  @Test("A replaced definition or another index is a reset, an index that is not there an error")
  func otherIndex() throws {
    let store = try Store.inMemory()
    let rows = Bucket<[UInt8]>.bytes("rows")
    try store.write { try $0.put(Array(#"{"g":"x","n":1}"#.utf8), for: "a", in: rows) }
    try store.define("i", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    var observer = store.observer(of: Mappings(of: "i", groups: ["x"]))
    #expect(try observer.advance().after.rowCount == 1)
    try store.define(
      "i", FieldIndex(bucket: "rows", group: "g", order: [.init("n", descending: true)]))
    #expect(try observer.advance().isReset)
    #expect(try observer.advance().isEmpty)
    #expect(throws: TreeRingError.self) {
      try observer.advance(mappings: Mappings(of: "none", groups: []))
    }
    #expect(observer.mappings.index == "i")
  }
}
