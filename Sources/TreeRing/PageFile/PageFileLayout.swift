// Every constant of the page file. It is a row of slots of one page each, little-endian:
//
//   slot 0, slot 1   the two metas: checkpoint s writes slot s & 1
//   slot n + 1       page n: a page of a tree (see PageLayout) or a list page
//
// A list page holds a piece of a blob. Its header has checksum, version, number, birth and kind at
// the offsets of a tree's page, so that no page can be taken for one of the other kind.
// docs/pages.md shows the byte maps; a test compares.

/// The constants of the page file's byte maps.
package enum PageFileLayout {
  /// The number of slots before that of page 1: page n lies in slot n + 1.
  package static let firstPageSlot: UInt64 = 2
  /// The highest number of a page in the file. Pages numbered from 2^31 on are never written.
  static let maxPageNumber: PageNumber = (1 << 31) - 1
  /// The maximum number of bytes in one write.
  static let maxRunByteCount = 256 << 10
  /// The minimum growth of the file at a time, in bytes.
  static let minGrowth: UInt64 = 256 << 10
  /// The maximum growth beyond the required length, in bytes. Below it the file grows by an eighth
  /// of its size.
  static let maxGrowth: UInt64 = 64 << 20

  /// The offset of a page in the file, in bytes.
  @inline(__always)
  package static func offset(of number: PageNumber) -> UInt64 {
    (UInt64(number) + firstPageSlot - 1) * UInt64(PageLayout.pageByteCount)
  }

  /// The constants of a meta.
  package enum Meta {
    /// "TRINGPGS" in byte order.
    package static let magic: UInt64 = 0x5347_5047_4E49_5254
    static let formatVersion: UInt32 = 1

    static let magicOffset = 0
    static let formatVersionOffset = 8
    package static let checksumOffset = 12
    static let pageByteCountOffset = 16
    static let pageBoundOffset = 20
    package static let storeIDOffset = 24
    static let sequenceOffset = 32
    static let livePageCountOffset = 40
    package static let segmentOffset = 48
    package static let saltOffset = 56
    package static let logOffsetOffset = 64
    package static let commitOffset = 72
    package static let timestampOffset = 80
    package static let generationOffset = 88
    package static let chainOffset = 92
    package static let identityOffset = 96
    static let freePageOffset = 100
    static let freeBirthOffset = 104
    static let freeByteCountOffset = 112
    static let rootsBirthOffset = 120
    static let rootsByteCountOffset = 128
    static let rootsPageOffset = 136
    /// Zeros from here to the page's end.
    package static let endOffset = 140
  }

  /// The constants of a list page.
  package enum List {
    package static let kind: UInt16 = 1
    static let formatVersion: UInt8 = 1

    package static let checksumOffset = PageLayout.checksumOffset
    static let formatVersionOffset = PageLayout.formatVersionOffset
    /// One byte and a u16, zero: level and cell count of a tree's page.
    static let zeroOffset = 5
    package static let numberOffset = PageLayout.numberOffset
    static let nextOffset = 12
    package static let birthOffset = PageLayout.birthOffset
    static let payloadByteCountOffset = 24
    package static let kindOffset = PageLayout.kindOffset
    static let positionOffset = 28
    static let nextBirthOffset = 32
    package static let payloadOffset = 40
    /// The number of the blob's bytes in each page but the last.
    static let maxPayloadByteCount = PageLayout.pageByteCount - payloadOffset
  }
}

/// Fixed-width little-endian numbers at byte offsets. The caller has proven that the bytes are
/// there.
extension UnsafeRawBufferPointer {
  @inline(__always)
  func number<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// Whether every byte from an offset on is zero.
  func isZero(from offset: Int) -> Bool {
    UnsafeRawBufferPointer(rebasing: self[offset...]).isZero
  }
}

extension UnsafeMutableRawBufferPointer {
  @inline(__always)
  func put<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }
}
