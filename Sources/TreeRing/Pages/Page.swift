// One page's header and fixed arrays, accessed through a pointer. The page store owns the memory.
// Whoever uses a `Page` holds the pin, or owns the transaction, that keeps the page allocated.

internal import TreeRingPlatform

/// A page's number, which gives its slot in the page file and its word in the page table; 0 means
/// "no page".
package typealias PageNumber = UInt32

/// The number of one editor of a page store. It has 64 bits, so that no stamp is ever reused.
typealias OwnerStamp = UInt64

/// A view of one page's bytes. `PageLayout` has the byte map.
package struct Page {
  /// The address of the page's first byte; `PageLayout.pageByteCount` bytes follow.
  package let bytes: UnsafeMutableRawPointer

  @inline(__always)
  package init(bytes: UnsafeMutableRawPointer) { self.bytes = bytes }

  /// The height above the leaves; 0 for a leaf.
  @inline(__always)
  package var level: Int {
    Int(bytes.load(fromByteOffset: PageLayout.levelOffset, as: UInt8.self))
  }

  /// The number of cells.
  @inline(__always)
  var cellCount: Int {
    get { Int(bytes.load(fromByteOffset: PageLayout.cellCountOffset, as: UInt16.self)) }
    nonmutating set {
      bytes.storeBytes(
        of: UInt16(newValue), toByteOffset: PageLayout.cellCountOffset, as: UInt16.self)
    }
  }

  /// The page's own number.
  @inline(__always)
  package var number: PageNumber {
    get { bytes.load(fromByteOffset: PageLayout.numberOffset, as: UInt32.self) }
    nonmutating set {
      bytes.storeBytes(of: newValue, toByteOffset: PageLayout.numberOffset, as: UInt32.self)
    }
  }

  /// The length of the prefix that all keys share, in bytes.
  @inline(__always)
  var prefixLength: Int {
    Int(bytes.load(fromByteOffset: PageLayout.prefixLengthOffset, as: UInt16.self))
  }

  /// The offset of the lowest heap byte in use.
  @inline(__always)
  var heapStart: Int {
    get { Int(bytes.load(fromByteOffset: PageLayout.heapStartOffset, as: UInt16.self)) }
    nonmutating set {
      bytes.storeBytes(
        of: UInt16(newValue), toByteOffset: PageLayout.heapStartOffset, as: UInt16.self)
    }
  }

  /// Whether the page belongs to a tree, not to a blob.
  var isOfTree: Bool { bytes.load(fromByteOffset: PageLayout.kindOffset, as: UInt16.self) == 0 }

  /// The birth of the page.
  @inline(__always)
  package var birth: PageBirth {
    get {
      PageBirth(rawValue: bytes.load(fromByteOffset: PageLayout.birthOffset, as: UInt64.self))
    }
    nonmutating set {
      bytes.storeBytes(
        of: newValue.rawValue, toByteOffset: PageLayout.birthOffset, as: UInt64.self)
    }
  }

  /// The number of heap bytes that removed cells have left.
  @inline(__always)
  var deadByteCount: Int {
    get { Int(bytes.load(fromByteOffset: PageLayout.deadByteCountOffset, as: UInt16.self)) }
    nonmutating set {
      bytes.storeBytes(
        of: UInt16(newValue), toByteOffset: PageLayout.deadByteCountOffset, as: UInt16.self)
    }
  }

  /// The stamp of the editor that may edit the page in place; 0 if there is none. In a page read
  /// from a file the upper half is the checksum and the lower half is 0; no editor has such a
  /// stamp.
  @inline(__always)
  var owner: OwnerStamp {
    get {
      let low = bytes.load(fromByteOffset: PageLayout.ownerOffset, as: UInt32.self)
      let high = bytes.load(fromByteOffset: PageLayout.checksumOffset, as: UInt32.self)
      return OwnerStamp(high) << 32 | OwnerStamp(low)
    }
    nonmutating set {
      bytes.storeBytes(
        of: UInt32(truncatingIfNeeded: newValue), toByteOffset: PageLayout.ownerOffset,
        as: UInt32.self)
      bytes.storeBytes(
        of: UInt32(truncatingIfNeeded: newValue >> 32), toByteOffset: PageLayout.checksumOffset,
        as: UInt32.self)
    }
  }

  /// Makes this an empty tree page without a prefix. O(1): the gap is undefined.
  func initialize(number: PageNumber, birth: PageBirth, owner: OwnerStamp, level: Int) {
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: PageLayout.headerByteCount)
    bytes.storeBytes(
      of: PageLayout.formatVersion, toByteOffset: PageLayout.formatVersionOffset, as: UInt8.self)
    bytes.storeBytes(of: UInt8(level), toByteOffset: PageLayout.levelOffset, as: UInt8.self)
    self.number = number
    self.birth = birth
    self.owner = owner
    heapStart = PageLayout.pageByteCount
  }
}

/// One slot: the offset of a cell and the first bytes of its key.
struct PageSlot {
  /// The first 4 key bytes after the prefix, big-endian, padded with zeros.
  var head: UInt32
  /// The offset of the cell in the page; 0 for a cell without bytes.
  var offset: UInt16
  /// The key's length without the page's prefix.
  var keyLength: UInt16

  /// The number of key bytes in the cell.
  @inline(__always)
  var tailLength: Int { max(0, Int(keyLength) - PageLayout.headByteCount) }
}

extension Page {
  /// The address of the first prefix byte.
  @inline(__always)
  var prefix: UnsafeRawPointer { UnsafeRawPointer(bytes + PageLayout.headerByteCount) }

  /// The offset of slot 0.
  @inline(__always)
  var slotsStart: Int {
    PageLayout.headerByteCount + PageLayout.paddedPrefixByteCount(prefixLength)
  }

  /// The slots, an array of `cellCount`.
  @inline(__always)
  var slots: UnsafeMutablePointer<PageSlot> {
    (bytes + slotsStart).assumingMemoryBound(to: PageSlot.self)
  }

  /// The subtree counts of an inner page.
  @inline(__always)
  var counts: UnsafeMutablePointer<UInt64> {
    (bytes + slotsStart + 8 * cellCount).assumingMemoryBound(to: UInt64.self)
  }

  /// The births of an inner page's children.
  @inline(__always)
  var births: UnsafeMutablePointer<PageBirth> {
    (bytes + slotsStart + 16 * cellCount).assumingMemoryBound(to: PageBirth.self)
  }

  /// The numbers of an inner page's children.
  @inline(__always)
  var children: UnsafeMutablePointer<PageNumber> {
    (bytes + slotsStart + 24 * cellCount).assumingMemoryBound(to: PageNumber.self)
  }

  /// The end of the fixed arrays and the start of the free gap.
  @inline(__always)
  var gapStart: Int {
    let width = level == 0 ? PageLayout.slotByteCount : PageLayout.innerEntryOverhead
    return slotsStart + width * cellCount
  }

  /// Copies all bytes of a sound page but those of its gap.
  @inline(__always)
  func copyContent(of other: Page) {
    let gapStart = other.gapStart
    let heapStart = other.heapStart
    precondition(
      gapStart <= heapStart && heapStart <= PageLayout.pageByteCount, "the page is not sound")
    memcpy(bytes, other.bytes, gapStart)
    memcpy(bytes + heapStart, other.bytes + heapStart, PageLayout.pageByteCount &- heapStart)
  }

  /// The number of bytes in use, without dead heap bytes.
  var usedByteCount: Int {
    PageLayout.pageByteCount - (heapStart - gapStart) - deadByteCount
  }

  /// The number of entries in and below this page. O(cells).
  package var entryCount: UInt64 {
    if level == 0 { return UInt64(cellCount) }
    var sum: UInt64 = 0
    let counts = counts
    for index in 0..<cellCount { sum &+= counts[index] }
    return sum
  }
}
