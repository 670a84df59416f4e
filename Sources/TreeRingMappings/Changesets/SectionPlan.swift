// What may stay in place in one section, laid out in both orders, ready for the heaviest chain.
//
// The untouched rows of a group that are shown on both sides are cut into blocks wherever a candidate,
// a touched row shown in this section on both sides, stood or stands among them. A best set of rows to
// keep takes each block whole or not at all, so it is the heaviest increasing subsequence over the
// candidates and at most 2k + 1 blocks. A row weighs one; a candidate weighs a trifle less, so that
// among equals fewer bystanders move.
//
// A consolidated section shows several groups, one behind the other: their blocks and candidates lie
// in one sequence, and a candidate may go from one group to another.

/// What may stay in place in one section. O(k log k) for k candidates, plus the groups shown in it.
struct SectionPlan {
  /// A touched row shown in this section on both sides.
  struct Candidate {
    /// Its index among the touched rows.
    let touched: Int
    /// How many untouched rows of its group precede it, clipped to those shown on both sides.
    let untouchedBefore: Int

    init(_ touched: Int, _ untouchedBefore: Int) {
      self.touched = touched
      self.untouchedBefore = untouchedBefore
    }
  }

  /// One group of the section.
  struct Part {
    let slot: Int
    /// The untouched rows shown on both sides.
    let common: Range<Int>
    let isReversedBefore: Bool
    let isReversedAfter: Bool
    /// The candidates that stood in this group, and those that stand in it, by rank.
    var old: [Candidate] = []
    var new: [Candidate] = []
    /// The first of its blocks among all elements; its blocks follow one another.
    fileprivate var firstBlock = 0
    fileprivate var blocks: [Range<Int>] = []

    init(slot: Int, common: Range<Int>, isReversedBefore: Bool, isReversedAfter: Bool) {
      self.slot = slot
      self.common = common
      self.isReversedBefore = isReversedBefore
      self.isReversedAfter = isReversedAfter
    }

    /// Whether its rows are shown the other way round from now on.
    var isTurned: Bool { isReversedBefore != isReversedAfter }
  }

  /// Something that stays or moves as a whole.
  enum Element {
    /// A row, by its index among the touched rows.
    case touched(Int)
    /// Untouched rows of a slot.
    case block(slot: Int, Range<Int>)

    /// How many moves it takes.
    var rowCount: Int {
      if case .block(_, let block) = self { return block.count }
      return 1
    }
  }

  /// The groups of the section, on either side.
  private var parts: [Part] = []
  /// By slot, which of the parts it is, if there are several.
  private var indexes: [Int: Int] = [:]
  /// In the new order; with the position each has in the old order, and its weight.
  private(set) var elements: [Element] = []
  private(set) var positions: [Int] = []
  private(set) var weights: [Int] = []

  /// Adds a group, which is not there yet.
  mutating func add(_ part: Part) {
    if parts.count == 1 { indexes[parts[0].slot] = 0 }
    if !parts.isEmpty { indexes[part.slot] = parts.count }
    parts.append(part)
  }

  /// Whether a group has been added.
  func has(_ slot: Int) -> Bool { index(of: slot) != nil }

  private func index(of slot: Int) -> Int? {
    parts.count == 1 ? (parts[0].slot == slot ? 0 : nil) : indexes[slot]
  }

  /// Cuts the untouched rows at every candidate and lays out both orders.
  ///
  /// - Parameter numbers: Room for a number per touched row.
  mutating func layOut(
    from oldSlots: ArraySlice<Int>, to newSlots: ArraySlice<Int>, numbers: inout [Int], flaw: Flaw
  ) {
    // A row weighs `unit`, a candidate one less: k candidates never outweigh one row more.
    let unit = parts.reduce(1) { $0 + $1.old.count }
    var all: [Element] = []
    var oldOrder: [Int] = []
    for slot in oldSlots {
      guard let index = index(of: slot) else { continue }
      parts[index].firstBlock = all.count
      parts[index].makeBlocks()
      all += parts[index].blocks.map { .block(slot: slot, $0) }
      for candidate in parts[index].old {
        numbers[candidate.touched] = all.count
        all.append(.touched(candidate.touched))
      }
      let part = parts[index]
      oldOrder += part.order(part.old, reversed: part.isReversedBefore, numbers)
    }
    var positionOfElement = [Int](repeating: 0, count: all.count)
    for (position, element) in oldOrder.enumerated() { positionOfElement[element] = position }
    let weight = flaw == .bystandersEqual ? unit : unit - 1
    for slot in newSlots {
      guard let index = index(of: slot) else { continue }
      let part = parts[index]
      for number in part.order(part.new, reversed: part.isReversedAfter, numbers) {
        elements.append(all[number])
        positions.append(positionOfElement[number])
        switch all[number] {
        case .touched: weights.append(weight)
        case .block(_, let block):
          weights.append((flaw == .lightBlocks ? 1 : block.count) * unit)
        }
      }
    }
  }
}

extension SectionPlan.Part {
  /// The numbers of its blocks and of these candidates, in the order of display.
  fileprivate func order(
    _ candidates: [SectionPlan.Candidate], reversed: Bool, _ numbers: [Int]
  ) -> [Int] {
    var order: [Int] = []
    order.reserveCapacity(blocks.count + candidates.count)
    var next = 0
    func append(upTo untouched: Int) {
      while next < candidates.count, candidates[next].untouchedBefore <= untouched {
        order.append(numbers[candidates[next].touched])
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

  /// Makes its blocks; of a group that is turned round, each row is one.
  fileprivate mutating func makeBlocks() {
    blocks = isTurned ? common.map { $0..<($0 + 1) } : cut()
  }

  /// The pieces between cuts, none of them empty. Both lists of cuts ascend.
  private func cut() -> [Range<Int>] {
    var blocks: [Range<Int>] = []
    blocks.reserveCapacity(old.count + new.count + 1)
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
