// Sort keys: typed values as bytes whose order, byte by byte, is the order of the values.
//
// component            bytes
// signed integer       8 bytes big-endian, sign bit flipped (16 for 128 bits)
// unsigned integer     8 bytes big-endian (16 for 128 bits)
// floating point       8 bytes: IEEE bits, all flipped if negative, else the sign bit only
// Bool                 1 byte, 0 or 1
// string, data         the bytes with 00 written 00 FF, then 00 00
// optional             1 byte, 0 before or 2 after the 1 of a value; then the value
// created, modified    commit 8 bytes big-endian, operation 4 bytes big-endian
//
// A descending component has all of its bytes complemented. Each component is self-delimiting, so a
// key is never a proper prefix of another key of the same types, and bytes after the key in the
// trees do not change the order. A key is cut at `SortKeyEncoder.byteLimit`; rows equal up to there
// are ordered by bucket and key.

public import TreeRingLog

/// Builds a sort key from typed values, each appended in ascending order.
///
/// Use it to make a type of your own a ``SortValue``.
public struct SortKeyEncoder {
  /// The maximum length of a sort key, in bytes; a longer one is cut.
  public static let byteLimit = Limits.sortKeyByteCount

  /// The bytes built so far; `finish` and `cut` cut them at the limit.
  package private(set) var bytes: [UInt8] = []

  init() { bytes.reserveCapacity(64) }

  /// Removes the bytes and keeps the memory.
  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  /// Appends a signed integer.
  public mutating func append(_ value: Int64) {
    appendBigEndian(UInt64(bitPattern: value) ^ (1 << 63))
  }

  /// Appends an unsigned integer. Its order among signed integers is not defined.
  public mutating func append(_ value: UInt64) {
    appendBigEndian(value)
  }

  /// Appends a floating point number; -0 equals 0, and NaN comes after all others.
  public mutating func append(_ value: Double) {
    let bits = value.isNaN ? Double.nan.bitPattern : (value == 0 ? 0 : value.bitPattern)
    appendBigEndian(bits >> 63 == 0 ? bits ^ (1 << 63) : ~bits)
  }

  /// Appends a truth value; false comes before true.
  public mutating func append(_ value: Bool) {
    bytes.append(value ? 1 : 0)
  }

  /// Appends text, ordered by Unicode scalar values.
  public mutating func append(_ value: some StringProtocol) {
    var copy = String(value)
    copy.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends bytes, ordered one by one; also for collation keys that the caller makes.
  public mutating func append(_ value: UnsafeRawBufferPointer) {
    var run = 0
    for (index, byte) in value.enumerated() where byte == 0 {
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: value[run...index]))
      bytes.append(0xFF)
      run = index + 1
    }
    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: value[run...]))
    bytes.append(0)
    bytes.append(0)
  }

  /// Appends a date; earlier ones come first.
  public mutating func append(_ value: Timestamp) {
    append(value.microseconds)
  }

  /// Appends the bytes of an integer, most significant first, without an end mark.
  ///
  /// Only for components of fixed length.
  mutating func appendBigEndian(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Appends bytes as they are. The caller keeps the component self-delimiting.
  mutating func appendRaw(_ byte: UInt8) { bytes.append(byte) }

  /// Appends bytes as they are. The caller keeps the component self-delimiting.
  mutating func appendRaw(_ raw: some Collection<UInt8>) { bytes.append(contentsOf: raw) }

  /// Complements every byte from an offset on, which reverses their order.
  mutating func complement(from start: Int) {
    bytes.withUnsafeMutableBufferPointer { buffer in
      for index in start..<buffer.count { buffer[index] = ~buffer[index] }
    }
  }

  /// The finished key: the bytes, cut at the limit.
  package mutating func finish() -> [UInt8] {
    cut()
    return bytes
  }

  /// Cuts the bytes at the limit.
  package mutating func cut() {
    if bytes.count > Self.byteLimit { bytes.removeLast(bytes.count - Self.byteLimit) }
  }
}
