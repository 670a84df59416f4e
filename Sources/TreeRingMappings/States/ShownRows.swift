// What is shown at one commit: a collection of sections, which are collections of rows.
//
// The state after a change asks the index at its own commit. The state before it is answered from that
// same index and the touched rows: a position leads to a touched row that left it, or else to an
// untouched row, which the newest tree finds. So an observer that waits pins nothing.

public import TreeRing
public import TreeRingLog

/// The sections and rows shown at one commit. It never changes.
///
/// ```swift
/// for section in shown.sections { print(section.group, section.count, section.first ?? "empty") }
/// ```
/// Subscripts of sections and rows trap out of range, as those of an array do, and if the index cannot
/// be read. The lookups by path say nil for what is out of range or not shown, and throw if the index
/// cannot be read. All of them cost O(log n).
///
/// The two states of a change hold one snapshot, of the later commit read. In a store with a `pinLimit` it
/// may expire while they are kept: lookups then throw `snapshotExpired`, and subscripts of rows trap. Where
/// a limit is set and states are kept, read rows with ``row(at:)``, and go on to the next change or begin
/// anew when it throws. What a layout knows by itself (``outline``, counts, groups, ranges) is there always.
public struct ShownRows: Sendable {
  /// The rows between this state and the commit that `groups` stands at.
  struct Later: Sendable {
    let touched: TouchedRows
    let places: TouchedPlaces
    /// The groups that may be shown otherwise, by ascending slot: those touched, and all if mappings or
    /// ranges were edited.
    let slotsChanged: [Int]
  }

  /// The commit; 0 before anything was shown.
  public let commit: CommitNumber
  let layout: Layout
  let groups: (any OrderedGroups)?
  /// The changes since, for a state that is no longer the newest one.
  let later: Later?

  init(commit: CommitNumber, layout: Layout, groups: (any OrderedGroups)?, later: Later? = nil) {
    self.commit = commit
    self.layout = layout
    self.groups = groups
    self.later = later
  }

  /// Nothing: the state before the first one.
  public static let nothing = ShownRows(commit: 0, layout: .empty, groups: nil)
}

extension ShownRows {
  /// Each section's name and number of rows, in order. O(sections).
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

  /// The group shown, or the name of a section that shows them all.
  public var group: GroupName { section.group }
  public var startIndex: Int { 0 }
  public var endIndex: Int { section.count }

  /// The row at a position. O(log n). Traps if the index cannot be read; see ``ShownRows/row(at:)``.
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
