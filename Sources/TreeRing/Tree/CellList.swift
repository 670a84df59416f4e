// Rewriting the layout of pages. The cells of one or two pages, and those to add, become a list
// with whole keys. Any run of the list can be written as a page with the longest prefix that its
// keys share. Compacting a page, changing its prefix, splitting it and merging it with a neighbour
// all work this way.
//
// A split always exists. If the new key shares the prefix, all cells need at most one page and one
// cell; since a cell is less than half a page, some cut leaves both sides small enough. If the new
// key shortens the prefix, it lies before or after all others, and a cut next to it leaves the
// others on a page that they fit.

internal import TreeRingLog
internal import TreeRingPlatform

/// One cell with its whole key. Leaf cells use `value`, inner cells `child`.
struct Cell {
  var key: UnsafeRawPointer
  var keyLength: Int
  var value: UnsafeRawPointer
  var valueLength: Int
  var child: ChildReference
}

/// A list of cells in key order. One editor owns it and reuses its memory.
final class CellList {
  /// The cells; `count` of them are set.
  let cells: UnsafeMutablePointer<Cell>
  private(set) var count = 0
  /// A copy of a page that is about to be overwritten.
  private let pageCopy: UnsafeMutableRawPointer
  private let separator: UnsafeMutableRawPointer
  private var keys: UnsafeMutableRawPointer
  private var keyCapacity: Int
  private var keyByteCount = 0

  init() {
    cells = .allocate(capacity: PageLayout.maxCellCountOfTwoPages)
    pageCopy = .allocate(byteCount: PageLayout.pageByteCount, alignment: 8)
    separator = .allocate(byteCount: PageLayout.maxCellByteCount + 8, alignment: 8)
    keyCapacity = 4 * PageLayout.pageByteCount
    keys = .allocate(byteCount: keyCapacity, alignment: 8)
  }

  deinit {
    cells.deallocate()
    pageCopy.deallocate()
    separator.deallocate()
    keys.deallocate()
  }

  /// Empties the list; makes room for the keys of these pages and for one more.
  func reset(for pages: Page...) {
    count = 0
    keyByteCount = 0
    var needed = PageLayout.maxCellByteCount + 8
    for page in pages {
      let slots = page.slots
      let prefixLength = page.prefixLength
      for index in 0..<page.cellCount { needed += prefixLength + Int(slots[index].keyLength) }
      needed += 8
    }
    if needed > keyCapacity {
      keys.deallocate()
      keyCapacity = needed
      keys = .allocate(byteCount: keyCapacity, alignment: 8)
    }
  }

  /// Makes room for the keys of another page. The list keeps its cells.
  func makeRoom(for page: Page) {
    var byteCount = 0
    for index in 0..<page.cellCount { byteCount += page.keyLength(at: index) }
    makeRoom(byteCount)
  }

  /// Makes room for keys. All keys of the list must be its own copies.
  private func makeRoom(_ byteCount: Int) {
    let needed = keyByteCount + byteCount + 8
    if needed <= keyCapacity { return }
    let old = keys
    keyCapacity = 2 * needed
    keys = .allocate(byteCount: keyCapacity, alignment: 8)
    memcpy(keys, old, keyByteCount)
    for index in 0..<count {
      cells[index].key = UnsafeRawPointer(keys) + (cells[index].key - UnsafeRawPointer(old))
    }
    old.deallocate()
  }

  /// Removes the first cells of a list of leaf cells that come from pages alone.
  func removeFirst(_ removed: Int) {
    guard removed < count else {
      count = 0
      keyByteCount = 0
      return
    }
    let start = cells[removed].key - UnsafeRawPointer(keys)
    keyByteCount -= start
    memmove(keys, keys + start, keyByteCount)
    count -= removed
    memmove(cells, cells + removed, count * MemoryLayout<Cell>.stride)
    for index in 0..<count { cells[index].key -= start }
  }

  /// The number of cells, from the first on, that one page can hold.
  func fittingCount(isLeaf: Bool, cellCapacity: Int) -> Int {
    var (low, high) = (1, count)
    while low < high {
      let middle = (low + high + 1) / 2
      if fits(0..<middle, isLeaf: isLeaf, cellCapacity: cellCapacity) {
        low = middle
      } else {
        high = middle - 1
      }
    }
    return low
  }

  /// Copies a page's bytes, so that the page can be written while its cells are in the list.
  func setAside(_ page: Page) -> Page {
    let copy = Page(bytes: pageCopy)
    copy.copyContent(of: page)
    return copy
  }

  /// Copies a separator. The copy outlives the list's cells and is valid until the next call.
  func keepSeparator(_ key: UnsafeRawPointer, length: Int) -> UnsafeRawPointer {
    memmove(separator, key, length)
    return UnsafeRawPointer(separator)
  }

  /// Appends one cell. Its bytes must not move while the list is in use.
  func append(_ cell: Cell) {
    cells[count] = cell
    count += 1
  }

  /// Appends the cells of a page in this range.
  func append(_ page: Page, _ range: Range<Int>) {
    let isLeaf = page.level == 0
    for index in range {
      let length = isLeaf || index > 0 ? page.keyLength(at: index) : 0
      let key = keys + keyByteCount
      if length > 0 { page.copyKey(at: index, to: key) }
      keyByteCount += length
      var cell = Cell(
        key: key, keyLength: length, value: key, valueLength: 0,
        child: ChildReference(page: 0, birth: 0, count: 1))
      if isLeaf {
        let value = page.value(at: index)
        cell.value = value.start
        cell.valueLength = value.count
      } else {
        cell.child = page.child(at: index)
      }
      append(cell)
    }
  }

  /// Appends an inner cell with a copy of a separator. All keys of the list must be its own copies.
  func append(_ separator: [UInt8], _ child: ChildReference) {
    makeRoom(separator.count)
    let key = keys + keyByteCount
    separator.withUnsafeBytes { key.copyMemory(from: $0.start, byteCount: $0.count) }
    keyByteCount += separator.count
    append(
      Cell(key: key, keyLength: separator.count, value: key, valueLength: 0, child: child))
  }

  /// Gives a cell the key of a cell of the page above: the separator before the page that the cell
  /// comes from.
  func takeKey(at index: Int, from page: Page, _ pageIndex: Int) {
    let key = keys + keyByteCount
    page.copyKey(at: pageIndex, to: key)
    keyByteCount += page.keyLength(at: pageIndex)
    cells[index].key = UnsafeRawPointer(key)
    cells[index].keyLength = page.keyLength(at: pageIndex)
  }

  /// The number of entries in and below a run.
  func entryCount(_ range: Range<Int>) -> UInt64 {
    var sum: UInt64 = 0
    for index in range { sum &+= cells[index].child.count }
    return sum
  }

  /// The length of the shortest prefix of a cell's key that lies after the key before it.
  func separatorLength(before index: Int) -> Int {
    let left = cells[index - 1]
    let right = cells[index]
    return 1
      + KeyOrder.commonPrefixLength(left.key, left.keyLength, right.key, right.keyLength)
  }

  /// The shortest prefix of a cell's key that lies after the key before it.
  func separator(before index: Int) -> [UInt8] {
    let key = UnsafeRawBufferPointer(
      start: cells[index].key, count: min(separatorLength(before: index), cells[index].keyLength))
    return Array(key)
  }

  /// The length of the prefix of a page that holds this run.
  private func prefixLength(_ range: Range<Int>, isLeaf: Bool) -> Int {
    let first = isLeaf ? range.lowerBound : range.lowerBound + 1
    if first >= range.upperBound { return 0 }
    let a = cells[first]
    let b = cells[range.upperBound - 1]
    return KeyOrder.commonPrefixLength(a.key, a.keyLength, b.key, b.keyLength)
  }

  /// The number of bytes that a page with this run uses. O(cells).
  func byteCount(_ range: Range<Int>, isLeaf: Bool) -> Int {
    let prefixLength = prefixLength(range, isLeaf: isLeaf)
    let untailed = prefixLength + PageLayout.headByteCount
    var sum = PageLayout.headerByteCount + PageLayout.paddedPrefixByteCount(prefixLength)
    if isLeaf {
      for index in range {
        sum += max(0, cells[index].keyLength - untailed) + cells[index].valueLength
      }
      return sum + range.count * PageLayout.leafEntryOverhead
    }
    for index in range.dropFirst() { sum += max(0, cells[index].keyLength - untailed) }
    return sum + range.count * PageLayout.innerEntryOverhead
  }

  /// Whether one page can hold this run.
  func fits(_ range: Range<Int>, isLeaf: Bool, cellCapacity: Int) -> Bool {
    range.count <= cellCapacity && byteCount(range, isLeaf: isLeaf) <= PageLayout.pageByteCount
  }

  /// The index at which to cut the list in two so that each side fits a page, as evenly as possible
  /// in bytes. Nil if the keys are out of order and no cut fits.
  func splitIndex(isLeaf: Bool, cellCapacity: Int) -> Int? {
    let middle = evenIndex(isLeaf: isLeaf)
    // Avoid an inner page with a single child where another cut exists.
    let margin = isLeaf || count < 4 ? 1 : 2
    for margin in [margin, 1] {
      for distance in 0..<count {
        for index in distance == 0 ? [middle] : [middle - distance, middle + distance]
        where index >= margin && index <= count - margin {
          if fits(0..<index, isLeaf: isLeaf, cellCapacity: cellCapacity),
            fits(index..<count, isLeaf: isLeaf, cellCapacity: cellCapacity)
          {
            return index
          }
        }
      }
    }
    return nil
  }

  /// The index that halves the list most evenly in bytes.
  private func evenIndex(isLeaf: Bool) -> Int {
    func size(_ index: Int) -> Int {
      cells[index].keyLength + cells[index].valueLength
        + (isLeaf ? PageLayout.leafEntryOverhead : PageLayout.innerEntryOverhead)
    }
    var total = 0
    for index in 0..<count { total += size(index) }
    var before = 0
    for index in 0..<count {
      if 2 * before + size(index) >= total { return max(1, index) }
      before += size(index)
    }
    return count / 2
  }

  /// Writes a run as a page and overwrites the page's content. The run must fit.
  func write(
    _ range: Range<Int>, to page: Page, number: PageNumber, birth: PageBirth, owner: OwnerStamp,
    level: Int
  ) {
    let isLeaf = level == 0
    let prefixLength = prefixLength(range, isLeaf: isLeaf)
    page.initialize(number: number, birth: birth, owner: owner, level: level)
    page.setPrefix(
      cells[isLeaf ? range.lowerBound : min(range.lowerBound + 1, range.upperBound - 1)].key,
      length: prefixLength)
    page.cellCount = range.count
    if isLeaf {
      writeLeafCells(range, to: page, prefixLength)
    } else {
      writeInnerCells(range, to: page, prefixLength)
    }
  }

  private func writeLeafCells(_ range: Range<Int>, to page: Page, _ prefixLength: Int) {
    let slots = page.slots
    var offset = PageLayout.pageByteCount
    for index in range {
      let cell = cells[index]
      // Keys of a damaged file may be out of order, so they need not share the prefix.
      let restLength = max(0, cell.keyLength - prefixLength)
      let tailLength = max(0, restLength - PageLayout.headByteCount)
      offset -= 2 + tailLength + cell.valueLength
      let target = page.bytes + offset
      target.storeBytes(of: UInt16(cell.valueLength), as: UInt16.self)
      if tailLength > 0 {
        memcpy(target + 2, cell.key + prefixLength + PageLayout.headByteCount, tailLength)
      }
      if cell.valueLength > 0 { memcpy(target + 2 + tailLength, cell.value, cell.valueLength) }
      slots[index - range.lowerBound] = PageSlot(
        head: KeyOrder.head(cell.key + prefixLength, restLength), offset: UInt16(offset),
        keyLength: UInt16(restLength))
    }
    page.heapStart = offset
  }

  private func writeInnerCells(_ range: Range<Int>, to page: Page, _ prefixLength: Int) {
    let slots = page.slots
    var offset = PageLayout.pageByteCount
    for index in range {
      let cell = cells[index]
      page.setChild(at: index - range.lowerBound, to: cell.child)
      if index == range.lowerBound {
        slots[0] = PageSlot(head: 0, offset: 0, keyLength: 0)
        continue
      }
      // Keys of a damaged file may be out of order, so they need not share the prefix.
      let restLength = max(0, cell.keyLength - prefixLength)
      let tailLength = max(0, restLength - PageLayout.headByteCount)
      offset -= tailLength
      if tailLength > 0 {
        memcpy(
          page.bytes + offset, cell.key + prefixLength + PageLayout.headByteCount, tailLength)
      }
      slots[index - range.lowerBound] = PageSlot(
        head: KeyOrder.head(cell.key + prefixLength, restLength),
        offset: UInt16(tailLength > 0 ? offset : 0), keyLength: UInt16(restLength))
    }
    page.heapStart = offset
  }
}

extension Page {
  /// Sets the prefix of a page without cells.
  fileprivate func setPrefix(_ prefix: UnsafeRawPointer, length: Int) {
    bytes.storeBytes(
      of: UInt16(length), toByteOffset: PageLayout.prefixLengthOffset, as: UInt16.self)
    if length == 0 { return }
    let start = bytes + PageLayout.headerByteCount
    (start + (PageLayout.paddedPrefixByteCount(length) - 8))
      .storeBytes(of: 0, as: UInt64.self)
    memcpy(start, prefix, length)
  }
}
