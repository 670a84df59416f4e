// Scanning a range of a tree in one call, in both directions. The scan holds pointers from leaf to
// leaf, copies a page's prefix once, and allocates nothing per entry. While it reads one leaf it
// prefetches the next, since a scan is bound by memory.
//
// A scan ends at the first page that this thread could not fetch, before it passes on any entry
// found below the page's substitute. The read section around the scan throws the error.

internal import CTreeRing
internal import TreeRingPlatform

extension Tree {
  /// Calls `body` with every entry of `lower` ≤ key < `upper` in ascending order, until it returns
  /// false. A nil bound is no bound. Key and value are valid inside `body` only. O(log n +
  /// entries).
  @inline(__always)
  package func forEach<E: Error>(
    from lower: UnsafeRawBufferPointer? = nil, to upper: UnsafeRawBufferPointer? = nil,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(E) -> Bool
  ) throws(E) {
    let start = lower.map { rank(of: $0) } ?? 0
    let end = upper.map { rank(of: $0) } ?? count
    if start < end { try forEach(in: start..<end, body) }
  }

  /// Calls `body` with every entry of `lower` ≤ key < `upper` in descending order, until it returns
  /// false. A nil bound is no bound. Key and value are valid inside `body` only. O(log n +
  /// entries).
  @inline(__always)
  func forEachBackward<E: Error>(
    from lower: UnsafeRawBufferPointer? = nil, to upper: UnsafeRawBufferPointer? = nil,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(E) -> Bool
  ) throws(E) {
    let start = lower.map { rank(of: $0) } ?? 0
    let end = upper.map { rank(of: $0) } ?? count
    if start < end { try forEachBackward(in: start..<end, body) }
  }

  /// Calls `body` with the entries at these positions in ascending order, until it returns false.
  /// The positions must exist. O(log n + entries).
  package func forEach<E: Error>(
    in positions: Range<Int>,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(E) -> Bool
  ) throws(E) {
    if positions.isEmpty { return }
    var cursor = makeCursor()
    precondition(positions.lowerBound >= 0 && positions.upperBound <= count, "no such positions")
    let failures = pages.fetchFailureCount
    if !cursor.seek(at: positions.lowerBound) { return }
    var rest = positions.count
    while rest > 0, !pages.hasFailedFetch(since: failures) {
      let leaf = cursor.currentLeaf
      let end = min(leaf.page.cellCount, leaf.index + rest)
      rest -= end - leaf.index
      if try !cursor.visit(leaf.page, leaf.index..<end, isForward: true, body) { return }
      // There is a next leaf, unless a page could not be fetched.
      if rest > 0, !cursor.goToNextLeaf() { return }
    }
  }

  /// Calls `body` with the entries at these positions in descending order, until it returns false.
  /// The positions must exist. O(log n + entries).
  func forEachBackward<E: Error>(
    in positions: Range<Int>,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(E) -> Bool
  ) throws(E) {
    if positions.isEmpty { return }
    var cursor = makeCursor()
    precondition(positions.lowerBound >= 0 && positions.upperBound <= count, "no such positions")
    let failures = pages.fetchFailureCount
    if !cursor.seek(at: positions.upperBound - 1) { return }
    var rest = positions.count
    while rest > 0, !pages.hasFailedFetch(since: failures) {
      let leaf = cursor.currentLeaf
      let start = max(0, leaf.index + 1 - rest)
      rest -= leaf.index + 1 - start
      if try !cursor.visit(leaf.page, start..<(leaf.index + 1), isForward: false, body) { return }
      // There is a previous leaf, unless a page could not be fetched.
      if rest > 0, !cursor.goToPreviousLeaf() { return }
    }
  }

  /// Calls `body` with the value of each key that starts with `prefix`, and with the rest of the
  /// key, in ascending order. Meant for few entries: if they lie in one leaf, nothing is allocated.
  /// O(log n + entries).
  package func forEach(
    startingWith prefix: UnsafeRawBufferPointer,
    _ body: (_ rest: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    if root.page == 0 { return }
    func visit(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool {
      guard key.count >= prefix.count, memcmp(key.start, prefix.start, prefix.count) == 0 else {
        return false
      }
      try body(UnsafeRawBufferPointer(rebasing: key[prefix.count...]), value)
      return true
    }
    let (leaf, start, _) = locate(prefix.start, prefix.count)
    var index = start
    while index < leaf.cellCount {
      let length = leaf.keyLength(at: index)
      let isInside = try withUnsafeTemporaryAllocation(byteCount: length + 8, alignment: 8) { key in
        leaf.copyKey(at: index, to: key.baseAddress.unsafelyUnwrapped)
        return try visit(
          UnsafeRawBufferPointer(rebasing: key[..<length]), leaf.value(at: index))
      }
      if !isInside { return }
      index += 1
    }
    // The entries may continue in the next leaf.
    var cursor = makeCursor()
    var isInside = cursor.seek(to: prefix)
    for _ in start..<index where isInside { isInside = cursor.next() }
    while isInside {
      isInside = try cursor.withEntry(visit)
      if isInside { isInside = cursor.next() }
    }
  }
}

extension TreeCursor {
  private static var lineByteCount: Int { 64 }
  private static var linesPerStep: Int { 4 }
  private static var prefetchedSteps: Int {
    PageLayout.pageByteCount / lineByteCount / linesPerStep
  }

  /// Calls `body` with entries of one leaf and prefetches the next leaf in that direction.
  /// - Returns: False if `body` stopped the scan.
  @inline(__always)
  func visit<E: Error>(
    _ page: Page, _ range: Range<Int>, isForward: Bool,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(E) -> Bool
  ) throws(E) -> Bool {
    let prefixLength = page.prefixLength
    if prefixLength > 0 { memcpy(keyBuffer, page.prefix, prefixLength) }
    let rest = keyBuffer + prefixLength
    let slots = page.slots
    let bytes = page.bytes
    let ahead = neighbour(isForward ? 1 : -1)
    for step in 0..<range.count {
      if let ahead, step < Self.prefetchedSteps {
        for line in 0..<Self.linesPerStep {
          treering_prefetch(ahead + (step &* Self.linesPerStep &+ line) &* Self.lineByteCount)
        }
      }
      let slot = slots[isForward ? range.lowerBound &+ step : range.upperBound &- 1 &- step]
      let cell = bytes + Int(slot.offset)
      let keyLength = Int(slot.keyLength)
      rest.storeBytes(of: slot.head.bigEndian, as: UInt32.self)
      let tailLength = max(0, keyLength &- PageLayout.headByteCount)
      if tailLength > 0 { memcpy(rest + PageLayout.headByteCount, cell + 2, tailLength) }
      let key = UnsafeRawBufferPointer(start: keyBuffer, count: prefixLength &+ keyLength)
      let value = UnsafeRawBufferPointer(
        start: cell + 2 + tailLength, count: Int(cell.loadUnaligned(as: UInt16.self)))
      if try !body(key, value) { return false }
    }
    return true
  }
}
