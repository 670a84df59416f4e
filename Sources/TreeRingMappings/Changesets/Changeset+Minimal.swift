// The minimal changeset between two layouts, computed from the affected rows alone.
//
//   1. Sections: deletes and inserts are forced. The moves are the common sections outside the
//      longest run that keeps its order.
//   2. An affected row shown in surviving sections on both sides is a move if the sections differ,
//      else a candidate. Shown on one side only, it is a delete or an insert.
//   3. Unaffected rows keep their order. Those that slide over an edge of a range form at most two
//      intervals a side, found by arithmetic.
//   4. In each section, a `SectionPlan` lays out in both orders the rows that may stay. The
//      heaviest increasing subsequence stays.
//   5. Rows drawn with a changed neighbour are updates too; see Changeset+Neighbors.
// O(k log n + k log k + operations), and O(groups) if sections change or the mappings are edited.
// No step builds a list as long as a group.

internal import TreeRing
internal import TreeRingLog

/// Computes one changeset. Single use.
struct MinimalChangeset<Groups: OrderedGroups> {
  let old: Layout
  let new: Layout
  let places: AffectedPlaces
  var groups: GroupCache<Groups>
  let limit: Int
  /// The groups whose rows or windows may have changed, by ascending slot: the affected ones, or
  /// all if mappings or ranges were edited.
  let slotsChanged: [Int]
  var result: Changeset
  /// The operations found so far, counted before their rows are looked up.
  var count = 0
  private var chain = HeaviestChain()
  /// A buffer for the numbers of affected rows in a section's plan.
  private var numbers: [Int] = []
  /// By slot, the rows changed in place, as ascending positions among the unaffected ones.
  private var changedInPlace: [Int: [Int]] = [:]

  /// - Parameters:
  ///   - old, new: The two states, over one table of groups.
  ///   - places: The affected rows between them.
  ///   - groups: The index at the new state.
  ///   - limit: The maximum number of operations to list.
  ///   - isEdited: Whether mappings or ranges were changed manually in between.
  init(
    from old: Layout, to new: Layout, places: AffectedPlaces, groups: GroupCache<Groups>,
    limit: Int, isEdited: Bool
  ) {
    self.old = old
    self.new = new
    self.places = places
    self.groups = groups
    self.limit = limit
    slotsChanged = isEdited ? Array(new.groups.indices) : places.affectedSlots
    result = Changeset(before: old.outline, after: new.outline)
  }

  /// The changeset; nil if it has more operations than the limit.
  mutating func build() throws(TreeRingError) -> Changeset? {
    changeSections()
    try listAffectedRows()
    try listUpdates()
    for slot in slotsChanged where survives(old: slot) || survives(new: slot) {
      guard try listSlides(places.delta(of: slot)) else { return nil }
    }
    guard try listMoves(), try listNeighbors() else { return nil }
    guard result.count <= limit else { return nil }
    result.rows.sort()
    return result
  }

  // MARK: Sections

  /// Whether both sides show all groups as one and the same section.
  var isConsolidated: Bool { old.consolidated != nil && old.consolidated == new.consolidated }

  /// Whether a group's section survives, seen from the old side and from the new one.
  func survives(old slot: Int) -> Bool {
    old.groups[slot].section != nil
      && (isConsolidated || (isPlain && new.groups[slot].section != nil))
  }
  func survives(new slot: Int) -> Bool {
    new.groups[slot].section != nil
      && (isConsolidated || (isPlain && old.groups[slot].section != nil))
  }

  /// Whether each group has its own section on both sides.
  private var isPlain: Bool { old.consolidated == nil && new.consolidated == nil }

  /// Whether a group's display order is reversed by this change.
  func turns(_ slot: Int) -> Bool {
    old.groups[slot].isReversed != new.groups[slot].isReversed
  }

  private mutating func changeSections() {
    if !isPlain {
      if isConsolidated { return }
      result.sections.deletes = Array(0..<old.sectionCount)
      result.sections.inserts = Array(0..<new.sectionCount)
      count += result.sections.count
      return
    }
    if old.slots == new.slots { return }
    var common: [Int] = []
    for (section, slot) in new.slots.enumerated() {
      if let before = old.groups[slot].section {
        common.append(before)
      } else {
        result.sections.inserts.append(section)
      }
    }
    for (section, slot) in old.slots.enumerated() where new.groups[slot].section == nil {
      result.sections.deletes.append(section)
    }
    if zip(common, common.dropFirst()).contains(where: { $0 > $1 }) {
      let ascending = common.sorted()
      let kept = chain.kept(
        positions: common.map { ascending.firstIndex(atLeast: $0) },
        weights: common.map { _ in ChainWeight(1) })
      for (index, before) in common.enumerated() where !kept[index] {
        guard let after = new.groups[old.slots[before]].section else { continue }
        result.sections.moves.append(SectionMove(from: before, to: after))
      }
    }
    count += result.sections.count
  }

  // MARK: Affected rows

  /// The old and the new path of an affected row; nil where its section does not survive.
  func ends(of affected: AffectedPlace) -> (from: RowPath?, to: RowPath?) {
    let from = affected.old.flatMap { survives(old: $0.slot) ? old.path($0) : nil }
    let to = affected.new.flatMap { survives(new: $0.slot) ? new.path($0) : nil }
    return (from, to)
  }

  /// Lists affected rows by rank, so the final sort by path finds them nearly sorted.
  private mutating func listAffectedRows() throws(TreeRingError) {
    for delta in places.deltas {
      for index in delta.left {
        guard case (let from?, nil) = ends(of: places.moved[index]) else { continue }
        let row = try groups.groups.id(of: places.moved[index].row)
        result.rows.deletes.append(ListedRow(row: row, path: from))
      }
      for index in delta.taken {
        let affected = places.moved[index]
        let (from, to) = ends(of: affected)
        guard let to else { continue }
        let row = try groups.groups.id(of: affected.row)
        if let from {
          listMovedRow(row, affected, from: from, to: to)
        } else {
          result.rows.inserts.append(ListedRow(row: row, path: to))
        }
      }
    }
  }

  /// Lists the operations of a row that changed its place, except a move within its section.
  private mutating func listMovedRow(
    _ row: RowID, _ affected: AffectedPlace, from: RowPath, to: RowPath
  ) {
    if !affected.isInOneGroup, !isConsolidated {
      result.rows.moves.append(RowMove(row: row, from: from, to: to))
    }
    if !affected.parts.isEmpty {
      result.rows.updates.append(RowUpdate(row: row, from: from, to: to, parts: affected.parts))
    }
  }

  private mutating func listUpdates() throws(TreeRingError) {
    for updated in places.updated where survives(old: updated.new.slot) {
      guard let from = old.path(updated.old), let to = new.path(updated.new) else { continue }
      let row = try groups.groups.id(of: updated.row)
      result.rows.updates.append(RowUpdate(row: row, from: from, to: to, parts: updated.parts))
    }
    count += result.rows.count
  }

  // MARK: Unaffected rows

  /// Lists unaffected rows that slid out of or into the range; false if over the limit.
  private mutating func listSlides(_ delta: GroupDelta) throws(TreeRingError) -> Bool {
    let slot = delta.slot
    let before = survives(old: slot) ? delta.alignment.kept(inOld: old.groups[slot].shown) : 0..<0
    let after = survives(new: slot) ? delta.alignment.kept(inNew: new.groups[slot].shown) : 0..<0
    let leaving = before.subtracting(after)
    let entering = after.subtracting(before)
    count += (leaving + entering).reduce(0) { $0 + $1.count }
    guard count <= limit else { return false }
    for kept in leaving.joined() {
      let rank = delta.alignment.newPosition(ofKept: kept)
      let row = try groups.id(at: rank, slot: slot)
      if let path = old.path(slot: slot, rank: delta.alignment.oldPosition(ofKept: kept)) {
        result.rows.deletes.append(ListedRow(row: row, path: path))
      }
    }
    for kept in entering.joined() {
      let rank = delta.alignment.newPosition(ofKept: kept)
      let row = try groups.id(at: rank, slot: slot)
      if let path = new.path(slot: slot, rank: rank) {
        result.rows.inserts.append(ListedRow(row: row, path: path))
      }
    }
    return true
  }

  /// Lists the moves within sections; false if over the limit.
  private mutating func listMoves() throws(TreeRingError) -> Bool {
    for updated in places.updated {
      let kept = places.delta(of: updated.new.slot).alignment.keptBefore(new: updated.new.rank)
      changedInPlace[updated.new.slot, default: []].append(kept)
    }
    for slot in changedInPlace.keys { changedInPlace[slot]?.sort() }
    if isConsolidated {
      let isReordered = old.slots != new.slots
      return try listMoves(from: old.slots[...], to: new.slots[...], isReordered: isReordered)
    }
    for slot in slotsChanged
    where survives(old: slot) && survives(new: slot) && (places.hasDelta(of: slot) || turns(slot)) {
      guard try listMoves(from: [slot], to: [slot], isReordered: false) else { return false }
    }
    return true
  }

  /// Lists the moves within a section that shows these groups; false if over the limit.
  private mutating func listMoves(
    from oldSlots: ArraySlice<Int>, to newSlots: ArraySlice<Int>, isReordered: Bool
  ) throws(TreeRingError) -> Bool {
    var plan = SectionPlan()
    var needed = isReordered
    for slot in newSlots {
      let part = part(slot)
      if part.isTurned {
        // Of any two unaffected rows one must move, so at most one of all stays.
        guard count + max(0, part.common.count - 1) <= limit else { return false }
      }
      needed = needed || part.isTurned || !part.old.isEmpty || !part.new.isEmpty
      plan.add(part)
    }
    for slot in oldSlots where !plan.has(slot) { plan.add(part(slot)) }
    if !needed { return true }
    if numbers.isEmpty { numbers = [Int](repeating: -1, count: places.moved.count) }
    let moves = plan.moves(from: oldSlots, to: newSlots, by: &chain, numbers: &numbers)
    for element in moves { count += element.rowCount }
    guard count <= limit else { return false }
    for element in moves {
      switch element {
      case .affected(let index):
        let affected = places.moved[index]
        let (from, to) = ends(of: affected)
        if let from, let to {
          let row = try groups.groups.id(of: affected.row)
          result.rows.moves.append(RowMove(row: row, from: from, to: to))
        }
      case .block(let slot, let block):
        try moveBlock(block, of: places.delta(of: slot))
      }
    }
    return true
  }

  private mutating func moveBlock(
    _ block: Range<Int>, of delta: GroupDelta
  ) throws(TreeRingError) {
    for position in block {
      let rank = delta.alignment.newPosition(ofKept: position)
      let oldRank = delta.alignment.oldPosition(ofKept: position)
      guard let from = old.path(slot: delta.slot, rank: oldRank),
        let to = new.path(slot: delta.slot, rank: rank)
      else { continue }
      let row = try groups.id(at: rank, slot: delta.slot)
      result.rows.moves.append(RowMove(row: row, from: from, to: to))
    }
  }

  /// The part of a group that may stay in its section.
  private func part(_ slot: Int) -> SectionPlan.Part {
    let delta = places.delta(of: slot)
    let before = survives(old: slot) ? old.groups[slot].shown : 0..<0
    let after = survives(new: slot) ? new.groups[slot].shown : 0..<0
    func isCandidate(_ affected: AffectedPlace) -> Bool {
      guard case (.some, .some) = ends(of: affected) else { return false }
      return isConsolidated || affected.isInOneGroup
    }
    let common = delta.alignment.kept(inOld: before)
      .clamped(to: delta.alignment.kept(inNew: after))
    var part = SectionPlan.Part(slot: slot, common: common)
    part.isReversedBefore = old.groups[slot].isReversed
    part.isReversedAfter = new.groups[slot].isReversed
    part.changed = changedInPlace[slot] ?? []
    for (index, affected) in delta.left.enumerated() where isCandidate(places.moved[affected]) {
      part.old.append(part.candidate(affected, after: delta.alignment.removed[index] - index))
    }
    for (index, affected) in delta.taken.enumerated() where isCandidate(places.moved[affected]) {
      part.new.append(part.candidate(affected, after: delta.alignment.added[index] - index))
    }
    return part
  }
}
