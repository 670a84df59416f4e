// Reading and writing the engine's variable-length records: LEB128 integers and counted bytes.
// Reading never passes the end of the bytes: a field that does not fit throws `corruption`.

package import TreeRingLog

/// Reads integers and byte runs from a buffer that it does not own.
package struct ByteReader {
  /// The buffer.
  package let bytes: UnsafeRawBufferPointer
  /// The number of bytes read.
  package private(set) var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Whether all bytes have been read.
  package var isAtEnd: Bool { position == bytes.count }

  /// The next byte.
  package mutating func byte() throws(TreeRingError) -> UInt8 {
    guard position < bytes.count else { throw Self.damaged }
    defer { position += 1 }
    return bytes[position]
  }

  /// The next LEB128 integer: seven bits a byte, least significant first, at most ten bytes.
  @inline(__always)
  package mutating func integer() throws(TreeRingError) -> UInt64 {
    guard position < bytes.count, bytes[position] < 0x80 else { return try longInteger() }
    defer { position &+= 1 }
    return UInt64(bytes[position])
  }

  /// The next LEB128 integer of any length.
  @inline(never)
  private mutating func longInteger() throws(TreeRingError) -> UInt64 {
    var result: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte()
      let bits = UInt64(next & 0x7F)
      guard shift < 63 || (shift == 63 && bits <= 1) else { throw Self.damaged }
      result |= bits << shift
      if next & 0x80 == 0 { return result }
      shift += 7
    }
  }

  /// The next LEB128 integer, which must fit 32 bits.
  mutating func integer32() throws(TreeRingError) -> UInt32 {
    guard let value = UInt32(exactly: try integer()) else { throw Self.damaged }
    return value
  }

  /// The next eight bytes as a little-endian integer.
  mutating func fixed64() throws(TreeRingError) -> UInt64 {
    UInt64(littleEndian: try run(8).loadUnaligned(as: UInt64.self))
  }

  /// The next `count` bytes, in place.
  package mutating func run(_ count: Int) throws(TreeRingError) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= bytes.count - position else { throw Self.damaged }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
  }

  /// The next run of bytes with a stored length, in place.
  mutating func counted() throws(TreeRingError) -> UnsafeRawBufferPointer {
    guard let count = Int(exactly: try integer()) else { throw Self.damaged }
    return try run(count)
  }

  /// The next name of a bucket, tag or index, with a stored length.
  package mutating func name() throws(TreeRingError) -> String {
    let name = String(decoding: try counted(), as: UTF8.self)
    // Decoding replaces bytes that are not UTF-8, which makes the name longer.
    try Limits.checkStored(name: name.utf8.count)
    return name
  }

  /// The unread bytes, in place.
  package mutating func rest() -> UnsafeRawBufferPointer {
    defer { position = bytes.count }
    return UnsafeRawBufferPointer(rebasing: bytes[position...])
  }

  static var damaged: TreeRingError {
    TreeRingError(
      .corruption,
      "A record ends before its fields do: these bytes are not what was written. "
        + "Run `treering verify`, then `treering salvage`.")
  }
}

/// Integers of seven bits a byte, least significant first; the highest bit says that more follow.
enum LEB128 {
  /// The most bytes of an integer.
  static let maxByteCount = 10

  /// The length of an integer.
  @inline(__always)
  static func byteCount(of value: UInt64) -> Int {
    (70 - (value | 1).leadingZeroBitCount) / 7
  }

  /// Writes an integer to a buffer with room for it.
  /// - Returns: the offset after it.
  @inline(__always)
  static func write(
    _ value: UInt64, to buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) -> Int {
    var (rest, place) = (value, offset)
    while rest >= 0x80 {
      buffer[place] = UInt8(truncatingIfNeeded: rest) | 0x80
      rest >>= 7
      place &+= 1
    }
    buffer[place] = UInt8(truncatingIfNeeded: rest)
    return place &+ 1
  }

  /// Writes the length of a run of bytes, and the run, to a buffer with room for both.
  /// - Returns: the offset after them.
  @inline(__always)
  static func write(
    counted run: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) -> Int {
    let start = write(UInt64(run.count), to: buffer, at: offset)
    UnsafeMutableRawBufferPointer(rebasing: buffer[start...]).copyMemory(from: run)
    return start &+ run.count
  }
}

extension [UInt8] {
  /// Appends a LEB128 integer.
  package mutating func append(integer value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  /// Appends two LEB128 integers, the length of a run of bytes, and the run. All integers are one
  /// step, because each append to an array checks its memory.
  @inline(__always)
  mutating func append(
    fields first: UInt64, _ second: UInt64, counted run: UnsafeRawBufferPointer
  ) {
    withUnsafeTemporaryAllocation(byteCount: 3 * LEB128.maxByteCount, alignment: 8) { buffer in
      var count = LEB128.write(first, to: buffer, at: 0)
      count = LEB128.write(second, to: buffer, at: count)
      count = LEB128.write(UInt64(run.count), to: buffer, at: count)
      append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    append(contentsOf: run)
  }

  /// Appends two bytes, little-endian.
  mutating func append(fixed16 value: UInt16) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  /// Appends eight bytes, little-endian.
  package mutating func append(fixed64 value: UInt64) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  /// Appends four bytes, big-endian, so that byte order is numeric order.
  package mutating func append(ordered32 value: UInt32) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  /// Appends a length and then the bytes.
  package mutating func append(counted bytes: UnsafeRawBufferPointer) {
    append(integer: UInt64(bytes.count))
    append(contentsOf: bytes)
  }

  /// Appends a length and then the text's UTF-8 bytes.
  package mutating func append(counted text: String) {
    var text = text
    text.withUTF8 { append(counted: UnsafeRawBufferPointer($0)) }
  }
}
