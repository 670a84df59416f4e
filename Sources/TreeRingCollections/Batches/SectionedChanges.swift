// The net changes of a batch to a list in sections.

public import TreeRingMappings

/// A row with its path before and after.
public struct PathMove: Hashable, Sendable {
  /// Its path before.
  public let from: RowPath
  /// Its path after.
  public let to: RowPath

  /// A row that goes from a path before the batch to one after it.
  public init(from: RowPath, to: RowPath) {
    self.from = from
    self.to = to
  }
}

/// The net changes of a batch to a list in sections, valid as one batch of a table or collection
/// view.
///
/// A section continues as one that holds a row of it. A section that continues under another title
/// is reloaded. Its rows, and those of deleted or inserted sections, are not listed. Sections never
/// move. The result has the fewest section operations of all such batches, and among these the
/// fewest removals and insertions of rows; a move counts as one of each. Updates do not count,
/// because a row with a new value is always shown again.
public struct SectionedChanges: Hashable, Sendable {
  /// The old positions of deleted sections, ascending.
  public internal(set) var sectionDeletes: [Int] = []
  /// The new positions of inserted sections, ascending.
  public internal(set) var sectionInserts: [Int] = []
  /// The sections that change their title, by ascending old position.
  public internal(set) var sectionReloads: [IndexMove] = []
  /// The old paths of deleted rows, ascending.
  public internal(set) var rowDeletes: [RowPath] = []
  /// The new paths of inserted rows, ascending.
  public internal(set) var rowInserts: [RowPath] = []
  /// The moves, by ascending new path.
  public internal(set) var rowMoves: [PathMove] = []
  /// The rows with a new value, by ascending new path, including rows that move.
  public internal(set) var rowUpdates: [PathMove] = []

  /// Changes of these positions and paths, given in any order.
  ///
  /// - Parameters:
  ///   - sectionDeletes: Old positions.
  ///   - sectionInserts: New positions.
  ///   - sectionReloads: The sections that change their title.
  ///   - rowDeletes: Old paths.
  ///   - rowInserts: New paths.
  ///   - rowMoves: The rows that change their section, or their position among the staying rows.
  ///   - rowUpdates: The rows with a new value.
  public init(
    sectionDeletes: [Int] = [], sectionInserts: [Int] = [], sectionReloads: [IndexMove] = [],
    rowDeletes: [RowPath] = [], rowInserts: [RowPath] = [], rowMoves: [PathMove] = [],
    rowUpdates: [PathMove] = []
  ) {
    self.sectionDeletes = sectionDeletes.sorted()
    self.sectionInserts = sectionInserts.sorted()
    self.sectionReloads = sectionReloads.sorted { $0.from < $1.from }
    self.rowDeletes = rowDeletes.sorted()
    self.rowInserts = rowInserts.sorted()
    self.rowMoves = rowMoves.sorted { $0.to < $1.to }
    self.rowUpdates = rowUpdates.sorted { $0.to < $1.to }
  }

  /// The number of operations.
  public var count: Int {
    sectionDeletes.count + sectionInserts.count + sectionReloads.count + rowDeletes.count
      + rowInserts.count + rowMoves.count + rowUpdates.count
  }
  /// Whether there is no operation.
  public var isEmpty: Bool { count == 0 }
}
