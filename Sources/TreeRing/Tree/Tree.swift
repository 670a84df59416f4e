// Reading a tree: lookups, positions, counts. Reads follow page numbers through the page table,
// without locks, reference counts or allocation. Any number of threads may read a tree while its
// root is pinned. Only a transaction's own thread may read the tree of an unfinished transaction,
// between its edits.

internal import TreeRingLog
internal import TreeRingPlatform

/// A readable tree. Valid while its root is pinned.
package struct Tree: Sendable {
  /// The root of the tree.
  package let root: TreeRoot
  /// The store of its pages.
  package let pages: PageStore
  let table: PageTable

  package init(_ root: TreeRoot, pages: PageStore) {
    self.root = root
    self.pages = pages
    table = pages.table
  }

  /// The number of entries.
  package var count: Int { Int(root.count) }
  /// Whether the tree has no entries.
  package var isEmpty: Bool { root.count == 0 }

  /// The leaf and index of a key, or of the first key after it. The index may be the leaf's end.
  @inline(__always)
  func locate(
    _ key: UnsafeRawPointer, _ keyLength: Int
  ) -> (leaf: Page, index: Int, isFound: Bool) {
    var page = table.top(of: root)
    while page.level != 0 {
      let isAboveLeaves = page.level == 1
      page = table.child(of: page, at: page.childIndex(key, keyLength))
      if isAboveLeaves { page.prefetchSlots() }
    }
    let place = page.leafLowerBound(key, keyLength)
    return (page, place.index, place.isFound)
  }

  /// Whether there is an entry with this key. O(log n).
  package func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    if root.page == 0 { return false }
    return locate(key.start, key.count).isFound
  }

  /// The value of a key, in place; nil if there is no entry. The bytes are valid while the root is
  /// pinned, and within the calling read section only. O(log n).
  package func value(of key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    if root.page == 0 { return nil }
    let place = locate(key.start, key.count)
    return place.isFound ? place.leaf.value(at: place.index) : nil
  }

  /// The number of entries whose key lies before `key`, which need not exist. O(log n).
  package func rank(of key: UnsafeRawBufferPointer) -> Int {
    place(of: key).rank
  }

  /// The number of entries before `key`, and whether there is an entry with that key. O(log n).
  package func place(of key: UnsafeRawBufferPointer) -> (rank: Int, isFound: Bool) {
    if root.page == 0 { return (0, false) }
    let (leaf, before) = leaf(of: key)
    let place = leaf.leafLowerBound(key.start, key.count)
    return (rank(before, place.index), place.isFound)
  }

  /// The number of entries before one whose key is `key`. There must be one; without, the result is
  /// that of `rank(of:)` or one more or less. O(log n), mostly without a read of the entry itself.
  package func rank(ofPresent key: UnsafeRawBufferPointer) -> Int {
    if root.page == 0 { return 0 }
    let (leaf, before) = leaf(of: key)
    return rank(before, leaf.leafIndex(ofPresent: key.start, key.count))
  }

  /// The leaf of a key, and the number of entries before that leaf. The tree has entries.
  @inline(__always)
  private func leaf(of key: UnsafeRawBufferPointer) -> (leaf: Page, before: UInt64) {
    var page = table.top(of: root)
    var total = root.count
    var before: UInt64 = 0
    while page.level != 0 {
      let isAboveLeaves = page.level == 1
      page = child(of: page, towards: key.start, key.count, rank: &before, total: &total)
      if isAboveLeaves { page.prefetchSlots() }
    }
    return (page, before)
  }

  /// The position of an entry: the number of entries before its leaf, plus its index there. At most
  /// the tree's count, because counts in a damaged file may add up to any number.
  @inline(__always)
  func rank(_ before: UInt64, _ index: Int) -> Int {
    Int(min(before &+ UInt64(index), root.count))
  }

  /// The child of an inner page that holds a key.
  /// - Parameters:
  ///   - rank: Grows by the number of entries below the children before it.
  ///   - total: The number of entries below the page; becomes that of the child.
  @inline(__always)
  func child(
    of page: Page, towards key: UnsafeRawPointer, _ keyLength: Int, rank: inout UInt64,
    total: inout UInt64
  ) -> Page {
    let index = page.childIndex(key, keyLength)
    let counts = page.counts
    let cellCount = page.cellCount
    // Adds up the shorter side of the page; the total gives the other.
    if index &* 2 <= cellCount {
      for place in 0..<index { rank &+= counts[place] }
    } else {
      var after: UInt64 = 0
      for place in index..<cellCount { after &+= counts[place] }
      rank &+= total &- after
    }
    total = counts[index]
    return table.child(of: page, at: index)
  }

  /// The leaf and index of the entry at a position, which must exist.
  @inline(__always)
  func locate(at position: Int) -> (leaf: Page, index: Int) {
    precondition(position >= 0 && UInt64(position) < root.count, "no entry at this position")
    var page = table.top(of: root)
    var rest = UInt64(position)
    var total = root.count
    while page.level != 0 {
      let isAboveLeaves = page.level == 1
      page = table.child(of: page, at: page.takeChildIndex(at: &rest, total: &total))
      if isAboveLeaves { page.prefetchSlot(at: Int(rest)) }
    }
    // The entry exists, unless a page could not be fetched.
    return (page, min(Int(rest), max(0, page.cellCount &- 1)))
  }

  /// Calls `body` with the key and value of the entry at a position, counted from 0. Both are empty
  /// if a page could not be fetched. O(log n).
  func withEntry<R, E: Error>(
    at position: Int,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    let (leaf, index) = locate(at: position)
    let keyLength = leaf.keyLength(at: index)
    return try withUnsafeTemporaryAllocation(byteCount: keyLength + 8, alignment: 8) {
      (buffer) throws(E) in
      let start = buffer.baseAddress.unsafelyUnwrapped
      leaf.copyKey(at: index, to: start)
      return try body(UnsafeRawBufferPointer(start: start, count: keyLength), leaf.value(at: index))
    }
  }

  /// The number of entries with `lower` ≤ key < `upper`; a nil bound is no bound. O(log n).
  package func count(
    from lower: UnsafeRawBufferPointer? = nil, to upper: UnsafeRawBufferPointer? = nil
  ) -> Int {
    let start = lower.map { rank(of: $0) } ?? 0
    let end = upper.map { rank(of: $0) } ?? count
    return max(0, end - start)
  }

  /// A cursor on no entry; seek before use.
  func makeCursor() -> TreeCursor { TreeCursor(self) }
}
