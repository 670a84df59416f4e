// Removing an entry. The editor finds the entry, takes ownership of the path, removes the cell, and
// merges pages that have become too empty. A miss copies no page that is in memory.
//
// An empty page is removed. A page under a quarter full absorbs a neighbour of the same parent, if
// both together leave an eighth of a page free. So after a removal a page is at least a quarter
// full, or its neighbours are over five eighths full, or both would not fit for lack of a common
// prefix. Entries never move between pages that both stay.

internal import TreeRingLog

extension PageEditor {
  /// Removes an entry. O(log n).
  /// - Returns: True if there was one; if not, no entry changed.
  @discardableResult
  package func remove(_ root: inout TreeRoot, key: UnsafeRawBufferPointer) -> Bool {
    guard let place = find(key, in: &root), place.isFound else { return false }
    let depth = place.depth
    let page = ownedLeaf(at: place, of: &root)
    root.count &-= 1
    for step in 0..<depth { path[step].page.counts[path[step].index] &-= 1 }
    page.removeLeafCell(at: place.index)
    if isLow(page) { rebalance(&root, page, depth: depth) }
    return true
  }

  @inline(__always)
  private func isLow(_ page: Page) -> Bool {
    let count = page.cellCount
    if count == 0 || page.usedByteCount < PageLayout.pageByteCount / 4 { return true }
    return cellCapacity != .max && count < (cellCapacity + 2) / 3
  }

  /// Removes or merges a page that has become too empty, and each page above that becomes so as a
  /// result.
  @inline(never)
  private func rebalance(_ root: inout TreeRoot, _ lowPage: Page, depth lowDepth: Int) {
    var page = lowPage
    var depth = lowDepth
    while depth > 0 {
      let parent = path[depth - 1].page
      let index = path[depth - 1].index
      if page.cellCount == 0 {
        parent.removeInnerCell(at: index)
        release(page)
      } else if index + 1 < parent.cellCount, merge(page, parent, index, takingIn: index + 1) {
        // The page now holds the right neighbour's cells.
      } else if index > 0, merge(page, parent, index, takingIn: index - 1) {
        // The page now holds the left neighbour's cells.
      } else {
        break
      }
      page = parent
      depth -= 1
      if !isLow(page) { break }
    }
    lowerRoot(&root)
  }

  /// Merges a neighbour into a page, if the result leaves an eighth of the page free.
  /// - Returns: False, with nothing changed, if it does not.
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
      // The second page's first child gets the separator between the two pages.
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
      page: page.number, birth: birth, count: parent.counts[index] &+ parent.counts[other])
    parent.removeInnerCell(at: left + 1)
    parent.setChild(at: left, to: child)
    release(neighbour)
    return true
  }

  /// Removes root pages with a single child, and the last page when it is empty.
  func lowerRoot(_ root: inout TreeRoot) {
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
