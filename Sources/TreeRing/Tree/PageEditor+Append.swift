// Appending entries in ascending order. The last leaf is remembered, so most entries cost no
// descent.

internal import TreeRingLog

/// The last leaf of a tree. Valid until the editor edits any tree by other calls than `append`.
/// `append` itself notices that pages were released to the file.
struct TreeEnd {
  fileprivate let leaf: Page
  /// The editor's birth; a later one shows that the leaf may have left its memory.
  fileprivate let birth: PageBirth
  /// The number of steps on the editor's path to the leaf.
  fileprivate let depth: Int
}

extension PageEditor {
  /// Puts an entry behind all others. O(1) amortised.
  /// - Parameters:
  ///   - end: The end after the previous call; nil if there was none, or the trees were edited
  ///     since.
  ///   - key: Above all keys of the tree. Together with `value` at most
  ///     `PageLayout.maxCellByteCount` bytes.
  func append(
    _ root: inout TreeRoot, at end: inout TreeEnd?, key: UnsafeRawBufferPointer,
    value: UnsafeRawBufferPointer
  ) {
    if let end, end.birth == birth, end.leaf.owner == owner, end.leaf.cellCount < cellCapacity,
      end.leaf.sharesPrefix(key.start, key.count),
      end.leaf.insertLeafCell(
        at: end.leaf.cellCount, key: key.start, keyLength: key.count, value: value.start,
        valueLength: value.count)
    {
      root.count &+= 1
      for step in 0..<end.depth { path[step].page.counts[path[step].index] &+= 1 }
      return
    }
    put(&root, key: key, value: value)
    end = last(of: root)
  }

  /// The last leaf, with the path to it.
  private func last(of root: TreeRoot) -> TreeEnd {
    var page = table.top(of: root)
    var depth = 0
    while page.level != 0 {
      let index = page.cellCount - 1
      path[depth] = PathStep(page: page, index: index)
      depth += 1
      page = table.child(of: page, at: index)
    }
    return TreeEnd(leaf: page, birth: birth, depth: depth)
  }
}
