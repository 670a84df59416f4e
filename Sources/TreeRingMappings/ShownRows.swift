// What is shown at one commit, with lookups both ways.
//
// The state after a change asks the index at its own commit. The state before it is answered from that
// same index and the touched rows: a position leads to a touched row that left it, or else to an
// untouched row, which the newest tree finds. So an observer that waits pins nothing.

public import TreeRing
public import TreeRingLog

/// The sections and rows shown at one commit. It never changes.
///
/// Lookups cost O(log n). What is out of range or not shown is nil, never a trap.
public struct ShownRows: Sendable {
  /// The rows between this state and the commit that `groups` stands at.
  struct Later: Sendable {
    let touched: TouchedRows
    let places: TouchedPlaces
  }

  /// The commit; 0 before anything was shown.
  public let commit: CommitNumber
  /// The sections, in order.
  public let sections: [Section]
  let layout: Layout
  let groups: (any OrderedGroups)?
  /// The changes since, for a state that is no longer the newest one.
  let later: Later?

  init(commit: CommitNumber, layout: Layout, groups: (any OrderedGroups)?, later: Later? = nil) {
    self.commit = commit
    self.layout = layout
    self.groups = groups
    self.later = later
    sections = layout.sectionList
  }

  /// Nothing: the state before the first one.
  static let nothing = ShownRows(commit: 0, layout: .empty, groups: nil)

  /// The groups that are sections, in order.
  public var visibleGroups: [GroupName] { sections.map(\.group) }
  /// How many rows are shown in all. O(sections).
  public var rowCount: Int { sections.reduce(0) { $0 + $1.count } }
  /// Whether no row is shown.
  public var isEmpty: Bool { sections.allSatisfy { $0.count == 0 } }

  /// How many rows a section shows; nil if there is no such section.
  public func rowCount(inSection section: Int) -> Int? {
    sections.indices.contains(section) ? sections[section].count : nil
  }

  /// The section of a group; nil if the group is no section.
  public func section(of group: GroupName) -> Int? {
    layout.table.slot(of: group).flatMap { layout.groups[$0].section }
  }

  /// The group of a section; nil if there is no such section.
  public func group(ofSection section: Int) -> GroupName? {
    sections.indices.contains(section) ? sections[section].group : nil
  }

  /// The row at a path; nil if there is none.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func row(at path: RowPath) throws(TreeRingError) -> RowID? {
    guard let groups, sections.indices.contains(path.section),
      path.row >= 0, path.row < sections[path.section].count
    else { return nil }
    let slot = layout.sections[path.section]
    var rank = layout.groups[slot].rank(ofDisplayed: path.row)
    if let later, let delta = later.places.delta(of: slot) {
      let index = delta.alignment.removed.firstIndex(atLeast: rank)
      if index < delta.left.count, delta.alignment.removed[index] == rank {
        return try groups.id(of: later.places.moved[delta.left[index]].row)
      }
      rank = delta.alignment.newPosition(ofKept: rank - index)
    }
    return try groups.id(of: try groups.group(sections[path.section].group).row(at: rank))
  }

  /// Where a row is shown: by ascending path, once for each of its groups that show it.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func paths(of row: RowID) throws(TreeRingError) -> [RowPath] {
    guard let groups, let reference = groups.reference(of: row) else { return [] }
    let places: [RowPlace]
    if let touched = later?.touched.rows[reference] {
      places = touched.oldPlaces
    } else {
      places = try groups.places(of: reference)
    }
    var paths: [RowPath] = []
    for place in places {
      guard let slot = layout.table.slot(of: place.group), layout.groups[slot].section != nil
      else { continue }
      var rank = try groups.group(place.group).rank(of: place.order)
      if let delta = later?.places.delta(of: slot) { rank = oldRank(of: reference, rank, delta) }
      if let path = layout.path(slot: slot, rank: rank) { paths.append(path) }
    }
    return paths.sorted()
  }

  /// Where a row is shown; the first path if several groups show it, nil if none does.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func path(of row: RowID) throws(TreeRingError) -> RowPath? {
    try paths(of: row).first
  }

  /// The rank a row had, given the one its old place has in the newest tree.
  private func oldRank(of row: RowReference, _ rank: Int, _ delta: GroupDelta) -> Int {
    let kept = delta.alignment.keptBefore(new: rank)
    let beside =
      delta.alignment.removed.leaders(
        upTo: kept - 1)..<delta.alignment.removed.leaders(upTo: kept)
    for index in beside where later?.places.moved[delta.left[index]].row == row {
      return delta.alignment.removed[index]
    }
    return delta.alignment.oldPosition(ofKept: kept)
  }
}
