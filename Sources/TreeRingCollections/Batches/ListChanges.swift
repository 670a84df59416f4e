// The net changes of a batch to a list, by positions alone: valid, and minimal.

internal import TreeRingMappings

/// A row that changes its position among the staying rows.
public struct IndexMove: Hashable, Sendable {
  /// Its position before.
  public let from: Int
  /// Its position after.
  public let to: Int

  /// A row that goes from a position before the batch to one after it.
  public init(from: Int, to: Int) {
    self.from = from
    self.to = to
  }
}

/// The net changes of a batch to a list: no batch of fewer operations leads from the list before to
/// the one after. A row that only shifts is not listed. A row may be moved and updated.
public struct ListChanges: Hashable, Sendable {
  /// The number of rows before.
  public internal(set) var oldCount: Int
  /// The number of rows after.
  public internal(set) var newCount: Int
  /// The old positions of deleted rows, ascending.
  public internal(set) var deletes: [Int] = []
  /// The new positions of inserted rows, ascending.
  public internal(set) var inserts: [Int] = []
  /// The moves, by ascending new position.
  public internal(set) var moves: [IndexMove] = []
  /// The rows with a new value, by ascending new position, including rows that move.
  public internal(set) var updates: [IndexMove] = []

  /// Changes of these positions, given in any order.
  ///
  /// - Parameters:
  ///   - oldCount: The number of rows before.
  ///   - newCount: The number of rows after.
  ///   - deletes: Old positions.
  ///   - inserts: New positions.
  ///   - moves: The rows that change their position among the staying rows.
  ///   - updates: The rows with a new value.
  public init(
    oldCount: Int, newCount: Int, deletes: [Int] = [], inserts: [Int] = [],
    moves: [IndexMove] = [], updates: [IndexMove] = []
  ) {
    self.oldCount = oldCount
    self.newCount = newCount
    self.deletes = deletes.sorted()
    self.inserts = inserts.sorted()
    self.moves = moves.sorted { $0.to < $1.to }
    self.updates = updates.sorted { $0.to < $1.to }
  }

  /// Whether there is no operation.
  public var isEmpty: Bool { count == 0 }
  /// The number of operations.
  public var count: Int { deletes.count + inserts.count + moves.count + updates.count }

  /// The old positions of removed or moved rows, and the new ones of inserted or moved rows.
  var alignment: Alignment {
    Alignment(
      removed: (deletes + moves.map(\.from)).sorted(), added: (inserts + moves.map(\.to)).sorted())
  }
}
