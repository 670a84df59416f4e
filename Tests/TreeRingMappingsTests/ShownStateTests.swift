// The properties of observers and their states: the reason of a reset, the position, a waiting
// window, the section that shows all groups, and the moved row when whole blocks change their
// order.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("States and observers", .leavesSoundStores)
struct ShownStateTests {
  private static let lines = IndexKindBoard.lines

  private static func store(_ keys: [String], group: UInt8 = 0) throws -> Store {
    let store = try Store.inMemory(
      options: StoreOptions(memoryBudget: 1 << 20, indexes: [IndexKindBoard.several]))
    try put(keys, group: group, in: store)
    return store
  }

  private static func put(_ keys: [String], group: UInt8 = 0, in store: Store) throws {
    try store.write { tx in
      for key in keys { try tx.put([group, key.utf8.last ?? 0], for: Key(key), in: lines) }
    }
  }

  private static func keys(_ shown: ShownRows, _ section: Int = 0) -> [String] {
    shown.sections[section].map { "\($0.key)" }
  }

  @Test("An observer made from a position keeps it until it advances")
  func position() throws {
    let store = try Self.store(["a", "b"])
    let mappings = IndexKindBoard.mappings("several")
    var first = store.observer(of: mappings)
    #expect(first.position == nil)
    _ = try first.advance()
    let position = try #require(first.position)
    let idle = store.observer(of: mappings, from: position)
    #expect(idle.position == position)
    try Self.put(["c"], in: store)
    var last = store.observer(of: mappings, from: try #require(idle.position))
    #expect(try last.advance().rows.inserts.map(\.row.key) == ["c"])
  }

  @Test("A reset gives its reason")
  func resetReasons() throws {
    let store = try Self.store(["a", "b", "c"])
    let mappings = IndexKindBoard.mappings("several")
    var observer = store.observer(of: mappings, limit: 1)
    #expect(try observer.advance().resetReason == .firstState)
    #expect(try observer.advance().resetReason == nil)
    try Self.put(["d", "e"], in: store)
    #expect(try observer.advance().resetReason == .overLimit)
    try store.register(IndexKindBoard.compared())
    #expect(
      try observer.advance(mappings: IndexKindBoard.mappings("compared")).resetReason
        == .otherIndex)

    let early = try #require(observer.position)
    var beyond = observer
    for number in 0..<5 { try Self.put(["f\(number)"], in: store) }
    try store.compact(to: .before(store.newestCommit - 1))
    try IndexKindBoard.dropRecords(of: store)
    #expect(try beyond.advance().resetReason == .beyondHorizon)
    var resumed = store.observer(of: observer.mappings, from: early)
    #expect(try resumed.advance().resetReason == .beyondHorizon)
  }

  @Test("A definition that can no longer be evaluated is the reason of a reset")
  func definedAnew() throws {
    let files = MemoryFileSystem()
    var store = try IndexKindBoard.open(files, indexes: [IndexKindBoard.compared()])
    try Self.put(["a", "b"], in: store)
    var observer = store.observer(of: IndexKindBoard.mappings("compared"))
    _ = try observer.advance()
    let position = try #require(observer.position)
    try store.close()
    try files.unlink("store/pages")
    store = try IndexKindBoard.open(files, indexes: [IndexKindBoard.compared(2)])
    try Self.put(["c"], in: store)
    var resumed = store.observer(of: observer.mappings, from: position)
    #expect(try resumed.advance().resetReason == .definedAnew)
  }

  @Test("A waiting range gives the number of missing rows", arguments: [true, false])
  func waiting(isFlexible: Bool) throws {
    let store = try Self.store(["a", "b"])
    let range: RangeOptions =
      isFlexible ? .flexible(length: 2, offset: 4) : .fixed(length: 2, offset: 4)
    var observer = store.observer(of: IndexKindBoard.mappings("several").range(range, of: "g0"))
    func position(_ change: Change) throws -> RangePosition {
      try #require(change.after.rangePosition(of: "g0"))
    }
    let waits = try position(observer.advance())
    #expect(waits.length == 0 && waits.missing == 2)
    #expect(waits.offsetFromBeginning == 2 && waits.offsetFromEnd == 0)
    try Self.put(["c", "d", "e"], in: store)
    let shown = try position(observer.advance())
    #expect(shown.length == 1 && shown.missing == 0 && shown.offsetFromBeginning == 4)
  }

  @Test("A consolidated section is marked as one, and a group of the same name is another section")
  func consolidated() throws {
    let store = try Self.store(["a", "b"])
    var observer = store.observer(
      of: IndexKindBoard.mappings("several").consolidated(below: 3, as: "all"))
    let together = try observer.advance().after
    #expect(together.outline == [Section(group: "all", count: 2, isConsolidated: true)])
    #expect(together.sections.map(\.isConsolidated) == [true])
    try Self.put(["c"], in: store)
    let apart = try observer.advance()
    #expect(apart.after.outline.allSatisfy { !$0.isConsolidated })
    #expect(apart.changeset.before.map(\.isConsolidated) == [true])
  }

  @Test("A group's first rows are shown up to the range's length, whenever they come")
  func firstRows() throws {
    let store = try Self.store(["a"], group: 1)
    let range = RangeOptions.flexible(length: 2)
    var listed = store.observer(of: IndexKindBoard.mappings("several").range(range))
    var chosen = store.observer(
      of: Mappings(of: "several", groupsWhere: { $0.count > 0 }).range(range))
    _ = try (listed.advance(), chosen.advance())
    func expect(_ rows: [String]) throws {
      #expect(try Self.keys(listed.advance().after) == rows)
      #expect(try Self.keys(chosen.advance().after) == rows)
      var fresh = store.observer(of: listed.mappings)
      #expect(try Self.keys(fresh.advance().after) == rows)
    }
    // A new group, and one that became empty in between.
    try Self.put(["k1", "k2", "k3", "k4"], in: store)
    try expect(["k1", "k2"])
    try store.write { tx in
      for key in ["k1", "k2", "k3", "k4"] as [Key] { try tx.delete(key, in: Self.lines) }
    }
    #expect(try listed.advance().rows.deletes.count == 2)
    _ = try chosen.advance()
    try Self.put(["k5", "k6", "k7"], in: store)
    try expect(["k5", "k6"])
  }

  @Test(
    "When a group is reversed, rows with changed content move, not unaffected ones")
  func turnedGroup() throws {
    for changed in ["a", "b"] {
      let store = try Self.store(["a", "b"])
      let plain = IndexKindBoard.mappings("several")
      var observer = store.observer(of: plain)
      _ = try observer.advance()
      try store.write { try $0.put(metadata: [1], for: Key(changed), in: "lines") }
      let turned = try observer.advance(mappings: plain.reversed("g0"))
      #expect(turned.rows.moves.map { "\($0.row.key)" } == [changed])
    }
  }

  @Test(
    "When groups of a consolidated section are re-ordered, rows with changed content move")
  func reorderedGroups() throws {
    for changed in ["a", "b"] {
      let store = try Self.store(["a"], group: 0)
      try Self.put(["b"], group: 1, in: store)
      let together = { (groups: [GroupName]) in
        Mappings(of: "several", groups: groups).consolidated(below: 9, as: "all")
      }
      var observer = store.observer(of: together(["g0", "g1"]))
      _ = try observer.advance()
      try store.write { try $0.put(metadata: [1], for: Key(changed), in: "lines") }
      let change = try observer.advance(mappings: together(["g1", "g0"]))
      #expect(change.rows.moves.map { "\($0.row.key)" } == [changed])
      #expect(change.rows.updates.map { "\($0.row.key)" } == [changed])
    }
  }
}
