// How full the leaves of trees are, estimated from some of them.

/// A mean over leaves that were come upon by choosing entries.
struct LeafFill {
  private var weights = 0.0
  private var sum = 0.0

  /// The used part of a leaf, from 0 to 1; 0 without leaves.
  var mean: Double { weights == 0 ? 0 : sum / weights }

  /// Looks at the leaves of so many entries of a tree, evenly spread. A leaf of many entries is come upon
  /// more often, so it counts for less each time. O(samples · log n).
  mutating func look(at tree: Tree, samples: Int = 64) {
    let count = tree.count
    for sample in 0..<min(samples, count) {
      let leaf = tree.locate(at: (2 * sample + 1) * count / (2 * min(samples, count))).leaf
      guard leaf.cellCount > 0 else { continue }
      // Of the whole tree, not only of the samples, it is this part.
      let weight = Double(count) / Double(leaf.cellCount) / Double(min(samples, count))
      weights += weight
      sum += weight * Double(leaf.usedByteCount) / Double(PageLayout.pageByteCount)
    }
  }
}
