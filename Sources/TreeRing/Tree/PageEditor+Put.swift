// Putting an entry. The editor descends to the leaf and inserts the entry if there is room;
// otherwise it rewrites the page's layout or splits the page.
//
// A key after all others gets a page of its own, so that ascending keys leave full pages. All other
// splits cut in the middle.

internal import TreeRingLog
internal import TreeRingPlatform

extension PageEditor {
  /// Inserts an entry or replaces its value. O(log n).
  /// - Parameters:
  ///   - root: The tree. It changes, unless the editor already owns every page that the edit
  ///     changes.
  ///   - key: Together with `value` at most `PageLayout.maxCellByteCount` bytes.
  ///   - value: Must not lie in a page of this tree.
  /// - Returns: True if the key is new.
  @discardableResult
  package func put(
    _ root: inout TreeRoot, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) -> Bool {
    put(&root, at: find(key, in: &root), key: key, value: value)
  }

  /// Inserts an entry or replaces its value at the place that `find` has returned for its key and
  /// this root. No other call may have used the editor since. The place's pages stay in memory
  /// within the read section, even if they were evicted since.
  @discardableResult
  func put(
    _ root: inout TreeRoot, at place: KeyPlace?, key: UnsafeRawBufferPointer,
    value: UnsafeRawBufferPointer
  ) -> Bool {
    precondition(
      key.count + value.count <= PageLayout.maxCellByteCount, "key and value exceed half a page")
    guard let place else {
      makeFirstPage(&root, key: key, value: value)
      return true
    }
    let depth = place.depth
    let page = ownedLeaf(at: place, of: &root)
    if place.isFound {
      if !page.overwriteValue(at: place.index, with: value) {
        replaceCell(&root, page, at: place.index, depth: depth, key: key, value: value)
      }
      return false
    }
    root.count &+= 1
    for step in 0..<depth { path[step].page.counts[path[step].index] &+= 1 }
    if page.cellCount < cellCapacity, page.sharesPrefix(key.start, key.count),
      page.insertLeafCell(
        at: place.index, key: key.start, keyLength: key.count, value: value.start,
        valueLength: value.count)
    {
      return true
    }
    insertByLayout(
      &root, page, at: place.index, depth: depth, isLast: place.isLast, key: key, value: value)
    return true
  }

  private func makeFirstPage(
    _ root: inout TreeRoot, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) {
    let (number, page) = allocate(level: 0)
    let list = list
    page.initialize(number: number, birth: birth, owner: owner, level: 0)
    list.reset(for: page)
    list.append(Cell(key: key, value: value))
    list.write(0..<1, to: page, number: number, birth: birth, owner: owner, level: 0)
    root = TreeRoot(page: number, birth: birth, count: 1)
  }

  /// Replaces a cell by a longer one.
  @inline(never)
  private func replaceCell(
    _ root: inout TreeRoot, _ page: Page, at index: Int, depth: Int,
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) {
    let old = page.value(at: index).count
    if page.heapStart - page.gapStart + page.deadByteCount < value.count - old {
      let list = list
      list.reset(for: page)
      let source = list.setAside(page)
      list.append(source, 0..<index)
      list.append(Cell(key: key, value: value))
      list.append(source, (index + 1)..<source.cellCount)
      layOut(&root, page, depth: depth, appendedAt: nil)
      return
    }
    page.removeLeafCell(at: index)
    if page.insertLeafCell(
      at: index, key: key.start, keyLength: key.count, value: value.start,
      valueLength: value.count)
    {
      return
    }
    insertByLayout(&root, page, at: index, depth: depth, isLast: false, key: key, value: value)
  }

  /// Inserts a cell that does not fit the gap, or does not share the prefix, by rewriting the
  /// layout.
  @inline(never)
  private func insertByLayout(
    _ root: inout TreeRoot, _ page: Page, at index: Int, depth: Int, isLast: Bool,
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) {
    let isAppended = isLast && index == page.cellCount
    if isAppended, page.deadByteCount == 0, page.sharesPrefix(key.start, key.count) {
      appendPage(&root, after: page, depth: depth, key: key, value: value)
      return
    }
    let list = list
    list.reset(for: page)
    let source = list.setAside(page)
    list.append(source, 0..<index)
    list.append(Cell(key: key, value: value))
    list.append(source, index..<source.cellCount)
    layOut(&root, page, depth: depth, appendedAt: isAppended ? index : nil)
  }

  /// Appends a new page after the last one, which is full and stays as it is.
  private func appendPage(
    _ root: inout TreeRoot, after page: Page, depth: Int,
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) {
    let list = list
    list.reset(for: page)
    list.append(page, (page.cellCount - 1)..<page.cellCount)
    list.append(Cell(key: key, value: value))
    let (rightNumber, right) = allocate(level: 0)
    list.write(1..<2, to: right, number: rightNumber, birth: birth, owner: owner, level: 0)
    let separatorLength = list.separatorLength(before: 1)
    let separator = keepSeparator(key.start, length: separatorLength)
    finishSplit(
      &root, page, leftCount: UInt64(page.cellCount), separator, separatorLength,
      ChildReference(page: rightNumber, birth: birth, count: 1), depth: depth, isAppended: true)
  }

  /// Writes the cell list to a page, or to that page and a new one to its right.
  /// - Parameter appendedAt: The index to split at, if the list must be split and its last cell is
  ///   the last of the whole tree; otherwise nil.
  private func layOut(_ root: inout TreeRoot, _ page: Page, depth: Int, appendedAt: Int?) {
    let list = list
    let level = page.level
    let isLeaf = level == 0
    let number = page.number
    let all = 0..<list.count
    if list.fits(all, isLeaf: isLeaf, cellCapacity: cellCapacity) {
      list.write(all, to: page, number: number, birth: birth, owner: owner, level: level)
      return
    }
    let cut = appendedAt ?? list.splitIndex(isLeaf: isLeaf, cellCapacity: cellCapacity)
    guard let cut else { return table.refuseDisorder(page) }
    let (rightNumber, right) = allocate(level: level)
    list.write(0..<cut, to: page, number: number, birth: birth, owner: owner, level: level)
    list.write(
      cut..<list.count, to: right, number: rightNumber, birth: birth, owner: owner, level: level)
    let leftCount = list.entryCount(0..<cut)
    let rightCount = list.entryCount(cut..<list.count)
    let cell = list.cells[cut]
    let separatorLength = isLeaf ? list.separatorLength(before: cut) : cell.keyLength
    let separator = keepSeparator(cell.key, length: separatorLength)
    finishSplit(
      &root, page, leftCount: leftCount, separator, separatorLength,
      ChildReference(page: rightNumber, birth: birth, count: rightCount), depth: depth,
      isAppended: appendedAt != nil)
  }

  /// Adds the right page of a split to the page above, or makes a new root above both.
  private func finishSplit(
    _ root: inout TreeRoot, _ page: Page, leftCount: UInt64, _ separator: UnsafeRawPointer,
    _ separatorLength: Int, _ right: ChildReference, depth: Int, isAppended: Bool
  ) {
    if depth == 0 {
      let left = ChildReference(page: page.number, birth: birth, count: leftCount)
      growRoot(
        &root, left: left, separator, separatorLength, right: right, level: page.level + 1)
      return
    }
    let parent = path[depth - 1]
    parent.page.counts[parent.index] = leftCount
    insertChild(
      &root, separator, separatorLength, right, depth: depth - 1, isLast: isAppended)
  }

  /// Adds a child to the right of the child on the path.
  private func insertChild(
    _ root: inout TreeRoot, _ separator: UnsafeRawPointer, _ separatorLength: Int,
    _ child: ChildReference, depth: Int, isLast: Bool
  ) {
    let page = path[depth].page
    let index = path[depth].index + 1
    // The prefix of an inner page counts from its second child on.
    if page.cellCount < cellCapacity, page.cellCount > 1,
      page.sharesPrefix(separator, separatorLength),
      page.insertInnerCell(at: index, key: separator, keyLength: separatorLength, child: child)
    {
      return
    }
    let list = list
    list.reset(for: page)
    let source = list.setAside(page)
    list.append(source, 0..<index)
    list.append(
      Cell(
        key: separator, keyLength: separatorLength, value: separator, valueLength: 0, child: child))
    list.append(source, index..<source.cellCount)
    layOut(&root, page, depth: depth, appendedAt: isLast ? index : nil)
  }

  private func growRoot(
    _ root: inout TreeRoot, left: ChildReference, _ separator: UnsafeRawPointer,
    _ separatorLength: Int, right: ChildReference, level: Int
  ) {
    precondition(level < PageLayout.maxHeight, "the tree is too high")
    let (number, page) = allocate(level: level)
    page.initialize(number: number, birth: birth, owner: owner, level: level)
    let list = list
    list.reset(for: page)
    list.append(
      Cell(key: separator, keyLength: 0, value: separator, valueLength: 0, child: left))
    list.append(
      Cell(
        key: separator, keyLength: separatorLength, value: separator, valueLength: 0, child: right))
    list.write(0..<2, to: page, number: number, birth: birth, owner: owner, level: level)
    root.page = number
    root.birth = birth
  }
}

extension Cell {
  /// A leaf cell.
  fileprivate init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    self.init(
      key: key.start, keyLength: key.count, value: value.start, valueLength: value.count,
      child: ChildReference(page: 0, birth: 0, count: 1))
  }
}
