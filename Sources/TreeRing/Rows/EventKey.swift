// Keys of events: the stream's name, a zero byte, and the event's revision in the stream (8 bytes,
// big-endian). So the events of a stream are adjacent in key order, and ordered by revision.

internal import TreeRingLog

/// The stream and the revision in the key of an event.
package struct EventKey {
  /// The stream's name.
  package let stream: UnsafeRawBufferPointer
  /// The position in the stream, from 0.
  package let revision: UInt64

  /// Reads a key; nil if it is not that of an event. O(1).
  package init?(_ key: UnsafeRawBufferPointer) {
    let end = key.count - Self.suffixByteCount
    guard end > 0, key[end] == 0 else { return nil }
    stream = UnsafeRawBufferPointer(rebasing: key[..<end])
    revision = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: end + 1, as: UInt64.self))
  }

  /// The category: the part of the stream's name before its first hyphen; the whole name if it has
  /// none.
  package var category: UnsafeRawBufferPointer {
    let end = stream.firstIndex(of: UInt8(ascii: "-")) ?? stream.count
    return UnsafeRawBufferPointer(rebasing: stream[..<end])
  }

  /// The key of an event.
  package static func of(_ stream: String, _ revision: UInt64) -> Key {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(stream.utf8.count + suffixByteCount)
    bytes.append(contentsOf: stream.utf8)
    bytes.append(0)
    withUnsafeBytes(of: revision.bigEndian) { bytes.append(contentsOf: $0) }
    return Key(bytes: bytes)
  }

  /// The first key behind every event of a stream.
  package static func end(of stream: String) -> Key {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(stream.utf8.count + 1)
    bytes.append(contentsOf: stream.utf8)
    bytes.append(1)
    return Key(bytes: bytes)
  }

  /// Calls `body` with the bounds of the keys of a stream's events, built on the stack: the first
  /// key that one can have, and the first key behind all of them.
  package static func withBounds(
    of stream: String,
    _ body: (
      _ lower: UnsafeRawBufferPointer, _ upper: UnsafeRawBufferPointer
    ) throws(TreeRingError) -> Void
  ) throws(TreeRingError) {
    let nameByteCount = stream.utf8.count
    let lowerByteCount = nameByteCount + suffixByteCount
    try withUnsafeTemporaryAllocation(
      byteCount: lowerByteCount + nameByteCount + 1, alignment: 1
    ) { (buffer) throws(TreeRingError) in
      let lower = UnsafeMutableRawBufferPointer(rebasing: buffer[..<lowerByteCount])
      let upper = UnsafeMutableRawBufferPointer(rebasing: buffer[lowerByteCount...])
      var stream = stream
      stream.withUTF8 { name in
        lower.copyMemory(from: UnsafeRawBufferPointer(name))
        upper.copyMemory(from: UnsafeRawBufferPointer(name))
      }
      for index in nameByteCount..<lowerByteCount { lower[index] = 0 }
      upper[nameByteCount] = 1
      try body(UnsafeRawBufferPointer(lower), UnsafeRawBufferPointer(upper))
    }
  }

  /// The zero byte and the revision.
  private static let suffixByteCount = 9
}
