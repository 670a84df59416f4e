// The checks of a batch's positions. They find every error before the batch is applied.

internal import TreeRingLog
internal import TreeRingMappings

/// Checks positions against the counts before and after, and against each other.
struct BatchCheck {
  let oldCount: Int
  let newCount: Int

  /// - Parameters:
  ///   - places: The old positions of removed or placed rows, and the new ones of inserted or
  ///     placed rows.
  ///   - deletes: The old positions of the removed rows.
  ///   - updates: Old positions, ascending.
  /// - Throws: `invalidInput` for an index out of range, a row removed or updated twice, a row both
  ///   removed and updated, and two rows at one new index. A row may be moved and updated.
  func check(
    _ places: Alignment, deletes: [Int], updates: [Int]
  ) throws(TreeRingError) {
    let (going, coming) = (places.removed, places.added)
    try checkRange(going, below: oldCount, "before the batch")
    try checkRange(updates, below: oldCount, "before the batch")
    try checkOnce(going, "row leaves its place twice")
    try checkOnce(updates, "row is updated twice")
    try checkRange(coming, below: newCount, "after the batch")
    try checkOnce(coming, "second row comes")
    let deleted = Set(deletes)
    if let both = updates.first(where: { deleted.contains($0) }) {
      throw Self.refusal("the row at \(both) is updated and removed")
    }
  }

  private func checkRange(
    _ positions: [Int], below count: Int, _ moment: String
  ) throws(TreeRingError) {
    for position in positions where position < 0 || position >= count {
      throw Self.refusal("index \(position) is out of range: \(count) rows \(moment)")
    }
  }

  private func checkOnce(_ ascending: [Int], _ what: String) throws(TreeRingError) {
    for (index, next) in zip(ascending, ascending.dropFirst()) where index == next {
      throw Self.refusal("a \(what) at index \(index)")
    }
  }

  static func refusal(_ reason: String) -> TreeRingError {
    TreeRingError(.invalidInput, "The batch was refused and nothing applied: \(reason).")
  }
}
