// A changeset: the operations that turn one list of sections and rows into another.
//
// A changeset is valid if:
//   1. each old path occurs at most once among deletes and move sources, each new path at most once
//      among inserts and move targets, and each row at most once among updates; the same holds for
//      sections;
//   2. no operation addresses a row of a deleted section on the old side, or of an inserted one on
//      the new side: those rows come and go with their section. A row that leaves a surviving
//      section for an inserted one is a delete; from a deleted section into a surviving one, an
//      insert;
//   3. after removing deletes and move sources from the old list, and inserts and move targets from
//      the new one, every surviving section has the same rows in the same order;
//   4. updates are the rows shown in surviving sections on both sides whose parts changed, moved or
//      not.
// It is minimal: no valid changeset between the two states has fewer operations.

public import TreeRing

/// The operations that turn one list of sections and rows into another.
public struct Changeset: Hashable, Sendable {
  let oldOutline: Outline
  let newOutline: Outline
  /// The operations on sections.
  public internal(set) var sections = SectionChanges()
  /// The operations on rows of surviving sections.
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

extension Changeset {
  /// A changeset of these operations, given in any order, for callers that keep changes in another
  /// form.
  package init(
    before: [Section], after: [Section], sections: SectionChanges,
    deletes: [(row: RowID, path: RowPath)], inserts: [(row: RowID, path: RowPath)],
    moves: [(row: RowID, from: RowPath, to: RowPath)],
    updates: [(row: RowID, from: RowPath, to: RowPath, parts: Parts)]
  ) {
    self.init(before: Outline(before), after: Outline(after))
    self.sections = sections
    rows.deletes = deletes.map { ListedRow(row: $0.row, path: $0.path) }
    rows.inserts = inserts.map { ListedRow(row: $0.row, path: $0.path) }
    rows.moves = moves.map { RowMove(row: $0.row, from: $0.from, to: $0.to) }
    rows.updates = updates.map {
      RowUpdate(row: $0.row, from: $0.from, to: $0.to, parts: $0.parts)
    }
    rows.sort()
  }
}

/// A section that changes its position among the surviving ones.
public struct SectionMove: Hashable, Sendable {
  /// Its position before.
  public let from: Int
  /// Its position after.
  public let to: Int
}

/// The operations on sections.
public struct SectionChanges: Hashable, Sendable {
  /// The old positions of deleted sections, ascending.
  public internal(set) var deletes: [Int] = []
  /// The new positions of inserted sections, ascending.
  public internal(set) var inserts: [Int] = []
  /// The moves, by ascending new position.
  public internal(set) var moves: [SectionMove] = []

  /// The number of operations.
  public var count: Int { deletes.count + inserts.count + moves.count }
  /// Whether no section comes, goes or moves.
  public var isEmpty: Bool { count == 0 }
}

/// A deleted or inserted row, with its path.
public struct ListedRow: Hashable, Sendable {
  /// The row.
  public let row: RowID
  /// The old path of a delete; the new path of an insert.
  public let path: RowPath
}

/// A row that changes its position among the staying rows, within its section or to another one.
public struct RowMove: Hashable, Sendable {
  /// The row.
  public let row: RowID
  /// Its path before.
  public let from: RowPath
  /// Its path after.
  public let to: RowPath
}

/// A row whose content changed.
public struct RowUpdate: Hashable, Sendable {
  /// The row.
  public let row: RowID
  /// Its path before.
  public let from: RowPath
  /// Its path after.
  public let to: RowPath
  /// The parts that changed.
  public let parts: Parts
}

/// The operations on rows of surviving sections.
public struct RowChanges: Hashable, Sendable {
  /// The deleted rows, by ascending old path.
  public internal(set) var deletes: [ListedRow] = []
  /// The inserted rows, by ascending new path.
  public internal(set) var inserts: [ListedRow] = []
  /// The moves, by ascending new path.
  public internal(set) var moves: [RowMove] = []
  /// The updates, by ascending new path.
  public internal(set) var updates: [RowUpdate] = []

  /// The number of operations.
  public var count: Int { deletes.count + inserts.count + moves.count + updates.count }
  /// Whether no row comes, goes, moves or changes.
  public var isEmpty: Bool { count == 0 }

  /// Puts the operations of each list in order.
  mutating func sort() {
    deletes.sort { $0.path < $1.path }
    inserts.sort { $0.path < $1.path }
    moves.sort { $0.to < $1.to }
    updates.sort { $0.to < $1.to }
  }
}
