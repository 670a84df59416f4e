// A changeset: the operations that turn one list of sections and rows into another.
//
// What makes it valid:
//   1. an old path occurs at most once in deletes and move sources, a new path at most once in
//      inserts and move targets, a row at most once in updates; the same for sections;
//   2. nothing addresses a row of a deleted section on the old side, or of an inserted one on the
//      new side: those rows come and go with their section. A row that leaves a surviving section
//      for an inserted one is a delete; from a deleted one into a surviving one, an insert;
//   3. with deletes and move sources taken out of the old list, and inserts and move targets out of
//      the new one, every surviving section has the same rows in the same order;
//   4. updates are rows shown in surviving sections on both sides whose parts changed, moved or not.
// It is minimal: no valid changeset between the two states has fewer operations.

public import TreeRing

/// The operations that turn one list of sections and rows into another.
public struct Changeset: Hashable, Sendable {
  let oldOutline: Outline
  let newOutline: Outline
  /// What happens to sections.
  public internal(set) var sections = SectionChanges()
  /// What happens to rows of surviving sections.
  public internal(set) var rows = RowChanges()

  init(before: Outline, after: Outline) {
    oldOutline = before
    newOutline = after
  }

  /// The sections before, in order. O(sections).
  public var before: [Section] { oldOutline.sections }
  /// The sections after, in order. O(sections).
  public var after: [Section] { newOutline.sections }

  /// The number of operations.
  public var count: Int { sections.count + rows.count }
  /// Whether nothing changed.
  public var isEmpty: Bool { count == 0 }
}

/// A section that changes its place among the surviving ones.
public struct SectionMove: Hashable, Sendable {
  /// Its position before.
  public let from: Int
  /// Its position after.
  public let to: Int
}

/// What happens to sections.
public struct SectionChanges: Hashable, Sendable {
  /// Old positions, ascending.
  public internal(set) var deletes: [Int] = []
  /// New positions, ascending.
  public internal(set) var inserts: [Int] = []
  /// By ascending new position.
  public internal(set) var moves: [SectionMove] = []

  /// The number of operations.
  public var count: Int { deletes.count + inserts.count + moves.count }
  /// Whether no section comes, goes or moves.
  public var isEmpty: Bool { count == 0 }
}

/// A row that comes or goes, and where.
public struct ListedRow: Hashable, Sendable {
  /// Which row.
  public let row: RowID
  /// Where it was, for a delete; where it is, for an insert.
  public let path: RowPath
}

/// A row that changes its place among the rows that stay, within its section or to another one.
public struct RowMove: Hashable, Sendable {
  /// Which row.
  public let row: RowID
  /// Its path before.
  public let from: RowPath
  /// Its path after.
  public let to: RowPath
}

/// A row whose content changed.
public struct RowUpdate: Hashable, Sendable {
  /// Which row.
  public let row: RowID
  /// Its path before.
  public let from: RowPath
  /// Its path after.
  public let to: RowPath
  /// What of it changed.
  public let parts: Parts
}

/// What happens to rows of surviving sections.
public struct RowChanges: Hashable, Sendable {
  /// By ascending old path.
  public internal(set) var deletes: [ListedRow] = []
  /// By ascending new path.
  public internal(set) var inserts: [ListedRow] = []
  /// By ascending new path.
  public internal(set) var moves: [RowMove] = []
  /// By ascending new path.
  public internal(set) var updates: [RowUpdate] = []

  /// The number of operations.
  public var count: Int { deletes.count + inserts.count + moves.count + updates.count }
  /// Whether no row comes, goes, moves or changes.
  public var isEmpty: Bool { count == 0 }
}
