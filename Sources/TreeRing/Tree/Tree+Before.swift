// The entry of a key, or the last one before it.

extension Tree {
  /// Calls `body` with the last key below `bound`; returns nil if there is none. O(log n).
  func withKey<R>(
    before bound: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> R
  ) -> R? {
    let found: R?? = withEntry(atOrBefore: bound) { key, _ in
      KeyOrder.compare(key, bound) == 0 ? nil : body(key)
    }
    guard let found else { return nil }
    if let found { return found }
    let rank = rank(of: bound)
    return rank == 0 ? nil : withEntry(at: rank - 1) { key, _ in body(key) }
  }

  /// Calls `body` with the last entry whose key is not above `key`; returns nil if there is none.
  /// O(log n).
  @discardableResult
  func withEntry<R, E: Error>(
    atOrBefore key: UnsafeRawBufferPointer,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R? {
    if root.page == 0 { return nil }
    let place = locate(key.start, key.count)
    let index = place.isFound ? place.index : place.index - 1
    if index < 0 {
      // It is in the leaf before this one.
      let rank = rank(of: key)
      return rank == 0 ? nil : try withEntry(at: rank - 1, body)
    }
    let leaf = place.leaf
    // The leaf is empty if a page could not be fetched.
    guard index < leaf.cellCount else { return nil }
    let keyLength = leaf.keyLength(at: index)
    return try withUnsafeTemporaryAllocation(byteCount: keyLength + 8, alignment: 8) {
      (buffer) throws(E) in
      let start = buffer.baseAddress.unsafelyUnwrapped
      leaf.copyKey(at: index, to: start)
      return try body(UnsafeRawBufferPointer(start: start, count: keyLength), leaf.value(at: index))
    }
  }
}
