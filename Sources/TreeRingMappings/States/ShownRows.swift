// The rows shown at one commit: a collection of sections, each a collection of rows.
//
// The state after a change reads the index at its own commit. The state before a change reads that
// same index and the affected rows. A position leads to an affected row that left it, or to an
// unaffected row, which the newest tree finds. So an observer that waits pins nothing.

public import TreeRing
public import TreeRingLog

/// The sections and rows shown at one commit. The value never changes.
///
/// ```swift
/// for section in shown.sections { print(section.group, section.count, section.first ?? "empty") }
/// ```
/// Subscripts of sections and rows trap when out of range, like those of an array, and when the
/// index cannot be read. Lookups by path return nil for a path out of range or a row not shown, and
/// throw when the index cannot be read. Each costs O(log n).
///
/// Both states of a change hold one snapshot, that of the later commit. In a store with a
/// `pinLimit` the snapshot may expire while they are kept. Lookups then throw `snapshotExpired`,
/// and subscripts of rows trap. With a limit and states that are kept, read rows with ``row(at:)``;
/// when it throws, advance to the next change or start over. Data of the layout itself
/// (``outline``, counts, groups, ranges) stays available.
public struct ShownRows: Sendable {
  /// The affected rows between this state and the commit of `groups`.
  struct Later: Sendable {
    let affected: AffectedRows
    let places: AffectedPlaces
    /// The groups that may be shown differently, by ascending slot: the affected ones, or all if
    /// mappings or ranges were edited.
    let slotsChanged: [Int]
    /// Whether the sums of every group may differ: another definition of the index, and one of the
    /// two has sums.
    var hasSumsAnew = false
  }

  /// The commit; 0 before the first state.
  public let commit: CommitNumber
  let layout: Layout
  let groups: (any OrderedGroups)?
  /// The changes since this state; nil for the newest state.
  let later: Later?

  /// The empty state before the first one.
  public static let nothing = ShownRows(commit: 0, layout: .empty, groups: nil, later: nil)
}

extension ShownRows {
  /// The name and the number of rows of each section, in order. O(sections).
  public var outline: [Section] { layout.outline.sections }

  /// The sections, in order.
  public var sections: ShownSections { ShownSections(shown: self) }
}

/// The sections shown at one commit, in order.
public struct ShownSections: RandomAccessCollection, Sendable {
  fileprivate let shown: ShownRows

  public var startIndex: Int { 0 }
  public var endIndex: Int { shown.layout.sectionCount }
  /// A section. O(1).
  public subscript(section: Int) -> ShownSection {
    guard let outlined = shown.layout.section(at: section) else {
      preconditionFailure("there is no section \(section)")
    }
    return ShownSection(shown: shown, section: outlined, index: section)
  }
}

/// A section: the collection of its rows.
public struct ShownSection: RandomAccessCollection, Sendable {
  fileprivate let shown: ShownRows
  fileprivate let section: Section
  /// The section's position in the list of sections.
  public let index: Int

  /// The group shown, or the name of the consolidated section.
  public var group: GroupName { section.group }
  /// Whether it is the consolidated section, which shows all groups.
  public var isConsolidated: Bool { section.isConsolidated }
  public var startIndex: Int { 0 }
  public var endIndex: Int { section.count }

  /// The row at a position. O(log n). Traps if the index cannot be read; see
  /// ``ShownRows/row(at:)``.
  public subscript(row: Int) -> RowID {
    let found: RowID?
    do {
      found = try shown.row(at: RowPath(section: index, row: row))
    } catch {
      preconditionFailure("the row \(row) of \(group) cannot be read: \(error)")
    }
    guard let found else { preconditionFailure("there is no row \(row) in \(group)") }
    return found
  }
}

extension ShownSection {
  /// The row at a position as a member of its own group; nil if there is none. O(log n).
  func member(_ row: Int) throws(TreeRingError) -> Placements.Member? {
    let path = RowPath(section: index, row: row)
    guard let id = try shown.row(at: path), let group = shown.group(at: path) else { return nil }
    return Placements.Member(group: group, row: id)
  }
}
