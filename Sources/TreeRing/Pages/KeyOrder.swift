// The order of keys: byte by byte, unsigned; a key lies before every longer key that starts with
// it.

internal import TreeRingPlatform

/// Comparisons of raw keys.
package enum KeyOrder {
  /// Negative, zero or positive as the first key lies before, at or after the second. O(bytes).
  @inline(__always)
  package static func compare(
    _ a: UnsafeRawPointer, _ aCount: Int, _ b: UnsafeRawPointer, _ bCount: Int
  ) -> Int {
    let order = Int(memcmp(a, b, min(aCount, bCount)))
    return order != 0 ? order : aCount - bCount
  }

  /// Negative, zero or positive as the first key lies before, at or after the second. O(bytes).
  package static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    guard let aStart = a.baseAddress, let bStart = b.baseAddress else { return a.count - b.count }
    return compare(aStart, a.count, bStart, b.count)
  }

  /// Whether the first key lies before the second. O(bytes).
  static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.withUnsafeBytes { a in b.withUnsafeBytes { b in compare(a, b) < 0 } }
  }

  /// The first four bytes as a big-endian number, padded with zeros.
  @inline(__always)
  static func head(_ key: UnsafeRawPointer, _ count: Int) -> UInt32 {
    if count >= PageLayout.headByteCount {
      return UInt32(bigEndian: key.loadUnaligned(as: UInt32.self))
    }
    return shortHead(key, count)
  }

  @inline(never)
  private static func shortHead(_ key: UnsafeRawPointer, _ count: Int) -> UInt32 {
    var head: UInt32 = 0
    for index in 0..<max(0, count) {
      head |= UInt32(key.load(fromByteOffset: index, as: UInt8.self)) << (24 - 8 * UInt32(index))
    }
    return head
  }

  /// The number of leading bytes that both keys share.
  static func commonPrefixLength(
    _ a: UnsafeRawPointer, _ aCount: Int, _ b: UnsafeRawPointer, _ bCount: Int
  ) -> Int {
    let limit = min(aCount, bCount)
    var index = 0
    while index + 8 <= limit {
      let x = a.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let y = b.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      if x != y { return index + UInt64(littleEndian: x ^ y).trailingZeroBitCount / 8 }
      index += 8
    }
    while index < limit,
      a.load(fromByteOffset: index, as: UInt8.self) == b.load(fromByteOffset: index, as: UInt8.self)
    {
      index += 1
    }
    return index
  }
}

extension UnsafeRawBufferPointer {
  /// The address of the first byte, or some readable address if the buffer is empty.
  @inline(__always)
  var start: UnsafeRawPointer { baseAddress ?? UnsafeRawPointer(KeyOrder.nowhere) }
}

extension KeyOrder {
  /// An address for empty keys. Nothing is read from it or written to it, so all threads can share
  /// it.
  nonisolated(unsafe) static let nowhere: UnsafeMutableRawPointer =
    UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
}
