// A change: the state before, the state after, and how to get from one to the other; and the cursor
// that makes changes, which knows what is displayed and nothing else.

package import TreeRing
package import TreeRingLog

/// What happened to the sections and rows shown, between two commits or two mappings.
public struct Change: Sendable {
  /// What was shown.
  public let before: ShownRows
  /// What is shown now.
  public let after: ShownRows
  /// The operations that lead from one to the other; none in a reset.
  public let changeset: Changeset
  /// Whether the list is to be read anew from ``after``: for the first state, and when the operations
  /// are too many to be worth listing.
  public let isReset: Bool

  /// What happens to sections.
  public var sections: SectionChanges { changeset.sections }
  /// What happens to rows of surviving sections.
  public var rows: RowChanges { changeset.rows }
  /// Whether there is nothing to do.
  public var isEmpty: Bool { !isReset && changeset.isEmpty }
}

/// What a list shows, and the way to what it shows next. A value: it reads nothing by itself and pins
/// nothing.
package struct MappingCursor: Sendable {
  /// How groups are shown.
  package private(set) var mappings: Mappings
  /// The commit shown; 0 before anything was shown.
  package private(set) var commit: CommitNumber = 0
  private var layout = Layout.empty

  /// Nothing is shown yet.
  package init(_ mappings: Mappings) { self.mappings = mappings }

  /// Shows the state before these changes without reading it: its row counts are those of the newest
  /// state less the places taken, plus the places left.
  package init(
    _ mappings: Mappings, before touched: TouchedRows, in groups: some OrderedGroups
  ) throws(TreeRingError) {
    self.init(mappings)
    let table = GroupTable(mappings.groups)
    var cache = GroupCache(groups, table: table)
    let places = try TouchedPlaces(touched, table: table, in: &cache)
    var counts = try Self.counts(table, in: &cache)
    for delta in places.deltas { counts[delta.slot] -= delta.growth }
    layout = Layout(mappings, table: table, counts: counts)
    commit = touched.from
  }

  /// Shows a state from scratch. O(groups mapped · log n).
  package mutating func reset<Groups: OrderedGroups>(
    to groups: Groups, at commit: CommitNumber, mappings: Mappings? = nil
  ) throws(TreeRingError) -> Change {
    let mappings = mappings ?? self.mappings
    let table = GroupTable(mappings.groups)
    var cache = GroupCache(groups, table: table)
    let counts = try Self.counts(table, in: &cache)
    self.mappings = mappings
    self.commit = commit
    layout = Layout(mappings, table: table, counts: counts)
    let after = ShownRows(commit: commit, layout: layout, groups: groups)
    return Change(
      before: .nothing, after: after, changeset: Changeset(before: [], after: after.sections),
      isReset: true)
  }

  /// Shows another state. O(k log n) for k rows touched; after a change of mappings also
  /// O(groups mapped).
  ///
  /// - Parameters:
  ///   - groups: The index at the commit to show.
  ///   - touched: The rows touched between the commit shown and that one, in either direction.
  ///   - mappings: Other mappings of the same index; nil if they did not change.
  ///   - limit: The most operations worth listing; beyond it the change is a reset.
  package mutating func advance<Groups: OrderedGroups>(
    to groups: Groups, by touched: TouchedRows, mappings edited: Mappings? = nil, limit: Int = 500,
    flaw: Flaw = .none
  ) throws(TreeRingError) -> Change {
    precondition(touched.from == commit, "the changes must start from the commit shown")
    let target = edited ?? mappings
    let isEdit = target != mappings
    let old =
      isEdit
      ? layout.numbered(by: GroupTable(target.groups).adding(layout.mappedGroups)) : layout
    var cache = GroupCache(groups, table: old.table)
    let places = try TouchedPlaces(touched, table: old.table, in: &cache, flaw: flaw)
    guard try Self.agree(old, places, in: &cache) else {
      return try reset(to: groups, at: touched.to, mappings: target)
    }
    let new =
      isEdit
      ? try edit(to: target, over: old, places, in: &cache) : old.applying(places.deltas)
    var builder = MinimalChangeset(
      from: old, to: new, places: places, groups: cache, limit: limit, flaw: flaw)
    let changeset = try builder.build()
    let before = ShownRows(
      commit: commit, layout: old, groups: groups, later: .init(touched: touched, places: places))
    let after = ShownRows(commit: touched.to, layout: new, groups: groups)
    mappings = target
    commit = touched.to
    layout = new
    return Change(
      before: before, after: after,
      changeset: changeset ?? Changeset(before: before.sections, after: after.sections),
      isReset: changeset == nil)
  }

  /// Whether the rows touched account for how many rows the groups shown have now. They always do,
  /// unless the list was shown by another definition of the index; then it has to be read anew.
  private static func agree<Groups>(
    _ old: Layout, _ places: TouchedPlaces, in groups: inout GroupCache<Groups>
  ) throws(TreeRingError) -> Bool {
    for delta in places.deltas where old.groups[delta.slot].isMapped {
      let count = old.groups[delta.slot].count + delta.growth
      guard try groups.count(delta.slot) == count else { return false }
    }
    return true
  }

  /// The layout under other mappings: a group that was mapped has the rows it had and those it
  /// gained; of others the count is asked.
  private func edit<Groups>(
    to target: Mappings, over old: Layout, _ places: TouchedPlaces,
    in groups: inout GroupCache<Groups>
  ) throws(TreeRingError) -> Layout {
    var counts = old.groups.map(\.count)
    for delta in places.deltas { counts[delta.slot] += delta.growth }
    for (slot, name) in old.table.names.enumerated() where layout.table.slot(of: name) == nil {
      counts[slot] = try groups.count(slot)
    }
    return Layout(target, table: old.table, counts: counts)
  }

  private static func counts<Groups>(
    _ table: GroupTable, in groups: inout GroupCache<Groups>
  ) throws(TreeRingError) -> [Int] {
    var counts: [Int] = []
    counts.reserveCapacity(table.names.count)
    for slot in table.names.indices { counts.append(try groups.count(slot)) }
    return counts
  }
}
