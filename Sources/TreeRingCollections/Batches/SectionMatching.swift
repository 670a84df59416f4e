// The correspondence of old and new sections.
//
// A section may continue as one that holds a row of it, whether or not that row stays in the whole
// list. Sections never move. So those that continue are in the same order before and after: a chain
// of pairs (old section, new section) that ascends on both sides. The best chain is the heaviest
// one (HeaviestChain).
//
// Only sections beside a change are examined individually. A cut is a position where a row came,
// went or changed its title. Between two cuts, sections begin and end at the same rows on both
// sides. A section without a cut in it or at its ends is still the same section. Runs of such
// sections, cut wherever a pair stands before or after, are elements of the chain, too: sections
// that move past them may weigh more.
//
// The rows that stay in the whole list need not be the most that can stay in a pair. So a pair is
// judged by its own rows, including those that the batch places. Pairs are independent: a row that
// leaves one continuing section for another counts once for each.

internal import TreeRingMappings

/// An old section and a new one that share rows.
struct SectionPair {
  let old: Int
  let new: Int
  /// The shared rows, by their number among the staying rows.
  let shared: Range<Int>
  let hasSameTitle: Bool
  /// The moves inside the section, if one continued as the other.
  let moves: [IndexMove]
  /// The number of rows in both that would be removed or inserted in that case.
  let others: Int

  /// - Parameter moved: The rows that the batch moves from one into the other, by ascending old
  ///   position.
  init(
    _ old: LocatedSection, _ new: LocatedSection, alignment: Alignment, moved: [IndexMove]
  ) {
    self.old = old.index
    self.new = new.index
    shared = alignment.kept(inOld: old.rows).clamped(to: alignment.kept(inNew: new.rows))
    hasSameTitle = old.title == new.title
    moves = alignment.fewestMoves(of: moved, among: shared)
    let stayingCount = shared.count + moved.count - moves.count
    others = old.rows.count + new.rows.count - 2 * stayingCount
  }
}

/// The matching of the sections beside a change, and the result for all sections.
struct SectionMatching {
  /// Every pair beside a change that shares a row, by old section, then by new one.
  private(set) var pairs: [SectionPair] = []
  /// Indexes of the pairs that continue, ascending.
  private(set) var chosen: [Int] = []
  /// The sections beside a change, old and new; the others are unchanged.
  private(set) var affected = Alignment()
  /// Sections not beside a change that cannot continue, by their number among such sections.
  private(set) var displaced: [Range<Int>] = []

  /// - Parameters:
  ///   - list: The changes of the list.
  ///   - retitled: The staying rows with a new title, by number.
  init(
    from old: SectionRuns, to new: SectionRuns, _ list: ListChanges, _ alignment: Alignment,
    retitled: [Int]
  ) {
    let keptCount = list.oldCount - alignment.removed.count
    func sections(_ row: Int, _ newRow: Int) -> (LocatedSection, LocatedSection) {
      (old.section(ofRow: row), new.section(ofRow: newRow))
    }
    var moved: [IndexMove: [IndexMove]] = [:]
    var found: [IndexMove: (LocatedSection, LocatedSection)] = [:]
    for move in list.moves.sorted(by: { $0.from < $1.from }) {
      let ends = sections(move.from, move.to)
      let pair = IndexMove(from: ends.0.index, to: ends.1.index)
      moved[pair, default: []].append(move)
      found[pair] = ends
    }
    var cuts = Set(alignment.removed.map { alignment.keptBefore(old: $0) })
    cuts.formUnion(alignment.added.map { alignment.keptBefore(new: $0) })
    for row in retitled { cuts.formUnion([row, row + 1]) }
    let rows = Set(cuts.flatMap { [$0 - 1, $0] }).filter { $0 >= 0 && $0 < keptCount }
    for row in rows {
      let ends = sections(alignment.oldPosition(ofKept: row), alignment.newPosition(ofKept: row))
      found[IndexMove(from: ends.0.index, to: ends.1.index)] = ends
    }
    pairs = found.sorted { ($0.key.from, $0.key.to) < ($1.key.from, $1.key.to) }.map {
      SectionPair($1.0, $1.1, alignment: alignment, moved: moved[$0, default: []])
    }
    let going = alignment.removed.map { old.section(ofRow: $0).index } + pairs.map(\.old)
    let coming = alignment.added.map { new.section(ofRow: $0).index } + pairs.map(\.new)
    affected = Alignment(removed: Set(going).sorted(), added: Set(coming).sorted())
    choose(unaffectedCount: old.count - affected.removed.count)
  }

  /// Finds the heaviest chain: fewest section operations first, then fewest row operations. A pair
  /// with one title saves two section operations, a retitled one saves one.
  private mutating func choose(unaffectedCount: Int) {
    var cuts: Set<Int> = [0, unaffectedCount]
    for pair in pairs {
      cuts.insert(affected.keptBefore(old: pair.old))
      cuts.insert(affected.keptBefore(new: pair.new))
    }
    let sorted = cuts.sorted()
    let blocks = zip(sorted, sorted.dropFirst()).map { $0..<$1 }
    var elements: [(old: Int, new: Int, weight: ChainWeight)] = pairs.map { pair in
      let weight = pair.hasSameTitle ? ChainWeight(2, -pair.others) : ChainWeight(1)
      return (pair.old, pair.new, weight)
    }
    for block in blocks {
      let first = block.lowerBound
      elements.append(
        (
          affected.oldPosition(ofKept: first), affected.newPosition(ofKept: first),
          ChainWeight(2 * block.count)
        ))
    }
    // An ascending chain has at most one of the elements that share a section on either side.
    let oldOrder = elements.indices.sorted {
      (elements[$0].old, -elements[$0].new) < (elements[$1].old, -elements[$1].new)
    }
    let newOrder = elements.indices.sorted {
      (elements[$0].new, -elements[$0].old) < (elements[$1].new, -elements[$1].old)
    }
    var chain = HeaviestChain()
    let kept = chain.kept(in: oldOrder, and: newOrder, weights: elements.map { $0.weight })
    chosen = pairs.indices.filter { kept[$0] }
    displaced = blocks.indices.filter { !kept[pairs.count + $0] }.map { blocks[$0] }
  }
}
