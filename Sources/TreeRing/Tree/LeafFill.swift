// The fill of trees' leaves, estimated from a sample.

/// The mean fill of leaves, sampled by entry.
struct LeafFill {
  private var weights = 0.0
  private var sum = 0.0

  /// The mean used part of a leaf, from 0 to 1; 0 without leaves.
  var mean: Double { weights == 0 ? 0 : sum / weights }

  /// About the number of leaves that packing all of them would save.
  var looseLeafCount: Int { Int(weights - sum) }

  /// Samples the leaves of so many entries of a tree, evenly spread. A leaf with many entries is
  /// sampled more often, so each sample of it weighs less. O(samples · log n).
  mutating func addSamples(of tree: Tree, samples: Int = 64) {
    let count = tree.count
    for sample in 0..<min(samples, count) {
      let leaf = tree.locate(at: (2 * sample + 1) * count / (2 * min(samples, count))).leaf
      guard leaf.cellCount > 0 else { continue }
      // The number of leaves that this sample stands for, so that trees of any size can be added
      // up.
      let weight = Double(count) / Double(leaf.cellCount) / Double(min(samples, count))
      weights += weight
      sum += weight * Double(leaf.usedByteCount) / Double(PageLayout.pageByteCount)
    }
  }
}
