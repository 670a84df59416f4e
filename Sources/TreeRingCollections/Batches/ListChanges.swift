// What a batch does to a list, in positions alone: valid, and minimal.

internal import TreeRingMappings

/// A row that changes its place among the rows that stay.
public struct IndexMove: Hashable, Sendable {
  /// Its position before.
  public let from: Int
  /// Its position after.
  public let to: Int

  init(from: Int, to: Int) {
    self.from = from
    self.to = to
  }
}

/// What a batch does to a list: no batch of fewer operations leads from the list before to the one
/// after. A row that only shifts is not listed. A row may be moved and updated.
public struct ListChanges: Hashable, Sendable {
  /// How many rows there were.
  public internal(set) var oldCount: Int
  /// How many rows there are.
  public internal(set) var newCount: Int
  /// Old positions, ascending.
  public internal(set) var deletes: [Int] = []
  /// New positions, ascending.
  public internal(set) var inserts: [Int] = []
  /// By ascending new position.
  public internal(set) var moves: [IndexMove] = []
  /// Rows with a new value, by ascending new position; also rows that move.
  public internal(set) var updates: [IndexMove] = []

  /// Whether nothing happens.
  public var isEmpty: Bool { count == 0 }
  /// The number of operations.
  public var count: Int { deletes.count + inserts.count + moves.count + updates.count }

  /// The old positions of rows that go or move, and the new ones of rows that come or move.
  var alignment: Alignment {
    Alignment(
      removed: (deletes + moves.map(\.from)).sorted(), added: (inserts + moves.map(\.to)).sorted())
  }
}

/// Changes as callbacks that know no move: a moved row goes and comes.
struct LegacyListChanges: Hashable, Sendable {
  /// Rows that have a new value and do not move: old positions, ascending.
  let updates: [IndexMove]
  /// Old positions, descending.
  let removals: [Int]
  /// New positions, ascending.
  let insertions: [Int]

  /// Lists changes without moves.
  init(_ changes: ListChanges) {
    let moved = Set(changes.moves.map(\.from))
    let alignment = changes.alignment
    updates = changes.updates.filter { !moved.contains($0.from) }.sorted { $0.from < $1.from }
    removals = alignment.removed.reversed()
    insertions = alignment.added
  }
}
