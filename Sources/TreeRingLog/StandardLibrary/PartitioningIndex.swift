// Binary search in a collection, or over positions: `(0..<count).partitioningIndex { … }`.

extension RandomAccessCollection {
  /// The first index whose element fits; `endIndex` if none fits. The elements that fit must come
  /// after all others. O(log n).
  ///
  /// Inlinable: an unspecialised call from another module costs ten times as much.
  @inlinable
  package func partitioningIndex<E: Error>(
    where fits: (Element) throws(E) -> Bool
  ) throws(E) -> Index {
    var low = startIndex
    var count = count
    while count > 0 {
      let half = count / 2
      let middle = index(low, offsetBy: half)
      if try fits(self[middle]) {
        count = half
      } else {
        low = index(after: middle)
        count -= half + 1
      }
    }
    return low
  }
}
