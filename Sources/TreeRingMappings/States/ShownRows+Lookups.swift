// Lookups both ways between sections and groups, paths and rows. Out of range is nil, never a trap.

public import TreeRing
public import TreeRingLog

extension ShownRows {
  /// The names of the sections, in order: their groups, or the name they are consolidated under.
  public var visibleGroups: [GroupName] { outline.map(\.group) }
  /// How many rows are shown in all.
  public var rowCount: Int { layout.rowCount }
  /// Whether no row is shown; there may be sections nevertheless.
  public var isEmpty: Bool { layout.rowCount == 0 }
  /// Whether one section shows all groups.
  public var isConsolidated: Bool { layout.consolidated != nil }

  /// How many rows a section shows; nil if there is no such section. O(1).
  public func rowCount(inSection section: Int) -> Int? {
    layout.section(at: section)?.count
  }

  /// The section of a group, or of the name they are consolidated under; nil if it is no section. O(1).
  public func section(of group: GroupName) -> Int? {
    if group == layout.consolidated { return 0 }
    return layout.state(of: group)?.section
  }

  /// The group of a section, or the name they are consolidated under; nil if there is no such section.
  public func group(ofSection section: Int) -> GroupName? {
    layout.section(at: section)?.group
  }

  /// The group that the row at a path stands in, consolidated or not; nil if there is no such row.
  /// O(log groups).
  public func group(at path: RowPath) -> GroupName? {
    layout.group(at: path)
  }

  /// Where the window of a mapped group stands in the group; nil if the group is not mapped. O(1).
  public func rangePosition(of group: GroupName) -> RangePosition? {
    guard let state = layout.state(of: group), state.position != nil else { return nil }
    return state.rangePosition
  }

  /// The row at a path; nil if there is none. O(log n).
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func row(at path: RowPath) throws(TreeRingError) -> RowID? {
    guard let groups, let place = layout.place(at: path) else { return nil }
    var rank = place.rank
    if let later, let delta = later.places.delta(of: place.slot) {
      let index = delta.alignment.removed.firstIndex(atLeast: rank)
      if index < delta.left.count, delta.alignment.removed[index] == rank {
        return try groups.id(of: later.places.moved[delta.left[index]].row)
      }
      rank = delta.alignment.newPosition(ofKept: rank - index)
    }
    return try groups.id(of: try groups.group(layout.table.names[place.slot]).row(at: rank))
  }

  /// Where a row is shown: by ascending path, once for each of its groups that show it.
  /// O(log n) for each of its groups.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func paths(of row: RowID) throws(TreeRingError) -> [RowPath] {
    var paths: [RowPath] = []
    try forEachPosition(of: row) { slot, rank in
      if let path = layout.path(slot: slot, rank: rank) { paths.append(path) }
    }
    return paths.sorted()
  }

  /// Where a row is shown; the first path if several groups show it, nil if none does. O(log n).
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func path(of row: RowID) throws(TreeRingError) -> RowPath? {
    var first: RowPath?
    try forEachPosition(of: row) { slot, rank in
      guard let path = layout.path(slot: slot, rank: rank) else { return }
      first = first.map { min($0, path) } ?? path
    }
    return first
  }

  /// The path of a row, or the nearest one if it is hidden: inside its group if that shows rows, else
  /// the end of the nearest earlier group that does, else the start of the nearest later one. Nil if
  /// the row is in no mapped group, or nothing is shown. O(log n).
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func nearestPath(to row: RowID) throws(TreeRingError) -> RowPath? {
    var shown: RowPath?
    var nearest: (position: Int, path: RowPath)?
    try forEachPosition(of: row) { slot, rank in
      if let path = layout.path(slot: slot, rank: rank) {
        shown = shown.map { min($0, path) } ?? path
      } else if let position = layout.groups[slot].position,
        nearest.map({ position < $0.position }) ?? true
      {
        nearest = layout.nearestPath(slot: slot, rank: rank).map { (position, $0) }
      }
    }
    return shown ?? nearest?.path
  }

  /// Every path there is, in order.
  var allPaths: [RowPath] {
    outline.enumerated().flatMap { section, part in
      (0..<part.count).map { RowPath(section: section, row: $0) }
    }
  }

  /// Calls `body` with the slots of the groups listed that a row stands in, and its rank in each.
  private func forEachPosition(
    of row: RowID, _ body: (_ slot: Int, _ rank: Int) -> Void
  ) throws(TreeRingError) {
    guard let groups, let reference = groups.reference(of: row) else { return }
    func found(_ group: GroupName, _ rank: Int, _ oldRank: (GroupDelta) -> Int) {
      guard let slot = layout.table.slot(of: group), layout.groups[slot].position != nil
      else { return }
      body(slot, later?.places.delta(of: slot).map(oldRank) ?? rank)
    }
    guard let later, let touched = later.touched.rows[reference] else {
      return try groups.forEachRank(of: reference) { group, rank in
        found(group, rank) { $0.alignment.oldPosition(ofKept: $0.alignment.keptBefore(new: rank)) }
      }
    }
    for place in touched.oldPlaces {
      let rank = try groups.group(place.group).rank(of: place.order)
      found(place.group, rank) { delta in
        later.places.oldRank(of: reference, at: rank, in: delta) { other in
          let left = later.touched.rows[other]?.oldPlaces.first { $0.group == place.group }
          return left?.order.lexicographicallyPrecedes(place.order) ?? false
        }
      }
    }
  }
}
