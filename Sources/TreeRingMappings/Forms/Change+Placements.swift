// A change for keyed lists, such as the children of an element on a web page: ids to remove, then
// elements to put before an element already in its final position.

public import TreeRing
public import TreeRingLog

/// A change as removals by identity and placements beside a neighbour. Apply the parts in the order
/// of their declaration. A row's identity is its group and the row itself.
public struct Placements: Hashable, Sendable {
  /// A row as a member of its own group, even if the section shows several groups.
  public struct Member: Hashable, Sendable {
    /// The group.
    public let group: GroupName
    /// The row.
    public let row: RowID
  }

  /// A section to create with its rows, or to move, directly before another one.
  public struct SectionPlacement: Hashable, Sendable {
    /// The section.
    public let group: GroupName
    /// Whether the section is new; a new section brings all its rows.
    public let isNew: Bool
    /// The next section; nil for the last one.
    public let before: GroupName?
  }

  /// A row to insert, or to move, directly before another one of its section.
  public struct RowPlacement: Hashable, Sendable {
    /// The target section.
    public let section: GroupName
    /// The row.
    public let member: Member
    /// The row's previous group; nil if the row is new.
    public let from: GroupName?
    /// The next member; nil for the section's last one.
    public let before: Member?
  }

  /// A row to redraw.
  public struct Update: Hashable, Sendable {
    /// The row.
    public let member: Member
    /// The parts that changed.
    public let parts: Parts
  }

  /// The rows to remove.
  public internal(set) var remove: [Member] = []
  /// The sections to remove, with their rows.
  public internal(set) var removeSections: [GroupName] = []
  /// The sections to insert or move, last to first.
  public internal(set) var placeSections: [SectionPlacement] = []
  /// The rows to insert or move, last to first, so that the next member is always there already.
  public internal(set) var place: [RowPlacement] = []
  /// The rows whose content changed.
  public internal(set) var update: [Update] = []
}

extension Change {
  /// The change as removals and placements. O(k log n) for k operations.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read while looking up the row after a placed
  ///   one.
  public func placements() throws(TreeRingError) -> Placements {
    let (old, new) = (changeset.oldOutline, changeset.newOutline)
    var result = Placements()
    result.remove = rows.deletes.compactMap { member($0.row, at: $0.path, of: before) }
    result.removeSections = sections.deletes.map { old[$0].group }
    let inserted = Set(sections.inserts)
    for section in (sections.inserts + sections.moves.map(\.to)).sorted(by: >) {
      result.placeSections.append(
        .init(
          group: new[section].group, isNew: inserted.contains(section),
          before: section + 1 < new.count ? new[section + 1].group : nil))
    }
    var arrivals: [(row: RowID, to: RowPath, from: RowPath?)] = []
    for insert in rows.inserts { arrivals.append((insert.row, insert.path, nil)) }
    for move in rows.moves { arrivals.append((move.row, move.to, move.from)) }
    arrivals += try membersThatStay()
    arrivals.sort { $0.to > $1.to }
    // The row after a placed one is mostly the one placed just before.
    var last: (member: Placements.Member, path: RowPath)?
    for (row, to, from) in arrivals {
      guard let arrival = member(row, at: to, of: after) else { continue }
      let next = RowPath(section: to.section, row: to.row + 1)
      var anchor: Placements.Member?
      if let last, last.path == next {
        anchor = last.member
      } else if let row = try after.row(at: next) {
        anchor = member(row, at: next, of: after)
      }
      result.place.append(
        .init(
          section: new[to.section].group, member: arrival,
          from: from.flatMap { before.group(at: $0) }, before: anchor))
      last = (arrival, to)
    }
    result.update = rows.updates.compactMap { update in
      member(update.row, at: update.to, of: after).map { .init(member: $0, parts: update.parts) }
    }
    return result
  }

  /// The rows of a consolidated section that change their group and keep their position: each is
  /// another member now.
  private func membersThatStay() throws(TreeRingError) -> [(RowID, RowPath, RowPath?)] {
    guard let later = before.later, let groups = before.groups, sections.isEmpty,
      before.isConsolidated, after.isConsolidated
    else { return [] }
    let moved = Set(rows.moves.map(\.to))
    var members: [(RowID, RowPath, RowPath?)] = []
    for affected in later.places.moved where !affected.isInOneGroup {
      guard let from = before.layout.path(affected.old),
        let to = after.layout.path(affected.new), !moved.contains(to)
      else { continue }
      members.append((try groups.id(of: affected.row), to, from))
    }
    return members
  }

  private func member(
    _ row: RowID, at path: RowPath, of shown: ShownRows
  ) -> Placements.Member? {
    shown.group(at: path).map { Placements.Member(group: $0, row: row) }
  }
}
