// The minimal changeset between two layouts, from the touched rows alone.
//
//   1. Sections: deletes and inserts are forced; moves are the common sections less the longest run
//      of them that keeps its order.
//   2. A touched row shown in surviving sections on both sides is a move if the sections differ, and a
//      candidate if they are the same; shown on one side only, it is a delete or an insert.
//   3. Untouched rows keep their order, so those that slide over an edge of a range are at most two
//      intervals a side, found by arithmetic.
//   4. In each section, the untouched rows shown on both sides are cut into blocks wherever a candidate
//      stood or stands. A best set of rows to keep takes each block whole or not at all, so it is the
//      heaviest increasing subsequence over the candidates and at most 2k + 1 blocks. A row weighs
//      one; a candidate weighs a trifle less, so that among equals fewer bystanders move.
// O(k log n + k log k + operations); no list of a group's length is ever built.

internal import TreeRing
internal import TreeRingLog

/// Computes one changeset. Use it once.
struct MinimalChangeset<Groups: OrderedGroups> {
  private let old: Layout
  private let new: Layout
  private let places: TouchedPlaces
  private var groups: GroupCache<Groups>
  private let limit: Int
  private let flaw: Flaw
  private var result: Changeset
  /// Operations found so far, counted before any of their rows is looked up.
  private var count = 0
  private var chain = HeaviestChain()

  /// - Parameters:
  ///   - old, new: The two states, over one table of groups.
  ///   - places: The rows touched in between.
  ///   - groups: The index at the new state.
  ///   - limit: The most operations worth listing.
  init(
    from old: Layout, to new: Layout, places: TouchedPlaces, groups: GroupCache<Groups>,
    limit: Int,
    flaw: Flaw = .none
  ) {
    self.old = old
    self.new = new
    self.places = places
    self.groups = groups
    self.limit = limit
    self.flaw = flaw
    result = Changeset(before: old.sectionList, after: new.sectionList)
  }

  /// The changeset; nil if it has more operations than the limit.
  mutating func build() throws(TreeRingError) -> Changeset? {
    changeSections()
    try listTouchedRows()
    try listUpdates()
    for slot in new.sections {
      guard isLive(slot) else { continue }
      let delta = places.delta(of: slot) ?? GroupDelta(slot: slot)
      if delta.left.isEmpty, delta.taken.isEmpty,
        old.groups[slot].shown == new.groups[slot].shown, !turns(slot)
      {
        continue
      }
      guard try listSlides(delta), try listMoves(delta) else { return nil }
    }
    guard result.count <= limit else { return nil }
    result.rows.deletes.sort { $0.path < $1.path }
    result.rows.inserts.sort { $0.path < $1.path }
    result.rows.moves.sort { $0.to < $1.to }
    result.rows.updates.sort { $0.to < $1.to }
    return result
  }

  // MARK: Sections

  private func isLive(_ slot: Int) -> Bool {
    old.groups[slot].section != nil && new.groups[slot].section != nil
  }

  /// Whether a section's rows are shown the other way round from now on.
  private func turns(_ slot: Int) -> Bool {
    old.groups[slot].isReversed != new.groups[slot].isReversed
  }

  private mutating func changeSections() {
    var common: [Int] = []
    for (section, slot) in new.sections.enumerated() {
      if let before = old.groups[slot].section {
        common.append(before)
      } else {
        result.sections.inserts.append(section)
      }
    }
    for (section, slot) in old.sections.enumerated() where new.groups[slot].section == nil {
      result.sections.deletes.append(section)
    }
    if zip(common, common.dropFirst()).contains(where: { $0 > $1 }) {
      let ascending = common.sorted()
      let kept = chain.kept(
        positions: common.map { ascending.firstIndex(atLeast: $0) },
        weights: common.map { _ in 1 })
      for (index, before) in common.enumerated() where !kept[index] {
        guard let after = new.groups[old.sections[before]].section else { continue }
        result.sections.moves.append(SectionMove(from: before, to: after))
      }
    }
    count += result.sections.count
  }

  // MARK: Touched rows

  /// Where a touched row was and is shown, as far as its section survives.
  private func ends(of touched: TouchedPlace) -> (from: RowPath?, to: RowPath?) {
    var from: RowPath?
    var to: RowPath?
    let anySection = flaw == .deadSectionsListed
    if touched.oldSlot >= 0, anySection || isLive(touched.oldSlot) {
      from = old.path(slot: touched.oldSlot, rank: touched.oldRank)
    }
    if touched.newSlot >= 0, anySection || isLive(touched.newSlot) {
      to = new.path(slot: touched.newSlot, rank: touched.newRank)
    }
    return (from, to)
  }

  private mutating func listTouchedRows() throws(TreeRingError) {
    for touched in places.moved {
      let (from, to) = ends(of: touched)
      if from == nil, to == nil { continue }
      let row = try groups.groups.id(of: touched.row)
      if let from, let to {
        let crosses = touched.oldSlot != touched.newSlot
        if crosses, flaw == .crossingSplit {
          result.rows.deletes.append(ListedRow(row: row, path: from))
          result.rows.inserts.append(ListedRow(row: row, path: to))
        } else if crosses {
          result.rows.moves.append(RowMove(row: row, from: from, to: to))
        }
        if !touched.parts.isEmpty {
          result.rows.updates.append(
            RowUpdate(row: row, from: from, to: to, parts: touched.parts))
        }
      } else if let from {
        result.rows.deletes.append(ListedRow(row: row, path: from))
      } else if let to {
        result.rows.inserts.append(ListedRow(row: row, path: to))
      }
    }
  }

  private mutating func listUpdates() throws(TreeRingError) {
    for updated in places.updated where isLive(updated.slot) {
      guard let from = old.path(slot: updated.slot, rank: updated.oldRank),
        let to = new.path(slot: updated.slot, rank: updated.newRank)
      else { continue }
      let row = try groups.groups.id(of: updated.row)
      result.rows.updates.append(
        RowUpdate(row: row, from: from, to: to, parts: updated.parts))
    }
    count += result.rows.count
  }

  // MARK: Untouched rows

  /// Lists untouched rows that slid out of or into the range; false if that is over the limit.
  private mutating func listSlides(_ delta: GroupDelta) throws(TreeRingError) -> Bool {
    if flaw == .slidesForgotten { return true }
    let slot = delta.slot
    let before = delta.alignment.kept(inOld: old.groups[slot].shown)
    let after = delta.alignment.kept(inNew: new.groups[slot].shown)
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

  /// Lists the moves within a section; false if that is over the limit.
  private mutating func listMoves(_ delta: GroupDelta) throws(TreeRingError) -> Bool {
    let slot = delta.slot
    var plan = candidates(delta)
    if turns(slot) {
      // Of two untouched rows one has to move, so at most one of them all stays.
      guard plan.common.count - 1 <= limit - count else { return false }
      plan.cut(turned: true, flaw: flaw)
    } else if plan.old.isEmpty {
      return true
    } else {
      plan.cut(turned: false, flaw: flaw)
    }
    let kept = chain.kept(positions: plan.positions, weights: plan.weights)
    for (element, isKept) in kept.enumerated() where !isKept {
      switch plan.elements[element] {
      case .touched: count += 1
      case .block(let block): count += block.count
      }
    }
    guard count <= limit else { return false }
    for (element, isKept) in kept.enumerated() where !isKept {
      switch plan.elements[element] {
      case .touched(let index):
        let touched = places.moved[index]
        addMove(try groups.groups.id(of: touched.row), slot, touched.oldRank, touched.newRank)
      case .block(let block):
        for position in block {
          let rank = delta.alignment.newPosition(ofKept: position)
          let row = try groups.id(at: rank, slot: slot)
          addMove(row, slot, delta.alignment.oldPosition(ofKept: position), rank)
        }
      }
    }
    return true
  }

  private mutating func addMove(_ row: RowID, _ slot: Int, _ from: Int, _ to: Int) {
    if let from = old.path(slot: slot, rank: from), let to = new.path(slot: slot, rank: to) {
      result.rows.moves.append(RowMove(row: row, from: from, to: to))
    }
  }

  /// The candidates of a section, in both orders.
  private func candidates(_ delta: GroupDelta) -> SectionPlan {
    let before = old.groups[delta.slot].shown
    let after = new.groups[delta.slot].shown
    func isCandidate(_ touched: TouchedPlace) -> Bool {
      touched.oldSlot == touched.newSlot && before.contains(touched.oldRank)
        && after.contains(touched.newRank)
    }
    let common =
      flaw == .unclippedBlocks
      ? 0..<(new.groups[delta.slot].count - delta.taken.count)
      : delta.alignment.kept(inOld: before).intersection(delta.alignment.kept(inNew: after))
    func clip(_ kept: Int) -> Int { min(max(kept, common.lowerBound), common.upperBound) }
    var plan = SectionPlan(common: common)
    for (index, touched) in delta.left.enumerated() where isCandidate(places.moved[touched]) {
      plan.old.append(
        SectionPlan.Candidate(touched, clip(delta.alignment.removed[index] - index)))
    }
    for (index, touched) in delta.taken.enumerated() where isCandidate(places.moved[touched]) {
      plan.new.append(SectionPlan.Candidate(touched, clip(delta.alignment.added[index] - index)))
    }
    return plan
  }
}

/// What may be kept in place in one section, in the new order, ready for the chain.
private struct SectionPlan {
  /// A touched row shown in this section on both sides.
  struct Candidate {
    /// Its index among the touched rows.
    let touched: Int
    /// How many untouched rows precede it, clipped to those shown on both sides.
    let untouchedBefore: Int

    init(_ touched: Int, _ untouchedBefore: Int) {
      self.touched = touched
      self.untouchedBefore = untouchedBefore
    }
  }

  enum Element {
    case touched(Int)
    case block(Range<Int>)
  }

  /// The untouched rows shown on both sides.
  let common: Range<Int>
  /// The candidates in their old and in their new order.
  var old: [Candidate] = []
  var new: [Candidate] = []
  /// In the new order; with the position each has in the old order, and its weight.
  var elements: [Element] = []
  var positions: [Int] = []
  var weights: [Int] = []

  init(common: Range<Int>) { self.common = common }

  /// Cuts the untouched rows at every candidate and lays out both orders. In a section that is turned
  /// round no two untouched rows keep their order, so each is a block, and the old order is read
  /// backward.
  mutating func cut(turned: Bool, flaw: Flaw) {
    let blocks = turned ? common.map { $0..<($0 + 1) } : self.blocks()
    // A row weighs `unit`, a candidate one less: k candidates never outweigh one row more.
    let unit = old.count + 1
    var positionOfBlock: [Int] = []
    var positionOfTouched: [Int: Int] = [:]
    positionOfTouched.reserveCapacity(old.count)
    var next = 0
    var position = 0
    for block in blocks {
      while next < old.count, old[next].untouchedBefore <= block.lowerBound {
        positionOfTouched[old[next].touched] = position
        next += 1
        position += 1
      }
      positionOfBlock.append(position)
      position += 1
    }
    while next < old.count {
      positionOfTouched[old[next].touched] = position
      next += 1
      position += 1
    }
    next = 0
    let weight = flaw == .bystandersEqual ? unit : unit - 1
    func add(_ candidate: Candidate, to plan: inout SectionPlan) {
      plan.elements.append(.touched(candidate.touched))
      plan.positions.append(positionOfTouched[candidate.touched] ?? 0)
      plan.weights.append(weight)
    }
    for (index, block) in blocks.enumerated() {
      while next < new.count, new[next].untouchedBefore <= block.lowerBound {
        add(new[next], to: &self)
        next += 1
      }
      elements.append(.block(block))
      positions.append(positionOfBlock[index])
      weights.append((flaw == .lightBlocks ? 1 : block.count) * unit)
    }
    while next < new.count {
      add(new[next], to: &self)
      next += 1
    }
    if turned { positions = positions.map { position - 1 - $0 } }
  }

  /// The pieces between cuts, none of them empty. Both lists of cuts ascend.
  private func blocks() -> [Range<Int>] {
    var blocks: [Range<Int>] = []
    blocks.reserveCapacity(2 * old.count + 1)
    var start = common.lowerBound
    var nextOld = 0
    var nextNew = 0
    while start < common.upperBound {
      while nextOld < old.count, old[nextOld].untouchedBefore <= start { nextOld += 1 }
      while nextNew < new.count, new[nextNew].untouchedBefore <= start { nextNew += 1 }
      let end = min(
        nextOld < old.count ? old[nextOld].untouchedBefore : common.upperBound,
        nextNew < new.count ? new[nextNew].untouchedBefore : common.upperBound)
      blocks.append(start..<end)
      start = end
    }
    return blocks
  }
}
