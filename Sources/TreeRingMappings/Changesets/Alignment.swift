// Arithmetic between two lists that differ at only a few positions.
//
// Without the removed positions of the old list and the added ones of the new, both lists hold the
// kept elements in the same order. If r is the i-th removed position, exactly r - i kept elements
// precede it, and r - i never falls as i grows. So the j-th kept element is at old position j plus
// the number of i with r(i) - i <= j. Each query is one binary search.

internal import TreeRingLog

/// The correspondence of positions in two lists that hold the same elements.
package struct Alignment: Sendable {
  /// Positions of the old list without counterpart, ascending.
  package var removed: [Int] = []
  /// Positions of the new list without counterpart, ascending.
  package var added: [Int] = []

  /// An alignment by its unmatched positions, each list ascending.
  package init(removed: [Int] = [], added: [Int] = []) {
    self.removed = removed
    self.added = added
  }

  /// The number of kept elements before an old position. O(log k).
  package func keptBefore(old position: Int) -> Int {
    position - removed.firstIndex(atLeast: position)
  }

  /// The number of kept elements before a new position. O(log k).
  package func keptBefore(new position: Int) -> Int {
    position - added.firstIndex(atLeast: position)
  }

  /// The kept elements among these old positions. O(log k).
  package func kept(inOld positions: Range<Int>) -> Range<Int> {
    keptBefore(old: positions.lowerBound)..<keptBefore(old: positions.upperBound)
  }

  /// The kept elements among these new positions. O(log k).
  package func kept(inNew positions: Range<Int>) -> Range<Int> {
    keptBefore(new: positions.lowerBound)..<keptBefore(new: positions.upperBound)
  }

  /// The old position of the j-th kept element. O(log k).
  package func oldPosition(ofKept kept: Int) -> Int { kept + removed.count(beforeKept: kept) }

  /// The new position of the j-th kept element. O(log k).
  package func newPosition(ofKept kept: Int) -> Int { kept + added.count(beforeKept: kept) }

  /// An element of one of the lists.
  enum Element {
    /// A removed or added one, by its index in `removed` or `added`.
    case unmatched(Int)
    /// A kept one, by its number.
    case kept(Int)
  }

  /// The element at an old position. O(log k).
  func oldElement(at position: Int) -> Element { Self.element(at: position, without: removed) }

  /// The element at a new position. O(log k).
  func newElement(at position: Int) -> Element { Self.element(at: position, without: added) }

  private static func element(at position: Int, without unmatched: [Int]) -> Element {
    let index = unmatched.firstIndex(atLeast: position)
    return index < unmatched.count && unmatched[index] == position
      ? .unmatched(index) : .kept(position - index)
  }
}

extension Range<Int> {
  /// The positions of this interval outside the other, before it and behind it.
  package func subtracting(_ other: Range<Int>) -> [Range<Int>] {
    let common = clamped(to: other)
    if common.isEmpty { return isEmpty ? [] : [self] }
    return [lowerBound..<common.lowerBound, common.upperBound..<upperBound].filter { !$0.isEmpty }
  }
}

extension RandomAccessCollection<Int> {
  /// The first index whose element is at least `value`, in ascending order; else `endIndex`.
  func firstIndex(atLeast value: Int) -> Index { partitioningIndex { $0 >= value } }
}

extension [Int] {
  /// The number of these strictly ascending unmatched positions before a kept element, by its
  /// number.
  func count(beforeKept kept: Int) -> Int { indices.partitioningIndex { self[$0] - $0 > kept } }
}
