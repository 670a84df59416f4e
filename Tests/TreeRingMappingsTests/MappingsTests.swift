import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("Mappings, ranges and states")
struct MappingsTests {
  /// One group `g` of these rows, each at the place that its number gives; other groups on request.
  static func index(
    _ numbers: [UInt8], others: [GroupName: [UInt8]] = [:], at commit: CommitNumber = 1
  ) -> ModelIndex {
    var rows: [RowReference: ModelRow] = [:]
    for (group, numbers) in others.merging(["g": numbers], uniquingKeysWith: { a, _ in a }) {
      for number in numbers {
        rows[RowReference(bucket: 1, key: [number])] = ModelRow(
          places: [group: [number]],
          content: RowContent(object: 0, metadata: nil, touched: 0))
      }
    }
    return ModelIndex(commit: commit, rows: rows)
  }

  static func keys(_ list: NaiveList, _ section: Int = 0) -> [UInt8] {
    list.parts[section].rows.map { $0.key[0] }
  }

  static func shown(_ mappings: Mappings, _ index: ModelIndex) throws -> ShownRows {
    var cursor = MappingCursor(mappings)
    return try cursor.reset(to: index, at: index.commit).after
  }

  static func change(
    _ mappings: Mappings, from old: ModelIndex, to new: ModelIndex
  ) throws -> Change {
    let given = ChangeCase(
      old: old, new: new, oldMappings: mappings, newMappings: mappings,
      affected: affectedRows(from: old, to: new))
    #expect(violations(given).isEmpty)
    return try given.change()
  }

  static func path(_ row: Int) -> RowPath { RowPath(section: 0, row: row) }

  @Test(
    "A fixed range shows min(length, count - offset) rows at its pinned end",
    arguments: [
      (RangeOptions.fixed(length: 3), 5, 0..<3),
      (.fixed(length: 3, offset: 1), 5, 1..<4),
      (.fixed(length: 3, offset: 4), 5, 4..<5),
      (.fixed(length: 3, offset: 5), 5, 5..<5),
      (.fixed(length: 3, offset: 9), 5, 5..<5),
      (.fixed(length: 3, pin: .end), 5, 2..<5),
      (.fixed(length: 3, offset: 1, pin: .end), 5, 1..<4),
      (.fixed(length: 3, offset: 4, pin: .end), 5, 0..<1),
      (.fixed(length: 3, offset: 9, pin: .end), 5, 0..<0),
      (.fixed(length: 0), 5, 0..<0),
      (.fixed(length: .max, offset: 2), 5, 2..<5),
      (.fixed(length: .max, offset: .max, pin: .end), 5, 0..<0),
      (.fixed(length: 3), 0, 0..<0),
    ])
  func fixedRange(_ range: RangeOptions, _ count: Int, _ window: Range<Int>) {
    let found = Window(range, count: count).ranks(range, count: count, isReversed: false)
    #expect(found.count == window.count)
    if !window.isEmpty { #expect(found == window) }
  }

  @Test("A typed handle and the values of groups give the mappings that names give")
  func types() {
    let index = Index(named: "board", on: Bucket<[UInt8]>.bytes("blobs"), group: Int.self)
    let typed = Mappings(of: index, groups: [3, 1, 3])
    #expect(typed == Mappings(of: "board", groups: ["3", "1"]))
    #expect(typed == Mappings(of: "board", groups: [3, 1]))
    let range = RangeOptions.fixed(length: 2)
    let byValues = typed.range(range, of: 3).reversed(1).hidingEmptySection(of: 3)
      .drawn(withNeighborsAt: [-1], in: 1).consolidated(below: 4, as: 0)
    let byNames = typed.range(range, of: "3").reversed("1").hidingEmptySection(of: "3")
      .drawn(withNeighborsAt: [-1], in: "1").consolidated(below: 4, as: "0")
    #expect(byValues == byNames)
    #expect(byValues.range(of: 3) == range && byValues.range(of: 1) == nil)
    #expect(byValues.isReversed(1) && byValues.hidesEmptySection(of: 3))
    #expect(byValues.neighbors(of: 1) == [-1])
    #expect(RangeChange(.set(nil), of: 3) == RangeChange(.set(nil), of: "3"))
    let chosen = Mappings(of: index, groupsWhere: { $0.count > 1 })
    #expect(chosen.index == "board" && chosen.groups == nil)
  }

  @Test("An insert at the top of a full range pushes the last row out")
  func slide() throws {
    let mappings = Mappings(of: "model", groups: ["g"]).range(.fixed(length: 3), of: "g")
    let change = try Self.change(
      mappings, from: Self.index([10, 20, 30, 40]), to: Self.index([5, 10, 20, 30, 40], at: 2))
    #expect(change.rows.inserts.map(\.path) == [Self.path(0)])
    #expect(change.rows.deletes.map(\.path) == [Self.path(2)])
    #expect(change.rows.deletes.map(\.row.key.bytes) == [[30]])
    #expect(change.changeset.count == 2)
  }

  @Test("A range grows back when rows come, and an offset beyond the end waits")
  func growsBack() throws {
    let mappings = Mappings(of: "model", groups: ["g"])
      .range(.fixed(length: 2, offset: 3), of: "g")
    let change = try Self.change(
      mappings, from: Self.index([1]), to: Self.index([1, 2, 3, 4, 5, 6], at: 2))
    #expect(change.rows.inserts.map(\.row.key.bytes) == [[4], [5]])
  }

  @Test(
    "A reversed group counts its range and its rows from the other end, in either order of calls")
  func reversed() throws {
    let index = Self.index([1, 2, 3, 4, 5])
    let plain = Mappings(of: "model", groups: ["g"])
    let range = RangeOptions.fixed(length: 2, offset: 1)
    let first = plain.reversed("g").range(range, of: "g")
    let second = plain.range(range, of: "g").reversed("g")
    #expect(first == second)
    let shown = try Self.shown(first, index)
    #expect(try shown.row(at: Self.path(0))?.key.bytes == [4])
    #expect(try shown.row(at: Self.path(1))?.key.bytes == [3])
    #expect(try shown.row(at: Self.path(2)) == nil)
  }

  @Test("A reversed section is re-ordered by moves, up to the limit")
  func turned() throws {
    let index = Self.index([1, 2, 3, 4, 5])
    let plain = Mappings(of: "model", groups: ["g"])
    let still = AffectedRows(from: 1, to: 1)
    var cursor = MappingCursor(plain)
    _ = try cursor.reset(to: index, at: 1)
    let turned = try cursor.advance(to: index, by: still, mappings: plain.reversed("g"))
    #expect(turned.rows.moves.count == 4 && turned.changeset.count == 4)
    let back = try cursor.advance(to: index, by: still, mappings: plain, limit: 3)
    #expect(back.isReset)
    #expect(try back.after.row(at: Self.path(0))?.key.bytes == [1])
  }

  @Test("Hiding depends on the rows in the range, for one group and for all")
  func hiding() throws {
    let index = Self.index([1, 2], others: ["h": [7], "i": []])
    let all = Mappings(of: "model", groups: ["g", "h", "i", "g"])
    #expect(all.groups == ["g", "h", "i"])
    #expect(try Self.shown(all, index).sections.map(\.count) == [2, 1, 0])
    #expect(try Self.shown(all.hidingEmptySections(), index).visibleGroups == ["g", "h"])
    let ranged = all.range(.fixed(length: 5, offset: 2), of: "g")
    #expect(
      try Self.shown(ranged.hidingEmptySection(of: "g"), index).visibleGroups == ["h", "i"])
    #expect(
      try Self.shown(ranged.hidingEmptySection(of: "g").hidingEmptySections(false), index)
        .visibleGroups == ["g", "h", "i"])
  }

  @Test("Lookups beyond the rows shown return nil")
  func lookups() throws {
    let shown = try Self.shown(
      Mappings(of: "model", groups: ["g", "h"]).range(.fixed(length: 1), of: "g"),
      Self.index([1, 2]))
    #expect(shown.rowCount == 1 && !shown.isEmpty)
    #expect(shown.rowCount(inSection: 1) == 0)
    #expect(shown.rowCount(inSection: 2) == nil && shown.rowCount(inSection: -1) == nil)
    #expect(shown.group(ofSection: 2) == nil && shown.section(of: "x") == nil)
    for path in [(0, 1), (0, -1), (-1, 0), (1, 0), (2, 0)] {
      #expect(try shown.row(at: RowPath(section: path.0, row: path.1)) == nil)
    }
    let hidden = RowID(RowReference(bucket: 1, key: [2]))
    #expect(try shown.path(of: hidden) == nil)
    #expect(try shown.path(of: RowID(RowReference(bucket: 9, key: []))) == nil)
  }

  @Test("A shifted row is not listed; a row that moved and changed is listed twice")
  func movedAndChanged() throws {
    let old = Self.index([1, 2, 3, 4])
    var rows = old.rows
    let row = RowReference(bucket: 1, key: [4])
    rows[row] = ModelRow(
      places: ["g": [0]], content: RowContent(object: 9, metadata: 1, touched: 0))
    let change = try Self.change(
      Mappings(of: "model", groups: ["g"]), from: old, to: ModelIndex(commit: 2, rows: rows))
    #expect(
      change.rows.moves == [RowMove(row: RowID(row), from: Self.path(3), to: Self.path(0))])
    #expect(change.rows.updates.map(\.parts) == [[.object, .metadata]])
    #expect(change.changeset.count == 2)
    #expect(
      change.changeset.steps() == [
        .moveRow(RowID(row), from: Self.path(3), to: Self.path(0)),
        .updateRow(RowID(row), at: Self.path(0), [.object, .metadata]),
      ])
    let stages = change.changeset.stages()
    #expect(stages.map(\.rows.updates.count) == [0, 1])
  }

  @Test("Steps count the moves still pending: A B C becomes B C D A")
  func pendingMoves() throws {
    let old = Self.index([1, 2, 3])
    var rows = old.rows
    let first = RowReference(bucket: 1, key: [1])
    let fresh = RowReference(bucket: 1, key: [9])
    rows[first]?.places = ["g": [200]]
    rows[fresh] = ModelRow(
      places: ["g": [100]], content: RowContent(object: 0, metadata: nil, touched: 0))
    let change = try Self.change(
      Mappings(of: "model", groups: ["g"]), from: old, to: ModelIndex(commit: 2, rows: rows))
    #expect(
      change.changeset.steps() == [
        .insertRow(RowID(fresh), at: Self.path(3)),
        .moveRow(RowID(first), from: Self.path(0), to: Self.path(3)),
      ])
  }

  @Test("A hidden section that fills brings its rows; a row that moves into it is a delete")
  func crossingIntoANewSection() throws {
    let mappings = Mappings(of: "model", groups: ["g", "h"]).hidingEmptySections()
    let change = try Self.change(
      mappings, from: Self.index([1, 2, 3]), to: Self.index([1, 3], others: ["h": [2]], at: 2))
    #expect(change.sections.inserts == [1])
    #expect(change.rows.deletes.map(\.path) == [Self.path(1)])
    #expect(change.changeset.count == 2)
    let legacy = try change.legacy()
    #expect(legacy.rows.map(\.kind) == [.move])
    #expect(legacy.rows.first?.final == RowPath(section: 1, row: 0))
    #expect(legacy.sections.map(\.kind) == [.insert])
  }

  @Test("A touch sets the part `touched`, forward and backward")
  func touch() throws {
    let old = Self.index([1, 2])
    var rows = old.rows
    let row = RowReference(bucket: 1, key: [2])
    rows[row]?.content.touched = 2
    let new = ModelIndex(commit: 2, rows: rows)
    let mappings = Mappings(of: "model", groups: ["g"])
    #expect(try Self.change(mappings, from: old, to: new).rows.updates.map(\.parts) == [.touched])
    #expect(try Self.change(mappings, from: new, to: old).rows.updates.map(\.parts) == [.touched])
  }

  @Test(
    "An offset beyond the count waits; one equal to it is a gap after the last row"
  )
  func waitingAndGap() throws {
    let range = RangeOptions.flexible(length: 1, offset: 3, growing: .inRangeOnly)
    let mappings = Mappings(of: "model", groups: ["g"]).range(range, of: "g")
    /// Offset and length of the window after each of these deliveries.
    func windows(_ deliveries: [UInt8]...) throws -> [[Int]] {
      var cursor = MappingCursor(mappings)
      var state = Self.index([], at: 0)
      _ = try cursor.reset(to: state, at: 0)
      return try deliveries.map { rows in
        let next = Self.index(rows, at: state.commit + 1)
        let change = try cursor.advance(to: next, by: affectedRows(from: state, to: next))
        state = next
        let position = try #require(change.after.rangePosition(of: "g"))
        return [position.offsetFromBeginning, position.length]
      }
    }
    // Beyond the count: the given length and offset apply once there are enough rows.
    #expect(try windows([1, 2], [0, 1, 2, 3, 4, 5]) == [[2, 0], [3, 1]])
    #expect(try windows([1, 2], [1, 2], [1, 2, 3, 4, 5]) == [[2, 0], [2, 0], [3, 1]])
    // At the count: rows after the last row enter the window, rows before it shift the gap.
    #expect(try windows([1, 2, 3], [0, 1, 2, 3, 4, 5]) == [[3, 0], [4, 2]])
    #expect(try windows([1, 2], [1, 2, 3], [0, 1, 2, 3]) == [[2, 0], [3, 0], [4, 0]])
    // A window emptied at that position is the same gap; it keeps only offset and length.
    #expect(
      try windows([1, 2, 3, 4], [1, 2, 3], [1, 2, 3, 5, 6]) == [[3, 1], [3, 0], [3, 2]])
  }
}
