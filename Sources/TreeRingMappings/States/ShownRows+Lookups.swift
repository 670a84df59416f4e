// Lookups both ways between sections and groups, paths and rows. Out of range returns nil; nothing
// traps.

public import TreeRing
public import TreeRingLog

extension ShownRows {
  /// The names of the sections, in order; a consolidated section has the name of its rule.
  public var visibleGroups: [GroupName] { outline.map(\.group) }
  /// The number of rows shown in total.
  public var rowCount: Int { layout.rowCount }
  /// Whether no row is shown; sections may still exist.
  public var isEmpty: Bool { layout.rowCount == 0 }
  /// Whether one section shows all groups.
  public var isConsolidated: Bool { layout.consolidated != nil }

  /// The number of rows in a section; nil if there is no such section. O(1).
  public func rowCount(inSection section: Int) -> Int? {
    layout.section(at: section)?.count
  }

  /// The section of a group or of the consolidated name; nil if there is none. O(1).
  public func section(of group: some KeyConvertible) -> Int? {
    let group = GroupName(group)
    if group == layout.consolidated { return 0 }
    return layout.state(of: group)?.section
  }

  /// The group of a section, or the consolidated name; nil if there is no such section.
  public func group(ofSection section: Int) -> GroupName? {
    layout.section(at: section)?.group
  }

  /// The group of the row at a path, consolidated or not; nil if there is no such row. O(log
  /// groups).
  public func group(at path: RowPath) -> GroupName? {
    layout.group(at: path)
  }

  /// The position of a mapped group's window in the group; nil if the group is not mapped. O(1).
  public func rangePosition(of group: some KeyConvertible) -> RangePosition? {
    guard let state = layout.state(of: GroupName(group)), state.position != nil else { return nil }
    return state.rangePosition
  }

  /// The row at a path; nil if there is none. O(log n).
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func row(at path: RowPath) throws(TreeRingError) -> RowID? {
    guard let groups, var row = layout.row(at: path) else { return nil }
    if let places = later?.places {
      let delta = places.delta(of: row.slot)
      switch delta.alignment.oldElement(at: row.rank) {
      case .unmatched(let index): return try groups.id(of: places.moved[delta.left[index]].row)
      case .kept(let kept): row.rank = delta.alignment.newPosition(ofKept: kept)
      }
    }
    return try groups.id(of: try groups.group(layout.table.names[row.slot]).row(at: row.rank))
  }

  /// The paths of a row, ascending: one for each of its groups that shows it. O(log n) for each of
  /// its groups.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func paths(of row: RowID) throws(TreeRingError) -> [RowPath] {
    var paths: [RowPath] = []
    try forEachPosition(of: row) { slot, rank in
      if let path = layout.path(slot: slot, rank: rank) { paths.append(path) }
    }
    return paths.sorted()
  }

  /// The path of a row; the first if several groups show it, nil if none does. O(log n).
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

  /// The path of a row, or the nearest one if it is hidden. The nearest path lies in the row's
  /// group if that group shows rows. Else it is the end of the nearest earlier group that does,
  /// else the start of the nearest later one. Nil if the row is in no mapped group, or nothing is
  /// shown. O(log n).
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

  /// All paths, in order.
  var allPaths: [RowPath] {
    outline.enumerated().flatMap { section, part in
      (0..<part.count).map { RowPath(section: section, row: $0) }
    }
  }

  /// Calls `body` with the slot of each listed group that holds the row, and its rank there.
  private func forEachPosition(
    of row: RowID, _ body: (_ slot: Int, _ rank: Int) -> Void
  ) throws(TreeRingError) {
    guard let groups, let reference = groups.reference(of: row) else { return }
    func found(_ group: GroupName, _ rank: Int, _ oldRank: (GroupDelta) -> Int) {
      guard let slot = layout.table.slot(of: group), layout.groups[slot].position != nil
      else { return }
      body(slot, (later?.places.delta(of: slot)).map(oldRank) ?? rank)
    }
    guard let later, let affected = later.affected.rows[reference] else {
      return try groups.forEachRank(of: reference) { group, rank in
        found(group, rank) { $0.alignment.oldPosition(ofKept: $0.alignment.keptBefore(new: rank)) }
      }
    }
    for place in affected.oldPlaces {
      if let slot = layout.table.slot(of: place.group),
        let rank = later.places.labeledRank(of: reference, slot: slot)
      {
        found(place.group, rank) { _ in rank }
        continue
      }
      let rank = try groups.group(place.group).rank(of: place.order)
      found(place.group, rank) { delta in
        later.places.oldRank(of: reference, at: rank, in: delta) { other in
          let left = later.affected.rows[other]?.oldPlaces.first { $0.group == place.group }
          return left?.order.lexicographicallyPrecedes(place.order) ?? false
        }
      }
    }
  }
}
