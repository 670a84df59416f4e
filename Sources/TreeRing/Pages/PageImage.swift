// A page as it is written out, and whether bytes read back are that page.
//
// In memory a page carries its editor's stamp and no checksum; written out it is the other way
// round. Reading back is checked in a fixed order: checksum, format version, kind, number, birth,
// then every offset and length, so that whoever goes on to use the page need check nothing more.

internal import CTreeRing

/// Pages on their way to and from the page file.
package enum PageImage {
  /// Writes a page's image to a buffer of `PageLayout.pageByteCount` bytes.
  package static func write(_ page: Page, to buffer: UnsafeMutableRawBufferPointer) {
    precondition(buffer.count == PageLayout.pageByteCount, "a page image is one page long")
    buffer.copyMemory(
      from: UnsafeRawBufferPointer(start: page.bytes, count: PageLayout.pageByteCount))
    buffer.storeBytes(of: 0, toByteOffset: PageLayout.ownerOffset, as: UInt32.self)
    let sum = checksum(of: UnsafeRawBufferPointer(buffer))
    buffer.storeBytes(of: sum, toByteOffset: PageLayout.checksumOffset, as: UInt32.self)
  }

  /// What is wrong with a page's image, in words; nil if it is the sound image of this page. O(page).
  /// - Parameters:
  ///   - image: a page's bytes, aligned to 8.
  ///   - number: the page asked for.
  ///   - birth: what the entry that names the page states.
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
    return page.layoutFlaw()
  }

  private static func checksum(of image: UnsafeRawBufferPointer) -> UInt32 {
    let body = UnsafeRawBufferPointer(rebasing: image[PageLayout.formatVersionOffset...])
    return body.baseAddress.map { treering_crc32c(0, $0, body.count) } ?? 0
  }
}

extension Page {
  /// What is wrong with the page's own bytes, in words; nil if every cell can be read without
  /// leaving the page and every byte is accounted for. O(page). Key order is not looked at.
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
    var cells: [Range<Int>] = []
    cells.reserveCapacity(cellCount)
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
        length += Int(bytes.loadUnaligned(fromByteOffset: start, as: UInt16.self))
      } else if length == 0 {
        continue
      }
      if start < heapStart || start + length > end { return "cell \(index) lies outside the heap" }
      cells.append(start..<(start + length))
    }
    cells.sort { $0.lowerBound < $1.lowerBound }
    for index in cells.indices.dropFirst()
    where cells[index].lowerBound < cells[index - 1].upperBound {
      return "cells overlap"
    }
    let used = cells.reduce(0) { $0 + $1.count }
    if used + deadByteCount != end - heapStart {
      return "\(used) bytes in use and \(deadByteCount) dead do not fill the heap"
    }
    for offset in gapStart..<heapStart
    where bytes.load(fromByteOffset: offset, as: UInt8.self) != 0 {
      return "the gap is not zero"
    }
    return nil
  }
}
