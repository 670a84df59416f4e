// The image of a page in the file: writing it, and checking bytes read from the file.
//
// In memory a page holds its editor's stamp and no checksum, and its gap has undefined bytes. In
// the file it holds a checksum and no stamp, and its gap is zero. The check has a fixed order:
// checksum, format version, kind, number, birth, owner, every offset and length, the gap, the order
// of the cells, the references to children. The fetch then compares the page's level and entry
// count with the entry that refers to it.

internal import CTreeRing
internal import TreeRingLog

/// Encodes and checks pages of the page file.
package enum PageImage {
  /// Writes a page's image to a buffer of `PageLayout.pageByteCount` bytes.
  package static func write(_ page: Page, to buffer: UnsafeMutableRawBufferPointer) {
    precondition(buffer.count == PageLayout.pageByteCount, "a page image is one page long")
    let gap = page.gapStart..<page.heapStart
    buffer.copyMemory(
      from: UnsafeRawBufferPointer(start: page.bytes, count: PageLayout.pageByteCount))
    UnsafeMutableRawBufferPointer(rebasing: buffer[gap])
      .initializeMemory(as: UInt8.self, repeating: 0)
    buffer.storeBytes(of: 0, toByteOffset: PageLayout.ownerOffset, as: UInt32.self)
    let sum = checksum(of: UnsafeRawBufferPointer(buffer))
    buffer.storeBytes(of: sum, toByteOffset: PageLayout.checksumOffset, as: UInt32.self)
  }

  /// The flaw of a page's image, in words; nil if it is the sound image of this page. O(page).
  /// - Parameters:
  ///   - image: A page's bytes, aligned to 8.
  ///   - number: The number of the requested page.
  ///   - birth: The birth that the referring entry states.
  package static func flaw(
    in image: UnsafeRawBufferPointer, number: PageNumber, birth: PageBirth
  ) -> String? {
    guard image.count == PageLayout.pageByteCount, let start = image.baseAddress else {
      return "a page is \(PageLayout.pageByteCount) bytes long, not \(image.count)"
    }
    let stated = image.load(fromByteOffset: PageLayout.checksumOffset, as: UInt32.self)
    if stated != checksum(of: image) { return "the checksum does not match" }
    let version = image.load(fromByteOffset: PageLayout.formatVersionOffset, as: UInt8.self)
    if version != PageLayout.formatVersion { return "format version \(version) is not known" }
    let kind = image.load(fromByteOffset: PageLayout.kindOffset, as: UInt16.self)
    if kind != 0 { return "kind \(kind) is not known" }
    let page = Page(bytes: UnsafeMutableRawPointer(mutating: start))
    if page.number != number { return "it is page \(page.number), not \(number)" }
    if page.birth != birth { return "it was born at commit \(page.birth), not \(birth)" }
    let owner = image.load(fromByteOffset: PageLayout.ownerOffset, as: UInt32.self)
    if owner != 0 { return "it has the owner \(owner), which none in the file has" }
    return page.layoutFlaw() ?? page.gapFlaw() ?? page.orderFlaw() ?? page.childFlaw()
  }

  private static func checksum(of image: UnsafeRawBufferPointer) -> UInt32 {
    let body = UnsafeRawBufferPointer(rebasing: image[PageLayout.formatVersionOffset...])
    return body.baseAddress.map { treering_crc32c(0, $0, body.count) } ?? 0
  }
}

extension Page {
  /// The flaw of the page's own bytes, in words. Nil if every cell can be read without leaving the
  /// page and every byte is accounted for. Does not check key order. O(page).
  package func layoutFlaw() -> String? {
    let end = PageLayout.pageByteCount
    if PageLayout.headerByteCount + PageLayout.paddedPrefixByteCount(prefixLength) > end {
      return "the prefix ends outside the page"
    }
    if cellCount == 0 { return "it holds no cell" }
    if level >= PageLayout.maxHeight { return "level \(level) is too high" }
    if gapStart > heapStart || heapStart > end {
      return "the heap starts at \(heapStart), the gap at \(gapStart)"
    }
    return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: end / 64) { map in
      map.initialize(repeating: 0)
      return cellFlaw(map)
    }
  }

  /// The flaw of the cells, in words; nil if each lies in the heap, no two share a byte, and all of
  /// them and the dead bytes fill the heap. O(bytes of the page).
  /// - Parameter map: A bit for each byte of the page, all clear; set for bytes of cells.
  private func cellFlaw(_ map: UnsafeMutableBufferPointer<UInt64>) -> String? {
    let end = PageLayout.pageByteCount
    var used = 0
    for index in 0..<cellCount {
      let slot = slots[index]
      let start = Int(slot.offset)
      if prefixLength + Int(slot.keyLength) > PageLayout.maxCellByteCount {
        return "key \(index) is too long"
      }
      var length = slot.tailLength
      if level == 0 {
        length += 2
        if start + length > end { return "cell \(index) ends outside the page" }
        let valueLength = Int(bytes.loadUnaligned(fromByteOffset: start, as: UInt16.self))
        if prefixLength + Int(slot.keyLength) + valueLength > PageLayout.maxCellByteCount {
          return "cell \(index) is too long"
        }
        length += valueLength
      } else if length == 0 {
        continue
      }
      if start < heapStart || start + length > end { return "cell \(index) lies outside the heap" }
      if !map.mark(start..<(start + length)) { return "cells overlap" }
      used += length
    }
    if used + deadByteCount != end - heapStart {
      return "\(used) bytes in use and \(deadByteCount) dead do not fill the heap"
    }
    return nil
  }

  /// The flaw of the gap in an image, in words; nil if it is zero. The layout must be sound.
  func gapFlaw() -> String? {
    let gap = UnsafeRawBufferPointer(start: bytes + gapStart, count: heapStart - gapStart)
    return gap.isZero ? nil : "the gap is not zero"
  }
}

extension UnsafeMutableBufferPointer<UInt64> {
  /// Sets the bits of a range, which is not empty.
  /// - Returns: False if any of them was set.
  fileprivate func mark(_ range: Range<Int>) -> Bool {
    let last = range.upperBound - 1
    var isNew = true
    for word in range.lowerBound >> 6...last >> 6 {
      var mask = UInt64.max
      if word == range.lowerBound >> 6 { mask &= .max << UInt64(range.lowerBound & 63) }
      if word == last >> 6 { mask &= .max >> UInt64(63 - last & 63) }
      if self[word] & mask != 0 { isNew = false }
      self[word] |= mask
    }
    return isNew
  }
}

extension Page {
  /// The first flaw in the order of keys, in words; nil if the keys ascend strictly and each head
  /// is that of its key. The layout must be sound. O(page).
  func orderFlaw() -> String? {
    let slots = slots
    let first = level == 0 ? 0 : 1
    if first == 1, slots[0].head != 0 || slots[0].keyLength != 0 {
      return "the first separator is not empty"
    }
    for index in first..<max(first, cellCount) {
      let unused = 8 * (PageLayout.headByteCount - Int(slots[index].keyLength))
      if unused > 0, slots[index].head << UInt32(32 - unused) != 0 {
        return "the head of key \(index) is not that of its key"
      }
      if index > first, !precedes(index - 1, index) {
        return "key \(index) does not lie after the one before"
      }
    }
    return nil
  }

  /// Whether one cell's key lies before another's.
  private func precedes(_ a: Int, _ b: Int) -> Bool {
    let (x, y) = (slots[a], slots[b])
    if x.head != y.head { return x.head < y.head }
    let skipped = level == 0 ? 2 : 0
    if min(x.keyLength, y.keyLength) <= PageLayout.headByteCount {
      return x.keyLength < y.keyLength
    }
    return KeyOrder.compare(
      UnsafeRawPointer(bytes + Int(x.offset) + skipped), x.tailLength,
      UnsafeRawPointer(bytes + Int(y.offset) + skipped), y.tailLength) < 0
  }

  /// The first flaw of a reference to a child, in words; nil if all numbers, births and counts are
  /// possible. O(cells).
  func childFlaw() -> String? {
    if level == 0 { return nil }
    for index in 0..<cellCount {
      let child = child(at: index)
      if child.page == 0 || child.page >= PageTable.firstPrivateNumber {
        return "child \(index) is page \(child.page)"
      }
      if child.birth.commit > birth.commit { return "child \(index) is younger" }
      if child.count == 0 || child.count > PageLayout.maxEntryCount {
        return "child \(index) has \(child.count) entries"
      }
    }
    return nil
  }
}
