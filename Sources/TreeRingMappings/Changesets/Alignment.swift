// Arithmetic between two lists that agree but for a few positions.
//
// Take `removed` positions out of the old list and `added` ones out of the new: what remains, the
// kept elements, is the same in the same order. With the i-th removed position r, exactly r - i kept
// elements precede it, and r - i never falls as i grows; so the j-th kept element stands in the old
// list at j + (the number of i with r(i) - i <= j). Every question is one binary search.

/// Which positions of two lists hold the same element.
package struct Alignment: Sendable {
  /// Positions of the old list without counterpart, ascending.
  package var removed: [Int] = []
  /// Positions of the new list without counterpart, ascending.
  package var added: [Int] = []

  /// Positions without counterpart, each list ascending.
  package init(removed: [Int] = [], added: [Int] = []) {
    self.removed = removed
    self.added = added
  }

  /// How many kept elements precede an old position. O(log k).
  package func keptBefore(old position: Int) -> Int {
    position - removed.firstIndex(atLeast: position)
  }

  /// How many kept elements precede a new position. O(log k).
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

  /// Where the j-th kept element stands in the old list. O(log k).
  package func oldPosition(ofKept kept: Int) -> Int { kept + removed.leaders(upTo: kept) }

  /// Where the j-th kept element stands in the new list. O(log k).
  package func newPosition(ofKept kept: Int) -> Int { kept + added.leaders(upTo: kept) }
}

extension Range<Int> {
  /// The positions both intervals have; empty if there are none.
  func intersection(_ other: Range<Int>) -> Range<Int> {
    let lower = Swift.max(lowerBound, other.lowerBound)
    return lower..<Swift.max(lower, Swift.min(upperBound, other.upperBound))
  }

  /// The positions of this interval that the other has not, before it and behind it.
  func subtracting(_ other: Range<Int>) -> [Range<Int>] {
    let common = intersection(other)
    if common.isEmpty { return isEmpty ? [] : [self] }
    return [lowerBound..<common.lowerBound, common.upperBound..<upperBound].filter { !$0.isEmpty }
  }
}

extension [Int] {
  /// The first index whose element is at least `value`, in an ascending array; else `count`.
  func firstIndex(atLeast value: Int) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// How many of these positions, strictly ascending, stand before the kept element number `kept` or
  /// beside it: those with `self[i] - i <= kept`.
  func leaders(upTo kept: Int) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle] - middle <= kept { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
