// Iterating a tree entry by entry, in both directions. Between calls a cursor keeps page numbers,
// not pointers, since a page's home may change. It allocates once, when it is created.

internal import TreeRingPlatform

/// A position in a tree. Valid while the tree's root is pinned and, for the tree of an unfinished
/// transaction, until its next edit.
package struct TreeCursor: ~Copyable {
  /// A page on the path and the index of the child on the path; in the leaf, the entry's index.
  struct Step {
    var page: PageNumber
    var index: Int32
    var count: Int32
  }

  /// The tree that the cursor iterates.
  package let tree: Tree
  let table: PageTable
  let steps: UnsafeMutablePointer<Step>
  /// The leaf's index in `steps`; -1 while the cursor is on no entry.
  private var leafDepth = -1
  let keyBuffer: UnsafeMutableRawPointer

  init(_ tree: Tree) {
    self.tree = tree
    table = tree.table
    steps = .allocate(capacity: PageLayout.maxHeight)
    keyBuffer = .allocate(byteCount: PageLayout.maxCellByteCount + 8, alignment: 8)
  }

  deinit {
    steps.deallocate()
    keyBuffer.deallocate()
  }

  /// Whether the cursor is on an entry.
  package var isValid: Bool { leafDepth >= 0 }

  /// Moves to the first entry whose key is not below `key`. O(log n).
  /// - Returns: True if there is one.
  @discardableResult
  mutating func seek(to key: UnsafeRawBufferPointer) -> Bool {
    leafDepth = -1
    if tree.root.page == 0 { return false }
    var number = tree.root.page
    var page = table.top(of: tree.root)
    var depth = 0
    while page.level != 0 {
      let index = page.childIndex(key.start, key.count)
      steps[depth] = Step(page: number, index: Int32(index), count: Int32(page.cellCount))
      depth += 1
      number = page.children[index]
      page = table.child(of: page, at: index)
    }
    let place = page.leafLowerBound(key.start, key.count)
    steps[depth] = Step(page: number, index: Int32(place.index), count: Int32(page.cellCount))
    leafDepth = depth
    return place.index < page.cellCount ? true : goToNextLeaf()
  }

  /// Moves to the entry at a position, counted from 0. O(log n).
  /// - Returns: True if there is one.
  @discardableResult
  mutating func seek(at position: Int) -> Bool {
    leafDepth = -1
    if position < 0 || position >= tree.count { return false }
    var (rest, total) = (UInt64(position), tree.root.count)
    descend(from: tree.root.page, table.top(of: tree.root), depth: 0) { page in
      page.level == 0 ? Int(rest) : page.takeChildIndex(at: &rest, total: &total)
    }
    return isOnEntry || goToNextLeaf()
  }

  /// Moves to the last entry. O(log n).
  /// - Returns: True if there is one.
  @discardableResult
  mutating func seekToLast() -> Bool {
    leafDepth = -1
    if tree.root.page == 0 { return false }
    descend(from: tree.root.page, table.top(of: tree.root), depth: 0) { $0.cellCount - 1 }
    return isOnEntry || goToPreviousLeaf()
  }

  /// Moves to the next entry. Amortised O(1).
  /// - Returns: True if there is one; if not, the cursor is on no entry.
  @discardableResult
  @inline(__always)
  package mutating func next() -> Bool {
    if leafDepth < 0 { return false }
    let step = move(leafDepth, by: 1)
    return step.index < step.count ? true : goToNextLeaf()
  }

  /// Moves to the previous entry. Amortised O(1).
  /// - Returns: True if there is one; if not, the cursor is on no entry.
  @discardableResult
  @inline(__always)
  package mutating func previous() -> Bool {
    if leafDepth < 0 { return false }
    let step = move(leafDepth, by: -1)
    return step.index >= 0 ? true : goToPreviousLeaf()
  }

  /// Calls `body` with the entry's key and value, which are valid inside `body` only. The cursor
  /// must be on an entry.
  @inline(__always)
  func withEntry<R>(
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    let page = leaf
    let index = Int(steps[leafDepth].index)
    page.copyKey(at: index, to: keyBuffer)
    return try body(
      UnsafeRawBufferPointer(start: keyBuffer, count: page.keyLength(at: index)),
      page.value(at: index))
  }

  /// The entry's position, counted from 0. O(log n). The cursor must be on an entry.
  package var position: Int {
    precondition(leafDepth >= 0, "the cursor is on no entry")
    var position = UInt64(steps[leafDepth].index)
    for depth in 0..<leafDepth {
      let step = steps[depth]
      let counts = page(at: depth).counts
      for index in 0..<Int(step.index) { position += counts[index] }
    }
    return Int(position)
  }

  /// Changes one index of the path. It replaces the whole step, because an in-place change here
  /// does not compile with the thread sanitizer.
  @inline(__always)
  private func move(_ depth: Int, by distance: Int32) -> Step {
    var step = steps[depth]
    step.index &+= distance
    steps[depth] = step
    return step
  }

  /// The leaf of the current entry, and the entry's index in it.
  var currentLeaf: (page: Page, index: Int) { (leaf, Int(steps[leafDepth].index)) }

  /// The address of the leaf beside the current one; nil if it has another parent or is not in
  /// memory.
  func neighbour(_ distance: Int32) -> UnsafeRawPointer? {
    guard leafDepth > 0 else { return nil }
    let step = steps[leafDepth - 1]
    let index = step.index + distance
    guard index >= 0, index < step.count else { return nil }
    return UnsafeRawPointer(bitPattern: table.address(page(at: leafDepth - 1).children[Int(index)]))
  }

  /// The leaf of the current entry.
  @inline(__always)
  private var leaf: Page {
    precondition(leafDepth >= 0, "the cursor is on no entry")
    return page(at: leafDepth)
  }

  /// A page of the path. Its address may have changed since the last call.
  @inline(__always)
  private func page(at depth: Int) -> Page {
    if let bytes = UnsafeMutableRawPointer(bitPattern: table.address(steps[depth].page)) {
      return Page(bytes: bytes)
    }
    return evictedPage(at: depth)
  }

  /// An evicted page of the path, fetched again with the birth that the page above it states.
  @inline(never)
  private func evictedPage(at depth: Int) -> Page {
    if depth == 0 { return table.top(of: tree.root) }
    return table.child(of: page(at: depth - 1), at: Int(steps[depth - 1].index))
  }

  /// Descends from a page to a leaf by the index chosen in each page.
  private mutating func descend(
    from top: PageNumber, _ topPage: Page, depth start: Int, choose: (Page) -> Int
  ) {
    var number = top
    var page = topPage
    var depth = start
    while true {
      let index = choose(page)
      steps[depth] = Step(page: number, index: Int32(index), count: Int32(page.cellCount))
      if page.level == 0 { break }
      number = page.children[index]
      page = table.child(of: page, at: index)
      depth += 1
    }
    leafDepth = depth
  }

  /// Whether the current leaf has an entry at the current index. False only in the substitute for a
  /// page that could not be fetched.
  private var isOnEntry: Bool {
    let step = steps[leafDepth]
    return step.index >= 0 && step.index < step.count
  }

  /// Moves to the first entry of the next leaf.
  /// - Returns: True if there is one. If not, or if its page could not be fetched, the cursor is on
  ///   no entry.
  @inline(never)
  mutating func goToNextLeaf() -> Bool {
    var depth = leafDepth - 1
    while depth >= 0, steps[depth].index + 1 == steps[depth].count { depth -= 1 }
    return goToLeaf(from: depth, by: 1) { _ in 0 }
  }

  /// Moves to the last entry of the previous leaf.
  /// - Returns: True if there is one. If not, or if its page could not be fetched, the cursor is on
  ///   no entry.
  @inline(never)
  mutating func goToPreviousLeaf() -> Bool {
    var depth = leafDepth - 1
    while depth >= 0, steps[depth].index == 0 { depth -= 1 }
    return goToLeaf(from: depth, by: -1) { $0.cellCount - 1 }
  }

  /// Descends from the neighbour of a page of the path.
  @inline(__always)
  private mutating func goToLeaf(
    from depth: Int, by distance: Int32, choose: (Page) -> Int
  ) -> Bool {
    leafDepth = -1
    if depth < 0 { return false }
    let step = move(depth, by: distance)
    let parent = page(at: depth)
    let child = parent.children[Int(step.index)]
    descend(
      from: child, table.child(of: parent, at: Int(step.index)), depth: depth + 1, choose: choose)
    if !isOnEntry { leafDepth = -1 }
    return leafDepth >= 0
  }
}
