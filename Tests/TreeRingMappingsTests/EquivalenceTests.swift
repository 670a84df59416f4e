import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("The same two states always give the same changeset", .leavesSoundStores)
struct EquivalenceTests {
  /// The way from one commit to another, and the changes on it.
  private struct Journey {
    let mappings: Mappings
    let from: CommitNumber
    let to: CommitNumber
    let changeset: Changeset
  }

  /// The change that an observer finds between two commits.
  static func observed(
    _ store: Store, _ mappings: Mappings, from: CommitNumber, to: CommitNumber
  ) throws -> Changeset {
    var observer = store.observer(of: mappings, limit: .max)
    _ = try observer.advance(to: store.snapshot(at: .commit(from)))
    let change = try observer.advance(to: store.snapshot(at: .commit(to)))
    #expect(!change.isReset)
    return change.changeset
  }

  /// The change from change records, or from two roots.
  static func compared(
    _ store: Store, _ mappings: Mappings, from: CommitNumber, to: CommitNumber, usesRecords: Bool
  ) throws -> Changeset {
    func groups(_ commit: CommitNumber) throws -> StoreGroups {
      let snapshot = try store.snapshot(at: .commit(commit))
      return StoreGroups(
        snapshot: snapshot, reader: try snapshot.index("board"), names: store.rowNames)
    }
    let affected = try store.affectedRows(
      ofIndex: "board", from: store.snapshot(at: .commit(from)),
      to: store.snapshot(at: .commit(to)), usesRecords: usesRecords)
    var cursor = MappingCursor(mappings)
    _ = try cursor.reset(to: groups(from), at: from)
    return try cursor.advance(to: groups(to), by: affected, limit: .max).changeset
  }

  @Test("From records, from two roots, forward, backward, after reopening, in a follower")
  func everyWay() throws {
    for seed in seeds(1...6) {
      let folder = try TemporaryFolder()
      let options = StoreOptions(indexes: [Board.index])
      var board = try Board(seed: seed, store: Store(at: folder.path, options: options))
      for _ in 0..<10 { try board.commit() }
      var maker = CaseMaker(seed: seed, index: "board")
      var expected: [Journey] = []
      for number in 0..<12 {
        // All features mixed; in some turns, groups that their counts and contents select and
        // order.
        let mappings =
          number == 0 ? ObservationTests.mappings(consolidating: seed % 2 == 1) : maker.mappings()
        let ends = (0..<2).map { _ in CommitNumber.random(in: 0...10, using: &board.random) }
        for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
          let changeset = try Self.observed(board.store, mappings, from: from, to: to)
          expected.append(Journey(mappings: mappings, from: from, to: to, changeset: changeset))
          for usesRecords in [true, false] {
            let found = try Self.compared(
              board.store, mappings, from: from, to: to, usesRecords: usesRecords)
            #expect(found == changeset, "seed \(seed), \(from) to \(to), records: \(usesRecords)")
          }
        }
      }
      let follower = try Store(
        at: folder.path, options: StoreOptions(mode: .readOnly, indexes: [Board.index]))
      for way in expected {
        let found = try Self.observed(follower, way.mappings, from: way.from, to: way.to)
        #expect(found == way.changeset, "seed \(seed), \(way), in a follower")
      }
      try follower.close()
      try board.store.close()
      let reopened = try Store(at: folder.path, options: options)
      for way in expected {
        let found = try Self.observed(reopened, way.mappings, from: way.from, to: way.to)
        #expect(found == way.changeset, "seed \(seed), \(way), reopened")
      }
      try reopened.close()
    }
  }

  @Test("The division of the same writes into commits does not affect the result")
  func partitions() throws {
    for seed in seeds(1...8) {
      var expected: (changeset: Changeset, rows: [[RowID]])?
      for cuts in 0..<64 as Range<Int> {
        var board = try Board(seed: seed)
        let mappings = ObservationTests.mappings(consolidating: seed % 3 == 0)
          .range(.flexible(length: 3, offset: 1, pin: .end, growing: .bothSides), of: "g1")
        for _ in 0..<4 { try board.commit() }
        var observer = board.store.observer(of: mappings, limit: .max)
        _ = try observer.advance()
        // A set bit ends a commit.
        var rest = 0..<7
        while let first = rest.first {
          let end = rest.first { $0 == 6 || cuts & (1 << $0) != 0 } ?? first
          try board.store.write { tx in
            for _ in first...end { try board.write(tx) }
          }
          rest = (end + 1)..<7
        }
        let change = try observer.advance()
        #expect(!change.isReset)
        let found = (changeset: change.changeset, rows: ObservationTests.rows(change.after))
        if let expected {
          #expect(found.changeset == expected.changeset, "seed \(seed), cuts \(cuts)")
          #expect(found.rows == expected.rows, "seed \(seed), cuts \(cuts)")
        }
        expected = expected ?? found
      }
    }
  }

  @Test("The states of a change never change, whatever is committed and shown later")
  func lastingStates() throws {
    for seed in seeds(1...6) {
      var board = try Board(seed: seed)
      var observer = board.store.observer(of: board.mappings(), limit: .max)
      var kept: [(state: ShownRows, rows: [[RowID]])] = []
      for _ in 0..<15 {
        try board.commit()
        let change = try observer.advance()
        if let last = kept.last { #expect(ObservationTests.rows(change.before) == last.rows) }
        for state in [change.before, change.after] {
          kept.append((state, ObservationTests.rows(state)))
        }
      }
      for (state, rows) in kept {
        #expect(ObservationTests.rows(state) == rows)
        for (section, part) in rows.enumerated() {
          for (index, row) in part.enumerated() {
            #expect(try state.paths(of: row).contains(RowPath(section: section, row: index)))
          }
        }
      }
    }
  }
}

@Suite("Streams in followers", .leavesSoundStores)
struct FollowedStreamTests {
  @Test("A stream delivers another process's commits; a position continues in any process")
  func follower() async throws {
    let folder = try TemporaryFolder()
    var board = try Board(
      seed: 3, store: Store(at: folder.path, options: StoreOptions(indexes: [Board.index])))
    for _ in 0..<5 { try board.commit() }
    let reader = try Store(
      at: folder.path, options: StoreOptions(mode: .readOnly, indexes: [Board.index]))
    let mappings = ObservationTests.mappings(consolidating: false)
    var changes = reader.changes(of: mappings, limit: .max).makeAsyncIterator()
    var list = FollowedList()
    let first = try #require(try await changes.next())
    #expect(first.isReset && first.after.commit == board.store.newestCommit)
    try list.apply(first)
    var here = board.store.observer(of: mappings, limit: .max)
    _ = try here.advance()
    let position = try #require(here.position)
    for _ in 0..<12 { try board.commit() }
    let expected = try here.advance()
    #expect(!expected.isEmpty)
    while list.sections != ObservationTests.rows(expected.after) {
      let change = try #require(try await changes.next())
      #expect(!change.isReset)
      try list.apply(change)
    }
    try await reader.reached(board.store.newestCommit)
    var there = reader.observer(of: mappings, from: position, limit: .max)
    let resumed = try there.advance()
    #expect(!resumed.isReset && resumed.changeset == expected.changeset)
    try await reader.close()
    try await board.store.close()
  }
}
