// Which rows a batch needs to move: decided from relative order, never from equal numbers.
//
// Rows that no transaction places keep their order. Cut them wherever a placed row stands before or
// after: an optimal choice keeps each block between two cuts wholly or moves it wholly (theory: the
// section "Touched rows suffice" of docs/changesets.md). So the rows to keep are the heaviest
// increasing chain over the placed rows and the blocks between them: O(k log k).
//
// Among minimal answers the one is taken that moves the fewest rows nobody placed.

internal import TreeRingMappings

/// A row that is in the list before and after, at a given place.
struct PlacedRow {
  let from: Int
  let to: Int
}

/// The outcome: which placed rows need not move after all, and which others must.
struct StayingRows {
  /// Of each placed row whether it stays.
  private(set) var stays: [Bool]
  /// Rows that nobody placed and that have to move: intervals of kept rows, ascending.
  private(set) var displaced: [Range<Int>] = []

  /// Decides for some of the rows of a list.
  ///
  /// - Parameters:
  ///   - placed: Rows whose places are given, by ascending old position.
  ///   - alignment: The old positions of rows that go or are placed, the new ones of those that come or
  ///     are placed; what remains are the kept rows.
  ///   - window: The kept rows concerned; placed rows beyond count as standing at its ends.
  init(_ placed: [PlacedRow], alignment: Alignment, window: Range<Int>) {
    stays = []
    if placed.isEmpty { return }
    func clamp(_ kept: Int) -> Int {
      Swift.min(Swift.max(kept, window.lowerBound), window.upperBound)
    }
    let before = placed.map { clamp(alignment.keptBefore(old: $0.from)) }
    let after = placed.map { clamp(alignment.keptBefore(new: $0.to)) }
    let cuts = Array(Set(before + after + [window.lowerBound, window.upperBound])).sorted()
    // Items are the placed rows, then the blocks, each in old order and in new order.
    let blocks = zip(cuts, cuts.dropFirst()).map { $0..<$1 }
    func order(_ gaps: [Int], _ positions: (PlacedRow) -> Int) -> [Int] {
      let rows = placed.indices.map { (gap: gaps[$0], isBlock: 0, position: positions(placed[$0])) }
      let items = rows + blocks.map { (gap: $0.lowerBound, isBlock: 1, position: 0) }
      return items.indices.sorted {
        (items[$0].gap, items[$0].isBlock, items[$0].position)
          < (items[$1].gap, items[$1].isBlock, items[$1].position)
      }
    }
    let oldOrder = order(before) { $0.from }
    let newOrder = order(after) { $0.to }
    var newPosition = [Int](repeating: 0, count: newOrder.count)
    for (position, item) in newOrder.enumerated() { newPosition[item] = position }
    let scale = window.count + 1
    let weights = oldOrder.map { item in
      item < placed.count ? scale : blocks[item - placed.count].count * (scale + 1)
    }
    var chain = HeaviestChain()
    let kept = chain.kept(positions: oldOrder.map { newPosition[$0] }, weights: weights)
    stays = [Bool](repeating: false, count: placed.count)
    for (place, item) in oldOrder.enumerated() {
      if item < placed.count {
        stays[item] = kept[place]
      } else if !kept[place] {
        displaced.append(blocks[item - placed.count])
      }
    }
  }
}
