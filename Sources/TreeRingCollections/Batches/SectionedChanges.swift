// What a batch does to a list shown in sections.

public import TreeRingMappings

/// A section or row with its place before and after.
public struct PathMove: Hashable, Sendable {
  /// Its path before.
  public let from: RowPath
  /// Its path after.
  public let to: RowPath

  init(from: RowPath, to: RowPath) {
    self.from = from
    self.to = to
  }
}

/// What a batch does to a list shown in sections, valid as one batch of a table or collection view.
///
/// A section continues as one that holds a row of it which stays. One that continues under another title
/// is reloaded; its rows, and those of sections that come or go, are not listed. Sections never move. Of
/// all such batches it is one with the fewest section operations, and of these one with the fewest calls for
/// rows, where a row that moves takes two.
public struct SectionedChanges: Hashable, Sendable {
  /// Old positions, ascending.
  public internal(set) var sectionDeletes: [Int] = []
  /// New positions, ascending.
  public internal(set) var sectionInserts: [Int] = []
  /// Sections that change their title, by ascending old position.
  public internal(set) var sectionReloads: [IndexMove] = []
  /// Old paths, ascending.
  public internal(set) var rowDeletes: [RowPath] = []
  /// New paths, ascending.
  public internal(set) var rowInserts: [RowPath] = []
  /// By ascending new path.
  public internal(set) var rowMoves: [PathMove] = []
  /// Rows with a new value, by ascending new path; also rows that move.
  public internal(set) var rowUpdates: [PathMove] = []

  /// The number of operations.
  public var count: Int {
    sectionDeletes.count + sectionInserts.count + sectionReloads.count + rowDeletes.count
      + rowInserts.count + rowMoves.count + rowUpdates.count
  }
  /// Whether nothing happens.
  public var isEmpty: Bool { count == 0 }
}

/// Changes as callbacks that know no move: a moved row goes and comes.
struct LegacySectionedChanges: Hashable, Sendable {
  /// Rows that have a new value and do not move, by ascending old path.
  let rowUpdates: [PathMove]
  /// Sections that change their title, by ascending old position.
  let sectionReloads: [IndexMove]
  /// Old positions, descending.
  let sectionRemovals: [Int]
  /// New positions, ascending.
  let sectionInsertions: [Int]
  /// Old paths, descending.
  let rowRemovals: [RowPath]
  /// New paths, ascending.
  let rowInsertions: [RowPath]

  /// Lists changes without moves.
  init(_ changes: SectionedChanges) {
    let moved = Set(changes.rowMoves.map(\.from))
    rowUpdates = changes.rowUpdates.filter { !moved.contains($0.from) }
      .sorted { $0.from < $1.from }
    sectionReloads = changes.sectionReloads
    sectionRemovals = changes.sectionDeletes.reversed()
    sectionInsertions = changes.sectionInserts
    rowRemovals = (changes.rowDeletes + moved).sorted().reversed()
    rowInsertions = (changes.rowInserts + changes.rowMoves.map(\.to)).sorted()
  }
}
