// The path from the root to a leaf. An edit finds the place of its key, then takes ownership of the
// path from the root down.
//
// A page that is not in memory would be fetched, and copied when the editor takes ownership of it.
// Instead `find` reads it into a page of the editor right away. That spares an access to the file's
// mapping, a copy, and an address in the page table.

internal import TreeRingLog

/// The place of a key in a tree. The editor has the path to it, until its next call.
struct KeyPlace {
  let leaf: Page
  /// The index of the first entry of the leaf that is not below the key.
  let index: Int
  /// Whether that entry has the key.
  let isFound: Bool
  /// The number of steps on the editor's path.
  let depth: Int
  /// Whether the leaf is the tree's last.
  let isLast: Bool

  /// The value of the key, in place; nil if there is no entry.
  var value: UnsafeRawBufferPointer? { isFound ? leaf.value(at: index) : nil }
}

extension PageEditor {
  /// The place of a key in a tree, with the path to it, for a caller that edits the leaf next. The
  /// editor owns at once those pages of the path that were not in memory. O(log n).
  func find(_ key: UnsafeRawBufferPointer, in root: inout TreeRoot) -> KeyPlace? {
    if root.page == 0 { return nil }
    let keyStart = key.start
    let keyLength = key.count
    var page = table.top(of: root)
    var depth = 0
    var isLast = true
    while page.level != 0 {
      let index = page.childIndex(keyStart, keyLength)
      if index != page.cellCount &- 1 { isLast = false }
      path[depth] = PathStep(page: page, index: index)
      depth &+= 1
      let isAboveLeaves = page.level == 1
      page =
        table.childInMemory(of: page, at: index) ?? absentPage(of: &root, depth: depth)
      if isAboveLeaves { page.prefetchSlots() }
    }
    let (index, isFound) = page.leafLowerBound(keyStart, keyLength)
    return KeyPlace(leaf: page, index: index, isFound: isFound, depth: depth, isLast: isLast)
  }

  /// Takes ownership of the pages on the path to a place, and returns the leaf.
  @inline(__always)
  func ownedLeaf(at place: KeyPlace, of root: inout TreeRoot) -> Page {
    own(place.leaf, below: ownedPath(of: &root, depth: place.depth), &root)
  }

  /// Takes ownership of the pages on the path, and returns its last step; nil if it has none.
  @inline(__always)
  func ownedPath(of root: inout TreeRoot, depth: Int) -> PathStep? {
    var above: PathStep?
    for step in 0..<depth {
      path[step].page = own(path[step].page, below: above, &root)
      above = path[step]
    }
    return above
  }

  /// Takes ownership of a page below the last step; below nil, of the topmost page.
  @inline(__always)
  private func own(_ page: Page, below above: PathStep?, _ root: inout TreeRoot) -> Page {
    if page.owner == owner { return page }
    let new = copy(page)
    if let above { return link(new, below: above) }
    root.page = new.number
    root.birth = new.birth
    return new
  }

  /// The page below the path, which is not in memory; this editor owns it after the call.
  @inline(never)
  private func absentPage(of root: inout TreeRoot, depth: Int) -> Page {
    guard let above = ownedPath(of: &root, depth: depth) else {
      preconditionFailure("the topmost page is in memory")
    }
    if let new = copyFromFile(childOf: above.page, at: above.index) {
      return link(new, below: above)
    }
    return own(table.child(of: above.page, at: above.index), below: above, &root)
  }

  /// Makes an own page the child that the path leads to.
  @inline(__always)
  private func link(_ new: Page, below above: PathStep) -> Page {
    above.page.children[above.index] = new.number
    above.page.births[above.index] = new.birth
    return new
  }
}
