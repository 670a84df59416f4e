import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("Observing across restarts, in followers, and by remote control", .leavesSoundStores)
struct ObservationTests {
  static let newest = RangeOptions.flexible(length: 2, pin: .end, min: 1, growing: .bothSides)

  static func mappings(consolidating: Bool) -> Mappings {
    let mappings = Mappings(
      of: "board", groupsWhere: { $0.count > 1 }, orderedBy: { [.descending($0.count)] }
    )
    .hidingEmptySections().range(newest).reversed("g2")
    .drawn(withNeighborsAt: [-1], in: "g1")
    return consolidating ? mappings.consolidated(below: 4, as: "all") : mappings
  }

  static func rows(_ shown: ShownRows) -> [[RowID]] { shown.sections.map(Array.init) }

  @Test("A restart does not affect the next change")
  func restart() throws {
    for seed in seeds(1...6) {
      let folder = try TemporaryFolder()
      let options = StoreOptions(durability: .unsynced, indexes: [Board.index])
      var board = try Board(seed: seed, store: Store(at: folder.path, options: options))
      for _ in 0..<8 { try board.commit() }
      let mappings = Self.mappings(consolidating: seed % 2 == 0)
      var observer = board.store.observer(of: mappings, limit: .max)
      var list = FollowedList()
      try list.apply(try observer.advance())
      for _ in 0..<4 {
        try board.commit()
        try list.apply(try observer.advance())
      }
      let position = try #require(observer.position)
      let kept = try JSONEncoder().encode(position)
      for _ in 0..<5 { try board.commit() }
      let expected = try observer.advance()
      try board.store.close()

      let reopened = try Store(at: folder.path, options: options)
      var resumed = reopened.observer(
        of: mappings, from: try JSONDecoder().decode(MappingPosition.self, from: kept),
        limit: .max)
      #expect(resumed.commit == nil)
      let change = try resumed.advance()
      #expect(!change.isReset && change.before.commit == position.commit, "seed \(seed)")
      #expect(change.changeset == expected.changeset, "seed \(seed)")
      try list.apply(change)
      #expect(list.sections == Self.rows(change.after), "seed \(seed)")
      try reopened.close()
    }
  }

  @Test("A group without rows at the saved position gets its window back")
  func emptyGroupAtRestart() throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [Board.index]))
    func put(_ numbers: ClosedRange<UInt8>) throws {
      for number in numbers {
        try store.write { try $0.put([1, number], for: Key("k\(number)"), in: Board.lines) }
      }
    }
    try put(1...4)
    let mappings = Mappings(of: "board", groupsWhere: { _ in true })
      .range(.flexible(length: 2, offset: 1))
    var observer = store.observer(of: mappings)
    #expect(try observer.advance().after.rowCount == 2)
    try store.write { tx in
      for number in 1...4 { try tx.delete(Key("k\(number)"), in: "lines") }
    }
    #expect(try observer.advance().after.isEmpty)
    var resumed = store.observer(of: mappings, from: try #require(observer.position))
    try put(5...7)
    let expected = try observer.advance()
    // The first rows start the window again.
    #expect(expected.after.rowCount == 2)
    let found = try resumed.advance()
    #expect(!found.isReset && found.changeset == expected.changeset)
    #expect(Self.rows(found.after) == Self.rows(expected.after))
  }

  @Test("A follower and the writer give the same changesets, forward and backward")
  func follower() throws {
    for seed in seeds(1...4) {
      let folder = try TemporaryFolder()
      let options = StoreOptions(indexes: [Board.index])
      var board = try Board(seed: seed, store: Store(at: folder.path, options: options))
      for _ in 0..<6 { try board.commit() }
      let reader = try Store(
        at: folder.path, options: StoreOptions(mode: .readOnly, indexes: [Board.index]))
      let mappings = Self.mappings(consolidating: seed % 2 == 0)
      var here = board.store.observer(of: mappings, limit: .max)
      var there = reader.observer(of: mappings, limit: .max)
      for target in [3, 6, 2, 5, 5, 0, 6] as [CommitNumber] {
        let ours = try here.advance(to: try board.store.snapshot(at: .commit(target)))
        let theirs = try there.advance(to: try reader.snapshot(at: .commit(target)))
        #expect(ours.changeset == theirs.changeset, "seed \(seed), \(target)")
        #expect(Self.rows(ours.after) == Self.rows(theirs.after))
      }
      try reader.close()
      try board.store.close()
    }
  }

  @Test("If the commit shown is beyond the horizon, the change is a reset; windows stay")
  func beyondTheHorizon() throws {
    let folder = try TemporaryFolder()
    let options = StoreOptions(
      durability: .unsynced, retention: .last(commits: 3), indexes: [Board.index])
    let store = try Store(at: folder.path, options: options)
    func put(_ numbers: ClosedRange<UInt8>) throws {
      for number in numbers {
        try store.write { try $0.put([1, number], for: Key("k\(number)"), in: Board.lines) }
      }
    }
    try put(1...4)
    let mappings = Mappings(of: "board", groups: ["g1"])
      .range(.flexible(length: 2, growing: .inRangeOnly), of: "g1")
    var observer = store.observer(of: mappings)
    _ = try observer.advance()
    #expect(try observer.extendRange(of: "g1", by: 1).rows.inserts.count == 1)
    let position = try #require(observer.position)
    try put(5...12)
    try store.compact()
    var resumed = store.observer(of: mappings, from: position)
    let change = try resumed.advance()
    #expect(change.isReset)
    #expect(change.after.rangePosition(of: "g1")?.length == 3)
    try store.close()
  }

  @Test("A replaced definition keeps the windows' positions")
  func replacedDefinition() throws {
    let store = try Store.inMemory()
    let rows = Bucket<[UInt8]>.bytes("rows")
    try store.write { tx in
      for number in 0..<9 {
        try tx.put(Array(#"{"g":"x","n":\#(number)}"#.utf8), for: Key("k\(number)"), in: rows)
      }
    }
    try store.define("i", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    var observer = store.observer(
      of: Mappings(of: "i", groups: ["x"])
        .range(.flexible(length: 3, offset: 2, growing: .bothSides), of: "x"))
    _ = try observer.advance()
    #expect(try observer.shiftRange(of: "x", by: 3).changeset.count == 6)
    try store.define(
      "i", FieldIndex(bucket: "rows", group: "g", order: [.init("n", descending: true)]))
    let turned = try observer.advance()
    #expect(!turned.isReset)
    #expect(
      turned.after.rangePosition(of: "x").map { [$0.offsetFromBeginning, $0.length] } == [5, 3])
    #expect(turned.after.sections[0].map(\.key) == ["k3", "k2", "k1"])
    #expect(throws: TreeRingError.self) { try observer.extendRange(of: "none", by: 1) }
  }

  @Test(
    "A replaced filter, in code or by fields, changes only the rows that enter or leave")
  func replacedFilter() throws {
    func filter(_ version: UInt32, _ limit: UInt8) -> GroupIndex {
      GroupIndex("small", on: Board.lines, version: version) { (line: [UInt8]) -> Place? in
        line[1] < limit ? Place(in: "g\(line[0])", by: .ascending(Int(line[1]))) : nil
      }
    }
    let store = try Store.inMemory(options: StoreOptions(indexes: [filter(1, 5)]))
    for number in 0..<20 as Range<UInt8> {
      try store.write { try $0.put([number % 2, number], for: Key("k\(number)"), in: Board.lines) }
    }
    var observer = store.observer(of: Mappings(of: "small", groups: ["g0", "g1"]))
    #expect(try observer.advance().after.rowCount == 5)
    try store.write { try $0.put([0, 3], for: "k1", in: Board.lines) }
    try store.register(filter(2, 8))
    try store.write { try $0.delete("k0", in: "lines") }
    let change = try observer.advance()
    #expect(!change.isReset)
    #expect(change.rows.inserts.count == 3 && change.rows.deletes.count == 1)
    #expect(change.rows.moves.map(\.row.key) == ["k1"])
    #expect(change.after.sections.map(\.count) == [4, 3])
    try store.register(filter(3, 2))
    #expect(try observer.advance().rows.deletes.count == 7)
  }

  @Test("Groups are selected by their rows' contents; only affected ones are evaluated again")
  func chosenGroups() throws {
    let asked = Counter()
    let store = try Store.inMemory(options: StoreOptions(indexes: [Board.index]))
    func put(_ group: UInt8, _ number: UInt8, _ key: String) throws {
      try store.write { try $0.put([group, number], for: Key(key), in: Board.lines) }
    }
    for group in 0..<4 as Range<UInt8> { try put(group, 10 * group, "a\(group)") }
    let mappings = Mappings(
      of: "board",
      groupsWhere: { group in
        _ = asked.next()
        return group.first(in: Board.lines)?[1] != 20
      },
      orderedBy: { [.descending($0.last(in: Board.lines).map { Int($0[1]) }, nils: .last)] })
    var observer = store.observer(of: mappings)
    #expect(try observer.advance().after.visibleGroups == ["g3", "g1", "g0"])
    #expect(asked.count == 4)
    try put(0, 99, "b")
    let change = try observer.advance()
    #expect(asked.count == 5)
    #expect(change.after.visibleGroups == ["g0", "g3", "g1"])
    #expect(change.sections.moves.map { [$0.from, $0.to] } == [[2, 0]])
    #expect(change.rows.inserts.map(\.path) == [RowPath(section: 0, row: 1)])
    try put(2, 5, "a2")
    #expect(try observer.advance().sections.inserts == [3])
  }

  @Test("A stream delivers its control's requests, merged with the commits")
  func control() async throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [Board.index]))
    for number in 0..<9 as Range<UInt8> {
      try await store.write { try $0.put([1, number], for: Key("k\(number)"), in: Board.lines) }
    }
    let control = MappingControl(
      Mappings(of: "board", groups: ["g1"]).range(.flexible(length: 2, pin: .end), of: "g1"))
    var changes = store.changes(of: control).makeAsyncIterator()
    #expect(try await changes.next()?.after.rowCount == 2)
    control.extendRange(of: "g1", by: 2)
    control.extendRange(of: "g1", by: 1)
    let extended = try #require(try await changes.next())
    #expect(!extended.isReset && extended.rows.inserts.count == 3)
    control.isPaused = true
    try await store.write { try $0.put([1, 50], for: "x", in: Board.lines) }
    control.shiftRange(of: "g1", by: 1)
    try await store.write { try $0.put([1, 60], for: "y", in: Board.lines) }
    control.isPaused = false
    let merged = try #require(try await changes.next())
    #expect(merged.after.commit == store.newestCommit)
    #expect(
      merged.after.rangePosition(of: "g1").map { [$0.offsetFromEnd, $0.length] } == [1, 7])
    control.extendRange(of: "g9", by: 1)
    await #expect(throws: TreeRingError.self) { try await changes.next() }
    control.setRange(nil, of: "g1")
    #expect(try await changes.next()?.after.rowCount == 11)
    let waiting = Task {
      var iterator = changes
      return try await iterator.next()
    }
    control.show(Mappings(of: "board", groups: ["g1", "g2"]))
    #expect(try await waiting.value?.sections.inserts == [1])
  }

  @Test("ObservedRows follow the store until the task is cancelled")
  @MainActor
  func observed() async throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [Board.index]))
    try await store.write { try $0.put([1, 1], for: "a", in: Board.lines) }
    let rows = ObservedRows(Mappings(of: "board", groups: ["g1"]), in: store)
    let following = Task { try await rows.follow() }
    while rows.shown.rowCount != 1 { await Task.yield() }
    try await store.write { try $0.put([1, 2], for: "b", in: Board.lines) }
    while rows.shown.rowCount != 2 { await Task.yield() }
    #expect(rows.lastChange?.rows.inserts.count == 1)
    following.cancel()
    try await following.value
  }
}
