// The cursor makes changes. It knows the rows displayed only by row counts and windows.
//
// Advancing to another commit and other mappings in one call means the same as advancing first and
// changing the mappings then. Windows are carried over the affected rows under the old settings,
// and manual changes apply to the result. The outcome is still one minimal change.

internal import TreeRing
internal import TreeRingLog

/// The displayed state of a list, and the way to its next one. A value: it reads nothing by itself
/// and pins nothing.
struct MappingCursor: Sendable {
  /// The mappings in force.
  private(set) var mappings: Mappings
  /// The commit shown; 0 before the first state.
  private(set) var commit: CommitNumber = 0
  private var layout = Layout.empty

  /// A cursor that shows nothing yet.
  init(_ mappings: Mappings) { self.mappings = mappings }

  /// The positions of the flexible windows.
  var windows: [MappingPosition.WindowPosition] { layout.windows }

  /// The affected rows that may change what is shown, or a window: those of the followed groups,
  /// or all if a filter chooses the groups. O(rows returned), and the smaller of the numbers of
  /// followed and affected groups.
  func own(_ merged: ChangeRound.Merged) -> AffectedRows {
    if mappings.choice != nil { return merged.rows }
    var own = merged.rows
    own.rows = [:]
    func add(_ rows: [RowReference]?) {
      for row in rows ?? [] { own.rows[row] = merged.rows.rows[row] }
    }
    if merged.byGroup.count < layout.table.names.count {
      for (group, rows) in merged.byGroup where layout.table.slot(of: group) != nil { add(rows) }
    } else {
      for group in layout.table.names { add(merged.byGroup[group]) }
    }
    return own
  }

  /// Shows a later or earlier commit that shows the same rows.
  mutating func pass(to commit: CommitNumber) { self.commit = commit }

  /// Shows a state from scratch; windows continue, clipped to their groups. O(groups · log n).
  mutating func reset<Groups: OrderedGroups>(
    to groups: Groups, at commit: CommitNumber, mappings target: Mappings? = nil,
    edits: [RangeChange] = [], because reason: ResetReason = .firstState
  ) throws(TreeRingError) -> Change {
    try show(
      groups, at: commit, mappings: target, edits: edits, following: layout,
      carrying: layout.followedGroups)
    let after = ShownRows(commit: commit, layout: layout, groups: groups, later: nil)
    return Change(resetTo: after, because: reason)
  }

  /// Shows a state from scratch, with saved windows, clipped to their groups.
  mutating func resume<Groups: OrderedGroups>(
    at groups: Groups, _ commit: CommitNumber, windows: [MappingPosition.WindowPosition]
  ) throws(TreeRingError) {
    // A group without rows at the moment may have left a window, too.
    try show(
      groups, at: commit, mappings: nil, edits: [], following: .empty,
      carrying: windows.map(\.group))
    layout = layout.placing(windows)
  }

  private mutating func show<Groups: OrderedGroups>(
    _ groups: Groups, at commit: CommitNumber, mappings target: Mappings?,
    edits: [RangeChange], following known: Layout, carrying windowed: [GroupName]
  ) throws(TreeRingError) {
    let target = try (target ?? mappings).edited(by: edits)
    let isSameIndex = target.index.isSameName(as: mappings.index)
    let known = isSameIndex ? known : .empty
    let table = GroupTable(try Self.followed(by: target, in: groups))
      .adding(isSameIndex ? windowed : [])
    var cache = GroupCache(groups, table: table)
    var next = try Layout(target, table: table, following: known, in: &cache)
    if !edits.isEmpty { next = next.editing(edits) }
    mappings = target
    self.commit = commit
    layout = next
  }

  /// Shows another state. O(k log n) for k affected rows; O(groups) more if a section comes, goes
  /// or moves, and while all groups are one section; O(groups · log n) after a change of mappings.
  ///
  /// - Parameters:
  ///   - groups: The index at the commit to show.
  ///   - affected: The affected rows between the commit shown and that one, in either direction.
  ///   - mappings: Other mappings of the same index; nil if they did not change.
  ///   - edits: Manual range changes.
  ///   - isDefinedAnew: Whether the index's definition was replaced in between. Windows then keep
  ///     their offset and length as far as the group reaches, not their rows.
  ///   - hasSumsAnew: Whether one of two definitions has sums.
  ///   - limit: The maximum number of operations to list; a larger change is a reset.
  mutating func advance<Groups: OrderedGroups>(
    to groups: Groups, by affected: AffectedRows, mappings edited: Mappings? = nil,
    edits: [RangeChange] = [], isDefinedAnew: Bool = false, hasSumsAnew: Bool = false,
    limit: Int = 500
  ) throws(TreeRingError) -> Change {
    precondition(affected.from == commit, "the changes must start from the commit shown")
    let target = try (edited ?? mappings).edited(by: edits)
    let isEdit = target != mappings || !edits.isEmpty
    var old = layout
    if mappings.choice != nil { old = old.following(affected.groupNames) }
    if isEdit {
      old = old.numbered(
        by: GroupTable(try Self.followed(by: target, in: groups)).adding(old.followedGroups))
    }
    var cache = GroupCache(groups, table: old.table)
    let places = try AffectedPlaces(affected, table: old.table, in: &cache)
    guard try Self.agree(old, places, in: &cache) else {
      return try reset(
        to: groups, at: affected.to, mappings: edited, edits: edits, because: .definedAnew)
    }
    let keepsList = target.choice == mappings.choice
    var new = try old.advanced(
      by: places, list: keepsList, carries: !isDefinedAnew, in: &cache)
    if isEdit { new = try new.edited(to: target, in: &cache).editing(edits) }
    var builder = MinimalChangeset(
      from: old, to: new, places: places, groups: cache, limit: limit, isEdited: isEdit)
    let changeset = try builder.build()
    let change = Change(
      before: ShownRows(
        commit: commit, layout: old, groups: groups,
        later: .init(
          affected: affected, places: places, slotsChanged: builder.slotsChanged,
          hasSumsAnew: hasSumsAnew)),
      after: ShownRows(commit: affected.to, layout: new, groups: groups, later: nil),
      changeset: changeset)
    mappings = target
    commit = affected.to
    layout = new
    return change
  }

  /// The groups that mappings list or whose windows they carry. O(groups · log n) if a filter
  /// chooses them.
  private static func followed(
    by mappings: Mappings, in groups: some OrderedGroups
  ) throws(TreeRingError) -> [GroupName] {
    var listed = mappings.groups ?? []
    if mappings.choice != nil { listed = try groups.groupNames() }
    return GroupTable(listed).adding(mappings.carriedGroups).names
  }

  /// Whether the affected rows account for the groups' present row counts. They always do, unless
  /// another definition of the index showed the list; then it must be read again.
  private static func agree<Groups>(
    _ old: Layout, _ places: AffectedPlaces, in groups: inout GroupCache<Groups>
  ) throws(TreeRingError) -> Bool {
    for delta in places.deltas where old.groups[delta.slot].isTracked {
      let count = old.groups[delta.slot].count + delta.growth
      guard try groups.count(delta.slot) == count else { return false }
    }
    return true
  }
}

extension AffectedRows {
  /// The groups of all affected rows, before and after, in name order.
  fileprivate var groupNames: [GroupName] { byGroup.keys.sorted() }

  /// The affected rows of each group, before or after. A row may be listed twice.
  var byGroup: [GroupName: [RowReference]] {
    var groups: [GroupName: [RowReference]] = [:]
    for (row, change) in rows {
      for place in change.oldPlaces { groups[place.group, default: []].append(row) }
      for place in change.newPlaces { groups[place.group, default: []].append(row) }
    }
    return groups
  }
}
