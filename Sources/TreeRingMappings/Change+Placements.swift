// A change for keyed lists, such as the children of an element on a web page: ids to remove, then
// elements to put before an element that already stands where it belongs.

public import TreeRing
public import TreeRingLog

/// A change as removals by identity and placements beside a neighbour. Apply the parts in the order in
/// which they are declared. A row's identity is its group and itself.
public struct Placements: Hashable, Sendable {
  /// A row in a group's list.
  public struct Member: Hashable, Sendable {
    public let group: GroupName
    public let row: RowID
  }

  /// A section to create with its rows, or to move, so that it stands right before another one.
  public struct SectionPlacement: Hashable, Sendable {
    public let group: GroupName
    /// Whether the section is new: it then brings all its rows.
    public let isNew: Bool
    /// The section that follows; nil for the last one.
    public let before: GroupName?
  }

  /// A row to insert, or to move, so that it stands right before another one of its section.
  public struct RowPlacement: Hashable, Sendable {
    public let group: GroupName
    public let row: RowID
    /// The group the row stands in so far; nil if it is new.
    public let from: GroupName?
    /// The row that follows; nil for the section's last one.
    public let before: RowID?
  }

  /// A row to draw anew.
  public struct Update: Hashable, Sendable {
    public let group: GroupName
    public let row: RowID
    public let parts: Parts
  }

  /// Rows that go.
  public internal(set) var remove: [Member] = []
  /// Sections that go, with their rows.
  public internal(set) var removeSections: [GroupName] = []
  /// Sections that come or move, last to first.
  public internal(set) var placeSections: [SectionPlacement] = []
  /// Rows that come or move, last to first: the row to stand before is always there already.
  public internal(set) var place: [RowPlacement] = []
  /// Rows whose content changed.
  public internal(set) var update: [Update] = []
}

extension Change {
  /// The change as removals and placements. O(k log n) for k operations.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read: a row that follows a placed one is looked
  ///   up.
  public func placements() throws(TreeRingError) -> Placements { try placements(flaw: .none) }

  package func placements(flaw: Flaw) throws(TreeRingError) -> Placements {
    let old = changeset.before
    let new = changeset.after
    var result = Placements()
    result.remove = rows.deletes.map { .init(group: old[$0.path.section].group, row: $0.row) }
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
    arrivals.sort { flaw == .placedLeftToRight ? $0.to < $1.to : $0.to > $1.to }
    // The row after a placed one is mostly the one placed before it.
    var last: (row: RowID, path: RowPath)?
    for (row, to, from) in arrivals {
      let next = RowPath(section: to.section, row: to.row + 1)
      var anchor: RowID?
      if let last, last.path == next { anchor = last.row } else { anchor = try after.row(at: next) }
      result.place.append(
        .init(
          group: new[to.section].group, row: row, from: from.map { old[$0.section].group },
          before: anchor))
      last = (row, to)
    }
    result.update = rows.updates.map {
      .init(group: new[$0.to.section].group, row: $0.row, parts: $0.parts)
    }
    return result
  }
}
