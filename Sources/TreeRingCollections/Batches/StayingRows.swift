// The rows that a batch must move, decided from relative order, never from equal numbers.
//
// Rows that no transaction places keep their order. They are cut at every old and new position of a
// placed row. An optimal choice keeps or moves each block between two cuts as a whole (theory: the
// section "Affected rows suffice" of docs/changesets.md). So the rows to keep are the heaviest
// increasing chain over the placed rows and the blocks between them: O(k log k).
//
// Among minimal answers, the one that moves the fewest rows not placed by the batch wins.

internal import TreeRingMappings

/// A row in the list before and after, with its positions.
struct PlacedRow {
  let from: Int
  let to: Int
}

/// The result: the placed rows that need not move, and the other rows that must.
struct StayingRows {
  /// Whether each placed row stays.
  private(set) var stays: [Bool]
  /// The rows that must move although the batch does not place them: ascending intervals of kept
  /// rows.
  private(set) var displaced: [Range<Int>] = []

  /// Decides for some of the rows of a list.
  ///
  /// - Parameters:
  ///   - placed: The rows with given positions, by ascending old position.
  ///   - alignment: The old positions of removed or placed rows, and the new ones of inserted or
  ///     placed rows; the remaining rows are the kept rows.
  ///   - window: The kept rows to decide on; placed rows beyond it count as standing at its ends.
  init(_ placed: [PlacedRow], alignment: Alignment, window: Range<Int>) {
    stays = []
    if placed.isEmpty { return }
    func clamp(_ kept: Int) -> Int {
      Swift.min(Swift.max(kept, window.lowerBound), window.upperBound)
    }
    let before = placed.map { clamp(alignment.keptBefore(old: $0.from)) }
    let after = placed.map { clamp(alignment.keptBefore(new: $0.to)) }
    let cuts = Array(Set(before + after + [window.lowerBound, window.upperBound])).sorted()
    // The items are the placed rows, then the blocks, each in old order and in new order.
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
    let weights = oldOrder.map { item in
      let block = item < placed.count ? nil : blocks[item - placed.count].count
      return block.map { ChainWeight($0, $0) } ?? ChainWeight(1)
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
