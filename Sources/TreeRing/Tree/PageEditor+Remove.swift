// Removing an entry: found first, so that a miss copies nothing; then the path becomes this
// editor's, the cell goes, and pages that ran low are merged.
//
// A page that runs empty is taken out. A page under a quarter full takes in a neighbour of the same
// parent, if both together leave an eighth of a page free. So after a removal in it a page is either
// a quarter full, or its neighbours are more than five eighths full, or they share no prefix and
// would not fit. Entries are never moved between pages that both stay.

internal import TreeRingLog

extension PageEditor {
  /// Removes an entry. O(log n).
  /// - Returns: whether there was one; if not, nothing changed.
  @discardableResult
  package func remove(_ root: inout TreeRoot, key: UnsafeRawBufferPointer) -> Bool {
    if root.page == 0 { return false }
    let keyStart = key.start
    var page = table.top(of: root)
    var depth = 0
    while page.level != 0 {
      let index = page.childIndex(keyStart, key.count)
      path[depth].index = index
      depth &+= 1
      page = table.child(of: page, at: index)
    }
    let place = page.leafLowerBound(keyStart, key.count)
    if !place.isFound { return false }

    root.count -= 1
    page = ownedRoot(&root)
    for step in 0..<depth {
      let index = path[step].index
      path[step].page = page
      page.counts[index] -= 1
      page = ownedChild(of: page, at: index)
    }
    page.removeLeafCell(at: place.index)
    if isLow(page) { mend(&root, page, depth: depth) }
    return true
  }

  @inline(__always)
  private func isLow(_ page: Page) -> Bool {
    let count = page.cellCount
    if count == 0 || page.usedByteCount < PageLayout.pageByteCount / 4 { return true }
    return cellCapacity != .max && count < (cellCapacity + 2) / 3
  }

  /// Takes out or merges a page that ran low, and whatever above it runs low by that.
  @inline(never)
  private func mend(_ root: inout TreeRoot, _ lowPage: Page, depth lowDepth: Int) {
    var page = lowPage
    var depth = lowDepth
    while depth > 0 {
      let parent = path[depth - 1].page
      let index = path[depth - 1].index
      if page.cellCount == 0 {
        parent.removeInnerCell(at: index)
        release(page)
      } else if index + 1 < parent.cellCount, merge(page, parent, index, takingIn: index + 1) {
        // The right neighbour is now part of the page.
      } else if index > 0, merge(page, parent, index, takingIn: index - 1) {
        // The left neighbour is now part of the page.
      } else {
        break
      }
      page = parent
      depth -= 1
      if !isLow(page) { break }
    }
    lowerRoot(&root)
  }

  /// Merges a neighbour into a page, if the result leaves room for some more.
  private func merge(_ page: Page, _ parent: Page, _ index: Int, takingIn other: Int) -> Bool {
    let neighbour = table.child(of: parent, at: other)
    if neighbour.usedByteCount + page.usedByteCount > PageLayout.pageByteCount * 2 { return false }
    let list = list
    list.reset(for: page, neighbour, parent)
    let source = list.setAside(page)
    let left = min(index, other)
    let (first, second) = index < other ? (source, neighbour) : (neighbour, source)
    list.append(first, 0..<first.cellCount)
    list.append(second, 0..<second.cellCount)
    let level = page.level
    if level > 0 {
      // The second page's first child gets the separator that stood between the two pages.
      list.takeKey(at: first.cellCount, from: parent, left + 1)
    }
    let all = 0..<list.count
    if list.count > cellCapacity
      || list.byteCount(all, isLeaf: level == 0) > PageLayout.pageByteCount * 7 / 8
    {
      return false
    }
    list.write(all, to: page, number: page.number, birth: birth, owner: owner, level: level)
    let child = ChildReference(
      page: page.number, birth: birth, count: parent.counts[index] + parent.counts[other])
    parent.removeInnerCell(at: left + 1)
    parent.setChild(at: left, to: child)
    release(neighbour)
    return true
  }

  /// Drops root pages with a single child, and the last page when it is empty.
  private func lowerRoot(_ root: inout TreeRoot) {
    while root.page != 0 {
      let page = table.top(of: root)
      if page.cellCount > 1 || (page.level == 0 && page.cellCount > 0) { return }
      if page.cellCount == 0 {
        root = .empty
      } else {
        let child = page.child(at: 0)
        root.page = child.page
        root.birth = child.birth
      }
      release(page)
    }
  }
}
