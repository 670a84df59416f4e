// Converts a set of inserts and moves to sequential operations.
//
// Deletes are already applied. The remaining lists have elements to move away (sources) and final
// positions to fill (targets). A path is the number of a list and a position in it. Targets are
// filled by ascending list and position. The `kept` elements of a list neither leave nor arrive.
// Take a source with s kept elements before it and a target with t:
//   - A target is filled directly behind kept element t - 1 and the targets already filled there.
//     So every pending source with s >= t is behind it, and every other one before it.
//   - Hence the current position of a target is its final one plus the pending sources with s < t.
//   - The current position of a source is s, plus the pending sources before it, plus the filled
//     targets with t <= s.
// A Fenwick tree counts the pending sources: O(k log k).

internal import TreeRingLog

/// The sources and targets of a sequence of inserts and moves.
struct SequentialPlan {
  /// An insert or a move.
  struct Placement {
    /// The source; nil for an insert.
    var from: RowPath?
    /// The target.
    var to: RowPath
  }

  /// The ranges of one list in the sorted sources and targets.
  private struct Span {
    var sources = 0..<0
    var targets = 0..<0
  }

  private let targets: [Placement]
  /// The number of kept elements before each source and target.
  private var keptBeforeSource: [Int] = []
  private var keptBeforeTarget: [Int] = []
  private var spans: [Int: Span] = [:]
  /// The index of a target's source among the sorted sources; -1 for an insert.
  private var sourceOfTarget: [Int]
  /// A Fenwick tree over the sources: 1 while pending.
  private var pending: [Int]

  /// - Parameter targets: The operations by ascending target, with their sources after the deletes
  ///   and their final targets.
  init(_ targets: [Placement]) {
    self.targets = targets
    sourceOfTarget = [Int](repeating: -1, count: targets.count)
    let movers = targets.indices.compactMap { index in
      targets[index].from.map { (source: $0, target: index) }
    }.sorted { $0.source < $1.source }
    pending = [Int](repeating: 0, count: movers.count + 1)
    for (index, mover) in movers.enumerated() {
      sourceOfTarget[mover.target] = index
      let list = mover.source.section
      let start = spans[list]?.sources.lowerBound ?? index
      spans[list, default: Span()].sources = start..<(index + 1)
      keptBeforeSource.append(mover.source.row - (index - start))
      pending[index + 1] += 1
      let parent = (index + 1) + ((index + 1) & -(index + 1))
      if parent < pending.count { pending[parent] += pending[index + 1] }
    }
    for (index, target) in targets.enumerated() {
      var span = spans[target.to.section] ?? Span()
      let start = span.targets.isEmpty ? index : span.targets.lowerBound
      span.targets = start..<(index + 1)
      spans[target.to.section] = span
      keptBeforeTarget.append(target.to.row - (index - start))
    }
  }

  /// The operations in the order to apply them: with the current position of each element, and the
  /// position to insert it at after it is taken out.
  mutating func placements() -> [Placement] {
    var result: [Placement] = []
    result.reserveCapacity(targets.count)
    for (index, target) in targets.enumerated() {
      var placement = target
      if let from = target.from {
        let source = sourceOfTarget[index]
        placement.from?.row = position(ofSource: source, in: from.section, filled: index)
        settle(source)
      }
      let sources = spans[target.to.section]?.sources ?? 0..<0
      let before = keptBeforeSource[sources].firstIndex(atLeast: keptBeforeTarget[index])
      placement.to.row += pendingCount(below: before) - pendingCount(below: sources.lowerBound)
      result.append(placement)
    }
    return result
  }

  /// The current position of a pending source after the first `filled` targets are filled.
  private func position(ofSource source: Int, in list: Int, filled: Int) -> Int {
    let span = spans[list] ?? Span()
    let kept = keptBeforeSource[source]
    let targets = span.targets.clamped(to: 0..<filled)
    let before = keptBeforeTarget[targets].firstIndex(atLeast: kept + 1) - targets.lowerBound
    return kept + pendingCount(below: source) - pendingCount(below: span.sources.lowerBound)
      + before
  }

  private func pendingCount(below source: Int) -> Int {
    var node = source
    var sum = 0
    while node > 0 {
      sum += pending[node]
      node &= node - 1
    }
    return sum
  }

  private mutating func settle(_ source: Int) {
    var node = source + 1
    while node < pending.count {
      pending[node] -= 1
      node += node & -node
    }
  }
}
