// The checks of a batch's positions. They find every error before the batch is applied.

internal import TreeRingLog
internal import TreeRingMappings

/// Checks positions against the counts before and after, and against each other.
struct BatchCheck {
  let oldCount: Int
  let newCount: Int

  /// - Parameters:
  ///   - alignment: The old positions of removed or moved rows, and the new ones of inserted or
  ///     moved rows.
  ///   - deletes: The old positions of the removed rows.
  ///   - updates: Old positions, ascending.
  /// - Throws: `invalidInput` for an index out of range, a row removed or updated twice, a row both
  ///   removed and updated, and two rows at one new index. A row may be moved and updated.
  func check(
    _ alignment: Alignment, deletes: [Int], updates: [Int]
  ) throws(TreeRingError) {
    try checkRange(alignment.removed, below: oldCount, "before the batch")
    try checkRange(updates, below: oldCount, "before the batch")
    try checkOnce(alignment.removed) { "the row at index \($0) is removed or moved twice" }
    try checkOnce(updates) { "the row at index \($0) is updated twice" }
    try checkRange(alignment.added, below: newCount, "after the batch")
    try checkOnce(alignment.added) { "two rows come to index \($0)" }
    let deleted = Set(deletes)
    if let both = updates.first(where: { deleted.contains($0) }) {
      throw Self.refusal("the row at index \(both) is updated and removed")
    }
  }

  private func checkRange(
    _ positions: [Int], below count: Int, _ moment: String
  ) throws(TreeRingError) {
    for position in positions where position < 0 || position >= count {
      throw Self.refusal("index \(position) is out of range: \(count) rows \(moment)")
    }
  }

  private func checkOnce(
    _ ascending: [Int], _ reason: (_ index: Int) -> String
  ) throws(TreeRingError) {
    for (index, next) in zip(ascending, ascending.dropFirst()) where index == next {
      throw Self.refusal(reason(index))
    }
  }

  static func refusal(_ reason: String) -> TreeRingError {
    TreeRingError(.invalidInput, "The batch was refused and nothing applied: \(reason).")
  }
}
