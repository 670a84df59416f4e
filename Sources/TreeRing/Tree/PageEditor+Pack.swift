// Packing a tree: the entries of neighbouring leaves move to fewer, full leaves. The tree's entries
// stay the same.
//
// Packing goes through a tree by *windows*: neighbouring pages of level 1 below one page. The young
// leaves of a window, side by side, are runs. A run is packed if that saves an eighth of its
// leaves. Leaves that are not young stay, because an earlier root keeps their pages: packing them
// would take room, not save it. The pages of level 1 of a window are laid out again, as few as can
// be.

internal import TreeRingLog

/// The outcome of packing one window.
struct PackedWindow {
  /// The key from which the next window begins; nil at the end of the tree.
  var nextKey: [UInt8]?
  /// The number of pages saved; 0 if nothing has changed.
  var savedCount = 0
}

/// A page that packing puts below another one, and the separator before it.
private struct PackedChild {
  var separator: [UInt8]
  var child: ChildReference
}

extension Page {
  /// The leaves below this page of level 1 that are worth packing, as ranges of its children.
  /// Reads one leaf of each run of young ones.
  fileprivate func looseRuns(
    bornAfter bar: StateID, table: PageTable, cellCapacity: Int
  ) -> [(leaves: Range<Int>, savedCount: Int)] {
    var runs: [(Range<Int>, Int)] = []
    var start = 0
    while start < cellCount {
      guard births[start].state > bar else {
        start += 1
        continue
      }
      var end = start + 1
      while end < cellCount, births[end].state > bar { end += 1 }
      let sample = table.child(of: self, at: (start + end) / 2)
      let entries = (start..<end).reduce(0) { $0 + Int(counts[$1]) }
      let saved = end - start - sample.leafCount(for: entries, cellCapacity: cellCapacity)
      if saved >= max(1, (end - start) / 8) { runs.append((start..<end, saved)) }
      start = end
    }
    return runs
  }

  /// The number of full leaves that so many entries like those of this leaf fill.
  private func leafCount(for entries: Int, cellCapacity: Int) -> Int {
    guard cellCount > 0 else { return .max / 2 }
    let fixed = slotsStart
    let room = PageLayout.pageByteCount - fixed
    let perLeaf = min(max(1, room * cellCount / max(1, usedByteCount - fixed)), cellCapacity)
    return (entries + perLeaf - 1) / perLeaf
  }
}

extension PageEditor {
  /// Packs the window that begins at a key. If nothing is worth it, nothing changes. If a page
  /// could not be read, the caller discards the editor.
  /// - Parameters:
  ///   - key: `nextKey` of the window before; nil for the first window.
  ///   - bar: The newest state whose pages are to stay.
  ///   - leafLimit: The number of leaves that is enough for a window.
  func packWindow(
    _ root: inout TreeRoot, from key: [UInt8]?, bornAfter bar: StateID, leafLimit: Int
  ) -> PackedWindow {
    guard root.page != 0, root.birth.state > bar else { return PackedWindow() }
    var page = table.top(of: root)
    if page.level == 0 { return PackedWindow() }
    if page.level == 1 { return packTop(&root, page, bornAfter: bar) }
    var depth = 0
    while true {
      let index =
        key.map { key in
          key.withUnsafeBytes { page.childIndex($0.start, $0.count) }
        } ?? 0
      path[depth] = PathStep(page: page, index: index)
      depth += 1
      if page.level <= 2 { break }
      page = table.child(of: page, at: index)
    }
    guard page.level == 2 else { return PackedWindow() }
    var first = path[depth - 1].index
    while first < page.cellCount, page.births[first].state <= bar { first += 1 }
    if first == page.cellCount {
      return PackedWindow(nextKey: keyAfterWindow(first, depth: depth))
    }
    var end = first
    var leafCount = 0
    while end < page.cellCount, leafCount < leafLimit {
      leafCount += table.child(of: page, at: end).cellCount
      end += 1
    }
    let next = keyAfterWindow(end, depth: depth)
    var window = PackedWindow(nextKey: next)
    let parents = (first..<end).map { table.child(of: page, at: $0) }
    let separators = (first..<end).map { page.separator(at: $0) }
    guard let packed = pack(parents, separators, bornAfter: bar),
      let inner = layInner(packed.children, separator: separators[0])
    else { return window }
    guard let owned = ownedPath(of: &root, depth: depth)?.page else { return window }
    let list = list
    list.reset(for: owned)
    let source = list.setAside(owned)
    list.append(source, 0..<first)
    for child in inner { list.append(child.separator, child.child) }
    list.makeRoom(for: source)
    list.append(source, end..<source.cellCount)
    let all = 0..<list.count
    guard list.fits(all, isLeaf: false, cellCapacity: cellCapacity) else { return window }
    list.write(all, to: owned, number: owned.number, birth: birth, owner: owner, level: 2)
    for page in parents { release(page.number, birth: page.birth) }
    for leaf in packed.replaced { release(leaf.page, birth: leaf.birth) }
    // The window may have been all below the root.
    lowerRoot(&root)
    window.savedCount = packed.savedCount + parents.count - inner.count
    return window
  }

  /// Packs a tree whose top page is of level 1.
  private func packTop(
    _ root: inout TreeRoot, _ page: Page, bornAfter bar: StateID
  ) -> PackedWindow {
    guard let packed = pack([page], [[]], bornAfter: bar) else { return PackedWindow() }
    var top = packed.children[0].child
    if packed.children.count > 1 {
      guard let inner = layInner(packed.children, separator: []), inner.count == 1 else {
        return PackedWindow()
      }
      top = inner[0].child
    }
    release(page.number, birth: page.birth)
    for leaf in packed.replaced { release(leaf.page, birth: leaf.birth) }
    root.page = top.page
    root.birth = top.birth
    return PackedWindow(savedCount: packed.savedCount)
  }

  /// The key from which the next window begins.
  /// - Parameter end: The index of its first page, below the last page of the path.
  private func keyAfterWindow(_ end: Int, depth: Int) -> [UInt8]? {
    for step in (0..<depth).reversed() {
      let index = step == depth - 1 ? end : path[step].index + 1
      if index < path[step].page.cellCount { return path[step].page.separator(at: index) }
    }
    return nil
  }

  /// The leaves of some pages of level 1 after packing.
  private struct PackedLeaves {
    var children: [PackedChild] = []
    var replaced: [ChildReference] = []
    var savedCount = 0
  }

  /// Packs the loose runs below neighbouring pages of level 1; nil if none is worth it.
  /// - Parameter separators: The separators before these pages.
  private func pack(
    _ parents: [Page], _ separators: [[UInt8]], bornAfter bar: StateID
  ) -> PackedLeaves? {
    var leaves = PackedLeaves()
    for (parent, separator) in zip(parents, separators) {
      let originals = (0..<parent.cellCount).map { index in
        PackedChild(
          separator: index == 0 ? separator : parent.separator(at: index),
          child: parent.child(at: index))
      }
      var start = 0
      let runs = parent.looseRuns(bornAfter: bar, table: table, cellCapacity: cellCapacity)
      for (run, _) in runs {
        let poured = pour(parent, run, separator: originals[run.lowerBound].separator)
        let entryCount = run.reduce(0) { $0 + parent.counts[$1] }
        if poured.count >= run.count || poured.reduce(0, { $0 + $1.child.count }) != entryCount {
          for leaf in poured { release(table.page(leaf.child.page)) }
          continue
        }
        leaves.children += originals[start..<run.lowerBound] + poured
        leaves.replaced += originals[run].map(\.child)
        leaves.savedCount += run.count - poured.count
        start = run.upperBound
      }
      leaves.children += originals[start...]
    }
    return leaves.savedCount > 0 ? leaves : nil
  }

  /// Writes the entries of neighbouring leaves to new, full ones.
  /// - Parameter separator: The separator before the first of them.
  private func pour(_ parent: Page, _ run: Range<Int>, separator: [UInt8]) -> [PackedChild] {
    var leaves: [PackedChild] = []
    var separator = separator
    let list = list
    list.reset()
    func write(_ count: Int) {
      let (number, page) = allocate(level: 0)
      list.write(0..<count, to: page, number: number, birth: birth, owner: owner, level: 0)
      leaves.append(
        PackedChild(
          separator: separator,
          child: ChildReference(page: number, birth: birth, count: UInt64(count))))
      if count < list.count { separator = list.separator(before: count) }
      list.removeFirst(count)
    }
    for index in run {
      let leaf = table.countedChild(of: parent, at: index)
      list.makeRoom(for: leaf)
      list.append(leaf, 0..<leaf.cellCount)
      while !list.fits(0..<list.count, isLeaf: true, cellCapacity: cellCapacity) {
        write(list.fittingCount(isLeaf: true, cellCapacity: cellCapacity))
      }
    }
    if list.count > 0 { write(list.count) }
    return leaves
  }

  /// Writes pages of level 1 with these leaves, as few as can be, and equally full.
  /// - Parameter separator: The separator before the first of them.
  /// - Returns: Nil if no layout fits, which a sound tree rules out.
  private func layInner(_ leaves: [PackedChild], separator: [UInt8]) -> [PackedChild]? {
    let room = PageLayout.pageByteCount - PageLayout.headerByteCount
    let perPage = min(cellCapacity, room / PageLayout.innerEntryOverhead)
    var count = (leaves.count + perPage - 1) / perPage
    while count <= leaves.count {
      let parts = (0..<count).map { part in
        leaves[(part * leaves.count / count)..<((part + 1) * leaves.count / count)]
      }
      let pages = parts.map { writeInner($0) }
      if !pages.contains(where: { $0 == nil }) {
        return zip(pages, parts).enumerated().compactMap { index, page in
          page.0.map {
            PackedChild(
              separator: index == 0 ? separator : page.1.first?.separator ?? [], child: $0)
          }
        }
      }
      for page in pages { if let page { release(table.page(page.page)) } }
      count += 1
    }
    return nil
  }

  /// Writes a page of level 1; nil if the leaves are too many for it.
  private func writeInner(_ leaves: ArraySlice<PackedChild>) -> ChildReference? {
    let list = list
    list.reset()
    for leaf in leaves { list.append(list.count == 0 ? [] : leaf.separator, leaf.child) }
    let all = 0..<list.count
    guard list.fits(all, isLeaf: false, cellCapacity: cellCapacity) else { return nil }
    let (number, page) = allocate(level: 1)
    list.write(all, to: page, number: number, birth: birth, owner: owner, level: 1)
    return ChildReference(page: number, birth: birth, count: list.entryCount(all))
  }
}

extension Page {
  /// The separator before a child of an inner page; empty before the first.
  fileprivate func separator(at index: Int) -> [UInt8] {
    if index == 0 { return [] }
    let length = keyLength(at: index)
    // Copying a key needs room for four more bytes.
    return Array(
      [UInt8](unsafeUninitializedCapacity: length + 4) { buffer, count in
        if let start = buffer.baseAddress { copyKey(at: index, to: start) }
        count = length
      })
  }
}
