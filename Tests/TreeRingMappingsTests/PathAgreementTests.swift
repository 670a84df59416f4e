// Every way of an observer to a state gives the same rows and changes: live, resumed from a saved
// position, in a reopened store, over an index that was registered late, in a follower.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("The path to a state does not affect the changes", .leavesSoundStores)
struct PathAgreementTests {
  private static let items = Bucket<[UInt8]>.bytes("items")
  private static let byKey = GroupIndex(
    "byKey", on: items, version: 1, groupedBy: { (_: [UInt8]) in "g" },
    sortedBy: { (a: [UInt8], b: [UInt8]) in a[0] < b[0] })

  private static func keys(_ shown: ShownRows) throws -> [String] {
    try (0..<shown.rowCount).compactMap {
      try shown.row(at: RowPath(section: 0, row: $0)).map { "\($0.key)" }
    }
  }

  @Test("In an index that compares rows, an unwritten row stays in its window after a restart")
  func restart() throws {
    let files = MemoryFileSystem()
    func open() throws -> Store {
      try Store(
        path: "store", fileSystem: files, options: StoreOptions(indexes: [Self.byKey]))
    }
    var store = try open()
    try store.write { tx in
      for (key, value) in [("a", 10), ("b", 20), ("c", 30), ("d", 40)] as [(Key, UInt8)] {
        try tx.put([value], for: key, in: Self.items)
      }
    }
    let mappings = Mappings(of: "byKey", groups: ["g"])
      .range(.flexible(length: 2, offset: 1, growing: .inRangeOnly))
    var live = store.observer(of: mappings)
    #expect(try Self.keys(live.advance().after) == ["b", "c"])
    let position = try #require(live.position)
    try store.write { try $0.put([25], for: "d", in: Self.items) }
    let expected = try live.advance()
    #expect(try Self.keys(expected.after) == ["b", "d", "c"])
    try store.close()

    for forgetsPages in [false, true] {
      if forgetsPages { try files.unlink("store/pages") }
      store = try open()
      var resumed = store.observer(of: mappings, from: position)
      #expect(resumed.position == position)
      let change = try resumed.advance()
      #expect(change.changeset == expected.changeset)
      #expect(try Self.keys(change.after) == ["b", "d", "c"])
      #expect(try Self.keys(change.before) == ["b", "c"])
      for key in ["a", "b", "c", "d"] as [Key] {
        let row = RowID(bucket: "items", key: key)
        #expect(try change.before.path(of: row) == expected.before.path(of: row))
      }
      try store.close()
    }
  }

  /// A delivery of a live observer.
  private struct Delivery {
    let commit: CommitNumber
    let position: MappingPosition
    let change: Change
  }

  /// Mappings of an index with a separate range and direction for each group.
  private static func mappings(_ index: String, seed: UInt64) -> Mappings {
    var maker = CaseMaker(seed: seed, index: index)
    var mappings = IndexKindBoard.mappings(index)
    for group in IndexKindBoard.groups {
      mappings = mappings.range(maker.range(), of: group).reversed(group, maker.chance(3))
    }
    return maker.chance(3) ? mappings.consolidated(below: 6, as: "all") : mappings
  }

  private static func expectSame(_ change: Change, _ expected: Delivery, _ label: Comment) throws {
    let known = expected.change
    #expect(!change.isReset, label)
    #expect(change.changeset == known.changeset, label)
    #expect(change.after.outline == known.after.outline, label)
    for group in IndexKindBoard.groups {
      #expect(change.after.rangePosition(of: group) == known.after.rangePosition(of: group), label)
    }
    for (section, expected) in zip(change.before.sections, known.before.sections) {
      #expect(Array(section) == Array(expected), label)
      for row in section {
        #expect(try change.before.paths(of: row) == known.before.paths(of: row), label)
      }
    }
  }

  @Test("Changesets and windows agree, over random histories and ranges", arguments: seeds(1...3))
  func agreement(seed: UInt64) async throws {
    let files = MemoryFileSystem()
    var board = try IndexKindBoard(seed: seed, files: files)
    for _ in 0..<8 { try board.commit() }
    try await board.store.checkpoint()
    let reader = try IndexKindBoard.open(files, .readOnly)
    let mappings = IndexKindBoard.names.map { Self.mappings($0, seed: seed) }
    var live = mappings.map { board.store.observer(of: $0, limit: .max) }
    var following = mappings.map { reader.observer(of: $0, limit: .max) }
    var deliveries = mappings.map { _ in [Delivery]() }
    for turn in 0..<7 {
      if turn > 0 {
        for _ in 0..<Int.random(in: 1...3, using: &board.random) { try board.commit() }
      }
      if turn == 3 { try await board.store.checkpoint() }
      try await reader.reached(board.store.newestCommit)
      let snapshot = try (board.store.snapshot(), reader.snapshot())
      for index in mappings.indices {
        let change = try live[index].advance(to: snapshot.0)
        let followed = try following[index].advance(to: snapshot.1)
        deliveries[index].append(
          Delivery(
            commit: snapshot.0.commit, position: try #require(live[index].position),
            change: change))
        if turn == 0 { continue }
        try Self.expectSame(
          followed, deliveries[index][turn],
          "seed \(seed), \(mappings[index].index), follower, \(turn)")
      }
    }
    try await reader.close()
    for dropsPages in [false, true] {
      let last = board.store
      try await last.close()
      if dropsPages { try files.unlink("store/pages") }
      board = IndexKindBoard(seed: seed, store: try IndexKindBoard.open(files))
      for index in mappings.indices {
        try Self.walk(
          board.store, mappings[index], deliveries[index],
          "seed \(seed), \(mappings[index].index), reopened, pages dropped: \(dropsPages)")
      }
    }
    // The same rows and commits, with the indexes in code registered after them.
    var late = try IndexKindBoard(registeringLate: seed)
    for turn in -8..<7 {
      let count = turn <= 0 ? (turn < 0 ? 1 : 0) : Int.random(in: 1...3, using: &late.random)
      for _ in 0..<count { try late.commit() }
    }
    try late.registerAll()
    for index in mappings.indices {
      try Self.walk(
        late.store, mappings[index], deliveries[index], isOther: true,
        "seed \(seed), \(mappings[index].index), registered late")
    }
  }

  /// Repeats the way: from each saved position to the next delivery, and all of it with one
  /// observer.
  ///
  /// - Parameter isOther: whether it is another store of the same commits. Its definitions have
  ///   other numbers, so its observers resume from their own positions.
  private static func walk(
    _ store: Store, _ mappings: Mappings, _ deliveries: [Delivery], isOther: Bool = false,
    _ label: String
  ) throws {
    var observer = store.observer(of: mappings, limit: .max)
    _ = try observer.advance(to: try store.snapshot(at: .commit(deliveries[0].commit)))
    for (last, next) in zip(deliveries, deliveries.dropFirst()) {
      let snapshot = try store.snapshot(at: .commit(next.commit))
      let label = Comment(rawValue: "\(label), to \(next.commit)")
      let position = isOther ? try #require(observer.position) : last.position
      try expectSame(try observer.advance(to: snapshot), next, label)
      var resumed = store.observer(of: mappings, from: position, limit: .max)
      try expectSame(try resumed.advance(to: snapshot), next, label)
    }
  }
}
