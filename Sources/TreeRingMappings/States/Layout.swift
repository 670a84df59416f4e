// The layout of one state: its sections, the groups listed and the ranges shown.
//
// A layout holds the listed groups and unlisted ones whose windows are carried. A section shows one
// group. In a consolidated layout, one section shows all listed groups, one behind the other.

internal import TreeRing
internal import TreeRingLog

/// The sections of one state.
struct Layout: Sendable {
  let mappings: Mappings
  let table: GroupTable
  /// The groups by slot.
  private(set) var groups: SharedArray<GroupState>
  /// The slots of the listed groups, in order.
  private(set) var listed: [Int] = []
  /// The sort keys of the listed groups, if an order chooses them.
  private var orderKeys: [Int: [UInt8]] = [:]
  /// The slots shown, in display order: one a section, or all in one.
  private(set) var slots: [Int] = []
  /// The shown slots that show a row.
  private(set) var filled: [Int] = []
  /// The number of rows shown in total.
  private(set) var rowCount = 0
  /// The name of the one section that shows all groups; nil if each has its own.
  private(set) var consolidated: GroupName?

  /// The empty layout before the first state.
  static let empty = Layout(
    Mappings(of: "", groups: []), table: GroupTable([]), groups: [])

  private init(_ mappings: Mappings, table: GroupTable, groups: [GroupState]) {
    self.mappings = mappings
    self.table = table
    self.groups = SharedArray(groups)
  }

  /// A layout from scratch. O(groups · log n) if an order chooses them, else O(groups).
  ///
  /// - Parameters:
  ///   - table: The groups to follow; it includes all listed ones.
  ///   - known: The previous layout, whose windows continue where they may.
  init<Groups>(
    _ mappings: Mappings, table: GroupTable, following known: Layout = .empty,
    in cache: inout GroupCache<Groups>
  ) throws(TreeRingError) {
    var groups: [GroupState] = []
    groups.reserveCapacity(table.names.count)
    for (slot, name) in table.names.enumerated() {
      groups.append(
        GroupState(
          name, in: mappings, count: try cache.count(slot), following: known.state(of: name)))
    }
    self.init(mappings, table: table, groups: groups)
    try list(in: &cache)
  }

  /// The same sections, numbered by another table. Groups not in the table are dropped.
  func numbered(by other: GroupTable) -> Layout {
    var copy = Layout(
      mappings, table: other, groups: other.names.map { state(of: $0) ?? GroupState() })
    func renumber(_ slots: [Int]) -> [Int] { slots.compactMap { other.slot(of: table.names[$0]) } }
    copy.listed = renumber(listed)
    copy.slots = renumber(slots)
    copy.filled = renumber(filled)
    for (slot, key) in orderKeys {
      if let other = other.slot(of: table.names[slot]) { copy.orderKeys[other] = key }
    }
    copy.rowCount = rowCount
    copy.consolidated = consolidated
    return copy
  }

  /// The same layout, following further groups that had no rows. Groups without rows are dropped,
  /// unless they carry a window.
  func following(_ names: some Sequence<GroupName>) -> Layout {
    if table.adding(names) === table { return self }
    let known = groups.indices.filter { groups[$0].count > 0 || groups[$0].carriesWindow }
    let kept = known.count < groups.count ? GroupTable(known.map { table.names[$0] }) : table
    let larger = kept.adding(names)
    var copy = numbered(by: larger)
    for slot in kept.names.count..<larger.names.count {
      copy.groups[slot] = GroupState(larger.names[slot], in: mappings, count: 0)
    }
    return copy
  }

  // MARK: - Changes

  /// The layout after these changes. O(affected groups); O(groups) if a section comes, goes or
  /// moves, and while all groups are one section.
  ///
  /// - Parameters:
  ///   - list: Whether the list of groups follows too; false if it is about to be replaced.
  ///   - carries: Whether windows follow their rows; else they are clipped to their groups.
  func advanced<Groups>(
    by places: AffectedPlaces, list: Bool, carries: Bool, in cache: inout GroupCache<Groups>
  ) throws(TreeRingError) -> Layout {
    var copy = self
    var needsArranging = false
    for delta in places.deltas where copy.groups[delta.slot].isTracked {
      needsArranging =
        copy.change(delta.slot) { group in
          group.advance(by: delta.growth, staying: carries ? { places.staying(delta) } : nil)
        } || needsArranging
    }
    if list, let choice = mappings.choice {
      needsArranging =
        try copy.reselect(places.affectedSlots, by: choice, in: &cache) || needsArranging
    }
    if needsArranging { copy.arrange() }
    return copy
  }

  /// The layout under other mappings, after the changes. O(groups).
  func edited<Groups>(
    to target: Mappings, in cache: inout GroupCache<Groups>
  ) throws(TreeRingError) -> Layout {
    var states: [GroupState] = []
    states.reserveCapacity(groups.count)
    for (slot, name) in table.names.enumerated() {
      let count = groups[slot].isTracked ? groups[slot].count : try cache.count(slot)
      states.append(GroupState(name, in: target, count: count, following: groups[slot]))
    }
    var copy = Layout(target, table: table, groups: states)
    if target.groups == nil, target.choice == mappings.choice {
      copy.listed = listed
      copy.orderKeys = orderKeys
      copy.placeList()
    } else {
      try copy.list(in: &cache)
    }
    return copy
  }

  /// The layout after manual range changes, under mappings that already include them.
  func editing(_ changes: [RangeChange]) -> Layout {
    if changes.isEmpty { return self }
    var copy = self
    for change in changes {
      if let slot = table.slot(of: change.group) { _ = copy.change(slot) { $0.edit(change.edit) } }
    }
    copy.arrange()
    return copy
  }

  /// The layout with saved windows, restored where the range options are equal.
  func placing(_ windows: [MappingPosition.WindowPosition]) -> Layout {
    var copy = self
    for window in windows {
      if let slot = table.slot(of: window.group) { _ = copy.change(slot) { $0.place(window) } }
    }
    copy.arrange()
    return copy
  }

  /// Changes a group and returns whether the sections must be arranged again.
  private mutating func change(_ slot: Int, _ body: (inout GroupState) -> Void) -> Bool {
    let old = groups[slot]
    body(&groups[slot])
    guard old.position != nil else { return false }
    rowCount += groups[slot].shown.count - old.shown.count
    return groups[slot].isSection != old.isSection
      || groups[slot].shown.isEmpty != old.shown.isEmpty
      || consolidated != nil || consolidatedName != consolidated
  }

  // MARK: - The list of groups

  /// Lists the groups from scratch.
  private mutating func list<Groups>(
    in cache: inout GroupCache<Groups>
  ) throws(TreeRingError) {
    listed = (mappings.groups ?? []).compactMap { table.slot(of: $0) }
    if let choice = mappings.choice {
      for slot in groups.indices {
        if let key = try cache.orderKey(slot, by: choice) { orderKeys[slot] = key }
      }
      listed = orderKeys.keys.sorted { precedes($0, $1) }
    }
    placeList()
  }

  /// Evaluates filter and order for affected groups and returns whether the list changed.
  private mutating func reselect<Groups>(
    _ affected: [Int], by choice: GroupChoice, in cache: inout GroupCache<Groups>
  ) throws(TreeRingError) -> Bool {
    var changed: [Int: [UInt8]?] = [:]
    for slot in affected {
      let key = try cache.orderKey(slot, by: choice)
      if key != orderKeys[slot] { changed[slot] = .some(key) }
    }
    if changed.isEmpty { return false }
    listed.removeAll { changed[$0] != nil }
    for (slot, key) in changed {
      groups[slot].position = nil
      groups[slot].section = nil
      orderKeys[slot] = key
    }
    let comers = changed.keys.filter { orderKeys[$0] != nil }.sorted { precedes($0, $1) }
    var merged: [Int] = []
    merged.reserveCapacity(listed.count + comers.count)
    var next = comers.startIndex
    for slot in listed {
      while next < comers.endIndex, precedes(comers[next], slot) {
        merged.append(comers[next])
        next += 1
      }
      merged.append(slot)
    }
    listed = merged + comers[next...]
    for (position, slot) in listed.enumerated() { groups[slot].position = position }
    rowCount = listed.reduce(0) { $0 + groups[$1].shown.count }
    return true
  }

  /// The list order: sort key, then name.
  private func precedes(_ a: Int, _ b: Int) -> Bool {
    let (first, second) = (orderKeys[a] ?? [], orderKeys[b] ?? [])
    if first != second { return first.lexicographicallyPrecedes(second) }
    return table.names[a] < table.names[b]
  }

  /// Sets the positions of a new list's groups and arranges the sections.
  private mutating func placeList() {
    for (position, slot) in listed.enumerated() { groups[slot].position = position }
    rowCount = listed.reduce(0) { $0 + groups[$1].shown.count }
    arrange()
  }

  // MARK: - Sections

  /// The name of the consolidated section; nil if the groups are not to be consolidated.
  private var consolidatedName: GroupName? {
    guard let rule = mappings.consolidation, rowCount < rule.threshold else { return nil }
    if let slot = table.slot(of: rule.name), groups[slot].position != nil { return nil }
    return rule.name
  }

  /// Arranges the listed groups in sections. O(listed groups).
  private mutating func arrange() {
    for slot in slots { groups[slot].section = nil }
    slots.removeAll(keepingCapacity: true)
    filled.removeAll(keepingCapacity: true)
    consolidated = consolidatedName
    var row = 0
    for slot in listed where consolidated != nil || groups[slot].isSection {
      groups[slot].section = consolidated == nil ? slots.count : 0
      groups[slot].firstRow = consolidated == nil ? 0 : row
      row += groups[slot].shown.count
      slots.append(slot)
      if !groups[slot].shown.isEmpty { filled.append(slot) }
    }
  }

  /// The number of sections.
  var sectionCount: Int { consolidated == nil ? slots.count : 1 }

  /// The public description of the sections. O(1).
  var outline: Outline {
    if let consolidated {
      return Outline([Section(group: consolidated, count: rowCount, isConsolidated: true)])
    }
    return Outline(slots: slots, groups: groups, table: table)
  }

  /// A section; nil if there is no such section. O(1).
  func section(at section: Int) -> Section? {
    section >= 0 && section < sectionCount ? outline[section] : nil
  }

  // MARK: - Lookups

  /// The state of a group; nil if it is not followed.
  func state(of name: GroupName) -> GroupState? { table.slot(of: name).map { groups[$0] } }

  /// The positions of the flexible windows.
  var windows: [MappingPosition.WindowPosition] {
    zip(table.names, groups).compactMap { MappingPosition.WindowPosition(of: $0, $1) }
  }

  /// The listed groups and those whose windows are carried.
  var followedGroups: [GroupName] {
    groups.indices.filter { groups[$0].position != nil || groups[$0].carriesWindow }
      .map { table.names[$0] }
  }

  /// The path of the row with this rank; nil if it is not shown.
  func path(_ row: SlotRank?) -> RowPath? { row.flatMap { path(slot: $0.slot, rank: $0.rank) } }
  func path(slot: Int, rank: Int) -> RowPath? {
    let group = groups[slot]
    guard let section = group.section, group.shown.contains(rank) else { return nil }
    return RowPath(section: section, row: group.firstRow + group.displayed(rank))
  }

  /// The slot and the rank at a path; nil if there is none. O(log groups) if consolidated.
  func row(at path: RowPath) -> SlotRank? {
    guard path.section >= 0, path.section < sectionCount, path.row >= 0 else { return nil }
    let slot: Int
    if consolidated == nil {
      slot = slots[path.section]
    } else {
      let index = filled.partitioningIndex {
        groups[$0].firstRow + groups[$0].shown.count > path.row
      }
      guard index < filled.count else { return nil }
      slot = filled[index]
    }
    let row = path.row - groups[slot].firstRow
    guard row < groups[slot].shown.count else { return nil }
    return SlotRank(slot: slot, rank: groups[slot].rank(ofDisplayed: row))
  }

  /// The group of the row shown at a path; nil if there is none.
  func group(at path: RowPath) -> GroupName? { row(at: path).map { table.names[$0.slot] } }

  /// The path nearest to a hidden row of a listed group, by its rank; nil if nothing is shown.
  /// O(log groups).
  func nearestPath(slot: Int, rank: Int) -> RowPath? {
    let group = groups[slot]
    guard let position = group.position else { return nil }
    if !group.shown.isEmpty {
      let clamped = min(max(rank, group.shown.lowerBound), group.shown.upperBound - 1)
      return path(slot: slot, rank: clamped)
    }
    let next = filled.partitioningIndex { groups[$0].position ?? 0 > position }
    if next > 0 {
      let earlier = groups[filled[next - 1]]
      return path(slot: filled[next - 1], rank: earlier.rank(ofDisplayed: earlier.shown.count - 1))
    }
    guard next < filled.count else { return nil }
    return path(slot: filled[next], rank: groups[filled[next]].rank(ofDisplayed: 0))
  }
}
