// The rows that may stay in one section, laid out in both orders for the heaviest chain.
//
// A candidate is an affected row shown in this section on both sides. The unaffected rows of a
// group shown on both sides are cut into blocks at every old and new position of a candidate. An
// optimal set of staying rows takes each block whole or not at all. So it is the heaviest
// increasing subsequence over the candidates and at most 2k + 1 blocks. The number of staying rows
// decides. Ties are broken by the number of bystanders among them, rows without any change, and
// then by the number of rows changed in place.
//
// A consolidated section shows several groups, one behind the other. Their blocks and candidates
// form one sequence, and a candidate may change its group.

/// The rows that may stay in one section. O(k log k) for k candidates, plus the groups shown in it.
struct SectionPlan {
  /// An affected row shown in this section on both sides.
  struct Candidate {
    /// Its index among the affected rows.
    let affected: Int
    /// The number of unaffected rows of its group before it, clipped to those shown on both sides.
    let unaffectedBefore: Int

    init(_ affected: Int, _ unaffectedBefore: Int) {
      self.affected = affected
      self.unaffectedBefore = unaffectedBefore
    }
  }

  /// One group of the section.
  struct Part {
    let slot: Int
    /// The unaffected rows shown on both sides.
    let common: Range<Int>
    let isReversedBefore: Bool
    let isReversedAfter: Bool
    /// The unaffected rows changed in place, as ascending positions among the unaffected ones.
    var changed: [Int] = []
    /// The candidates of this group on the old side and on the new side, by rank.
    var old: [Candidate] = []
    var new: [Candidate] = []
    /// The index of its first block among all elements; its blocks are consecutive.
    fileprivate var firstBlock = 0
    fileprivate var blocks: [Range<Int>] = []

    init(slot: Int, common: Range<Int>, isReversedBefore: Bool, isReversedAfter: Bool) {
      self.slot = slot
      self.common = common
      self.isReversedBefore = isReversedBefore
      self.isReversedAfter = isReversedAfter
    }

    /// Whether its display order is reversed by this change.
    var isTurned: Bool { isReversedBefore != isReversedAfter }
  }

  /// A unit that stays or moves as a whole.
  enum Element {
    /// A row, by its index among the affected rows.
    case affected(Int)
    /// Unaffected rows of a slot.
    case block(slot: Int, Range<Int>)

    /// The number of moves it needs.
    var rowCount: Int {
      if case .block(_, let block) = self { return block.count }
      return 1
    }
  }

  /// The groups of the section on both sides.
  private var parts: [Part] = []
  /// The index in `parts` by slot, if there are several.
  private var indexes: [Int: Int] = [:]
  /// The elements in the new order, with the old position and the weight of each.
  private(set) var elements: [Element] = []
  private(set) var positions: [Int] = []
  private(set) var weights: [ChainWeight] = []

  /// Adds a group that is not there yet.
  mutating func add(_ part: Part) {
    if parts.count == 1 { indexes[parts[0].slot] = 0 }
    if !parts.isEmpty { indexes[part.slot] = parts.count }
    parts.append(part)
  }

  /// Whether the group was added.
  func has(_ slot: Int) -> Bool { index(of: slot) != nil }

  private func index(of slot: Int) -> Int? {
    parts.count == 1 ? (parts[0].slot == slot ? 0 : nil) : indexes[slot]
  }

  /// Cuts the unaffected rows at every candidate and lays out both orders.
  ///
  /// - Parameter numbers: A buffer with one number per affected row.
  mutating func layOut(
    from oldSlots: ArraySlice<Int>, to newSlots: ArraySlice<Int>, numbers: inout [Int]
  ) {
    var all: [Element] = []
    var oldOrder: [Int] = []
    for slot in oldSlots {
      guard let index = index(of: slot) else { continue }
      parts[index].firstBlock = all.count
      parts[index].makeBlocks()
      all += parts[index].blocks.map { .block(slot: slot, $0) }
      for candidate in parts[index].old {
        numbers[candidate.affected] = all.count
        all.append(.affected(candidate.affected))
      }
      let part = parts[index]
      oldOrder += part.order(part.old, reversed: part.isReversedBefore, numbers)
    }
    var positionOfElement = [Int](repeating: 0, count: all.count)
    for (position, element) in oldOrder.enumerated() { positionOfElement[element] = position }
    for slot in newSlots {
      guard let index = index(of: slot) else { continue }
      let part = parts[index]
      for number in part.order(part.new, reversed: part.isReversedAfter, numbers) {
        elements.append(all[number])
        positions.append(positionOfElement[number])
        switch all[number] {
        case .affected: weights.append(ChainWeight(1))
        case .block(_, let block):
          let count = block.count
          weights.append(ChainWeight(count, count - part.changedCount(in: block), count))
        }
      }
    }
  }
}

extension SectionPlan.Part {
  /// The numbers of its blocks and of these candidates, in display order.
  fileprivate func order(
    _ candidates: [SectionPlan.Candidate], reversed: Bool, _ numbers: [Int]
  ) -> [Int] {
    var order: [Int] = []
    order.reserveCapacity(blocks.count + candidates.count)
    var next = 0
    func append(upTo unaffected: Int) {
      while next < candidates.count, candidates[next].unaffectedBefore <= unaffected {
        order.append(numbers[candidates[next].affected])
        next += 1
      }
    }
    for (index, block) in blocks.enumerated() {
      append(upTo: block.lowerBound)
      order.append(firstBlock + index)
    }
    append(upTo: .max)
    return reversed ? order.reversed() : order
  }

  /// The number of rows of a block that changed in place. O(log of the changed rows).
  fileprivate func changedCount(in block: Range<Int>) -> Int {
    changed.firstIndex(atLeast: block.upperBound) - changed.firstIndex(atLeast: block.lowerBound)
  }

  /// Makes its blocks; in a reversed group, each row is one.
  fileprivate mutating func makeBlocks() {
    blocks = isTurned ? common.map { $0..<($0 + 1) } : cut()
  }

  /// The non-empty pieces between cuts. Both lists of cuts ascend.
  private func cut() -> [Range<Int>] {
    var blocks: [Range<Int>] = []
    blocks.reserveCapacity(old.count + new.count + 1)
    var start = common.lowerBound
    var nextOld = 0
    var nextNew = 0
    while start < common.upperBound {
      while nextOld < old.count, old[nextOld].unaffectedBefore <= start { nextOld += 1 }
      while nextNew < new.count, new[nextNew].unaffectedBefore <= start { nextNew += 1 }
      let end = min(
        nextOld < old.count ? old[nextOld].unaffectedBefore : common.upperBound,
        nextNew < new.count ? new[nextNew].unaffectedBefore : common.upperBound)
      blocks.append(start..<end)
      start = end
    }
    return blocks
  }
}
