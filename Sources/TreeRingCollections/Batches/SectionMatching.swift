// Which section continues as which.
//
// Rows that stay are in the same order before and after. So the pairs (old section, new section) that share
// one form a staircase: walking along these rows, neither side ever goes back. Choosing among the pairs so
// that each section is used once is a walk along the staircase, O(pairs).
//
// Only pairs beside a change are looked at. Between two cuts, places where a row came, went or changed its
// title, sections begin and end at the same rows on both sides; a section with no cut in it or at its ends
// is the same section still.
//
// What stays in the whole list need not be the most that can stay in a pair, so a pair is judged by its own
// rows, those that the batch places included.

internal import TreeRingMappings

/// An old section and a new one that share rows.
struct SectionPair {
  let old: Int
  let new: Int
  /// The rows shared, by their number among those that stay.
  let shared: Range<Int>
  let hasSameTitle: Bool
  /// The rows that go from the one to the other and are placed by the batch, by ascending old position.
  let placed: [PlacedRow]
  /// Which of the rows that both have would stay, if one continued as the other.
  let staying: StayingRows
  /// The rows of both that would go or come then.
  let others: Int

  init(
    _ old: LocatedSection, _ new: LocatedSection, alignment: Alignment, placed: [PlacedRow]
  ) {
    self.old = old.index
    self.new = new.index
    self.placed = placed
    shared = alignment.kept(inOld: old.rows).clamped(to: alignment.kept(inNew: new.rows))
    hasSameTitle = old.title == new.title
    staying = StayingRows(placed, alignment: alignment, window: shared)
    let count = shared.count - staying.displaced.joined().count + staying.stays.count { $0 }
    others = old.rows.count + new.rows.count - 2 * count
  }
}

/// What a choice of pairs saves: section operations first, then row operations.
private struct MatchingGain: Comparable {
  var sections = 0
  var rows = 0
  static func < (a: MatchingGain, b: MatchingGain) -> Bool {
    (a.sections, a.rows) < (b.sections, b.rows)
  }
}

/// The pairs of sections beside a change, and those of them that continue.
struct SectionMatching {
  /// Every pair that shares a staying row and may not be whole, along the list.
  private(set) var pairs: [SectionPair] = []
  /// Indexes of the pairs that continue, ascending.
  private(set) var chosen: [Int] = []

  /// - Parameters:
  ///   - list: What happens to the list.
  ///   - retitled: Rows that stay and have another title, by number.
  init(
    from old: SectionRuns, to new: SectionRuns, _ list: ListChanges, _ alignment: Alignment,
    retitled: [Int]
  ) {
    let keptCount = list.oldCount - alignment.removed.count
    var placed: [IndexMove: [PlacedRow]] = [:]
    for move in list.moves.sorted(by: { $0.from < $1.from }) {
      let sections = IndexMove(
        from: old.section(ofRow: move.from).index, to: new.section(ofRow: move.to).index)
      placed[sections, default: []].append(PlacedRow(from: move.from, to: move.to))
    }
    var cuts = Set(alignment.removed.map { alignment.keptBefore(old: $0) })
    cuts.formUnion(alignment.added.map { alignment.keptBefore(new: $0) })
    for row in retitled { cuts.formUnion([row, row + 1]) }
    let rows = Set(cuts.flatMap { [$0 - 1, $0] }).filter { $0 >= 0 && $0 < keptCount }.sorted()
    for row in rows {
      let oldSection = old.section(ofRow: alignment.oldPosition(ofKept: row))
      let newSection = new.section(ofRow: alignment.newPosition(ofKept: row))
      let sections = IndexMove(from: oldSection.index, to: newSection.index)
      if let last = pairs.last, last.old == sections.from, last.new == sections.to { continue }
      pairs.append(
        SectionPair(
          oldSection, newSection, alignment: alignment, placed: placed[sections, default: []]))
    }
    choose()
  }

  /// Walks the staircase: fewest section operations first, then fewest row operations. A pair of one
  /// title saves two section operations, a retitled one saves one.
  private mutating func choose() {
    /// The best gain of the first pairs, and whether the last of them is taken for it.
    var best = [MatchingGain()]
    var isTaken: [Bool] = []
    /// How many pairs come before any that shares a section with this one.
    var clear: [Int] = []
    var firstOfOld = 0
    var firstOfNew = 0
    for (index, pair) in pairs.enumerated() {
      if pairs[firstOfOld].old != pair.old { firstOfOld = index }
      if pairs[firstOfNew].new != pair.new { firstOfNew = index }
      let start = Swift.min(firstOfOld, firstOfNew)
      clear.append(start)
      var gain = best[start]
      gain.sections += pair.hasSameTitle ? 2 : 1
      gain.rows -= pair.hasSameTitle ? pair.others : 0
      isTaken.append(gain > best[index])
      best.append(Swift.max(gain, best[index]))
    }
    var index = pairs.count
    while index > 0 {
      if isTaken[index - 1] {
        chosen.append(index - 1)
        index = clear[index - 1]
      } else {
        index -= 1
      }
    }
    chosen.reverse()
  }
}
