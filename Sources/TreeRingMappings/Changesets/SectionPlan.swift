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

/// The rows that may stay in one section. A consumer's list is such a section, with the rows that a
/// batch moves as candidates. O(k log k) for k candidates, plus the groups shown in it.
package struct SectionPlan {
  /// An affected row shown in this section on both sides.
  package struct Candidate {
    /// Its index among the affected rows.
    let affected: Int
    /// The number of unaffected rows of its group before it, clipped to those shown on both sides.
    let unaffectedBefore: Int
  }

  /// One group of the section.
  package struct Part {
    let slot: Int
    /// The unaffected rows shown on both sides.
    let common: Range<Int>
    var isReversedBefore = false
    var isReversedAfter = false
    /// The unaffected rows changed in place, as ascending positions among the unaffected ones.
    var changed: [Int] = []
    /// The candidates of this group on the old side and on the new side, by rank.
    package var old: [Candidate] = []
    package var new: [Candidate] = []
    /// The index of its first block among all elements; its blocks are consecutive.
    fileprivate var firstBlock = 0
    fileprivate var blocks: [Range<Int>] = []

    package init(slot: Int, common: Range<Int>) {
      self.slot = slot
      self.common = common
    }

    /// A candidate with this number of unaffected rows of the group before it.
    package func candidate(_ affected: Int, after unaffected: Int) -> Candidate {
      Candidate(
        affected: affected,
        unaffectedBefore: min(max(unaffected, common.lowerBound), common.upperBound))
    }

    /// Whether its display order is reversed by this change.
    var isTurned: Bool { isReversedBefore != isReversedAfter }
  }

  /// A unit that stays or moves as a whole.
  package enum Element {
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

  /// A plan without groups.
  package init() {}

  /// Adds a group that is not there yet.
  package mutating func add(_ part: Part) {
    if parts.count == 1 { indexes[parts[0].slot] = 0 }
    if !parts.isEmpty { indexes[part.slot] = parts.count }
    parts.append(part)
  }

  /// Whether the group was added.
  func has(_ slot: Int) -> Bool { index(of: slot) != nil }

  private func index(of slot: Int) -> Int? {
    parts.count == 1 ? (parts[0].slot == slot ? 0 : nil) : indexes[slot]
  }

  /// Lays out both orders and returns the elements that must move, in the new order.
  ///
  /// - Parameters:
  ///   - oldSlots, newSlots: The groups shown before and after, in display order.
  ///   - chain: The buffers of the search.
  ///   - numbers: A buffer with one number per affected row.
  package mutating func moves(
    from oldSlots: ArraySlice<Int>, to newSlots: ArraySlice<Int>, by chain: inout HeaviestChain,
    numbers: inout [Int]
  ) -> [Element] {
    var elements: [Element] = []
    var weights: [ChainWeight] = []
    var oldOrder: [Int] = []
    for slot in oldSlots {
      guard let index = index(of: slot) else { continue }
      parts[index].firstBlock = elements.count
      parts[index].makeBlocks()
      let part = parts[index]
      for block in part.blocks {
        elements.append(.block(slot: slot, block))
        let count = block.count
        weights.append(ChainWeight(count, count - part.changedCount(in: block), count))
      }
      for candidate in part.old {
        numbers[candidate.affected] = elements.count
        elements.append(.affected(candidate.affected))
        weights.append(ChainWeight(1))
      }
      oldOrder += part.order(part.old, reversed: part.isReversedBefore, numbers)
    }
    var newOrder: [Int] = []
    for slot in newSlots {
      guard let part = index(of: slot).map({ parts[$0] }) else { continue }
      newOrder += part.order(part.new, reversed: part.isReversedAfter, numbers)
    }
    let kept = chain.kept(in: newOrder, and: oldOrder, weights: weights)
    return newOrder.filter { !kept[$0] }.map { elements[$0] }
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
