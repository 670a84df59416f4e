// A group's name at the front of a tree key: 00 is written as 00 FF, and 00 00 ends the name.
// Encoded names have the order of the names, and none is a prefix of another.

package import TreeRingLog

extension GroupName {
  /// The maximum length of an encoded name in bytes: a name of 255 bytes and its end. Each zero
  /// byte counts twice.
  static let encodedByteLimit = Limits.nameByteCount + 2

  /// Whether a name of these bytes is within the limit.
  static func isWithinLimit(_ name: UnsafeRawBufferPointer) -> Bool {
    name.count + name.count { $0 == 0 } <= Limits.nameByteCount
  }

  /// Throws `tooLarge` if the name is over its limit.
  package func check() throws(TreeRingError) {
    guard bytes.withUnsafeBytes({ Self.isWithinLimit($0) }) else {
      throw TreeRingError(
        .tooLarge,
        "A group's name is over its limit: \(bytes.count) bytes, of which \(Limits.nameByteCount) "
          + "are allowed and each zero byte counts twice. Shorten it, or group by a digest of it.")
    }
  }

  /// The encoded bytes, also for a name over the limit.
  package var encoded: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 2 * bytes.count + 2) { buffer, count in
      count = encode(into: UnsafeMutableRawBufferPointer(buffer))
    }
  }

  /// Writes the encoded bytes to the front of a buffer; returns their number. The buffer has room
  /// for twice the name's bytes and two more.
  func encode(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var end = 0
    for byte in bytes {
      buffer[end] = byte
      end += 1
      if byte == 0 {
        buffer[end] = 0xFF
        end += 1
      }
    }
    buffer[end] = 0
    buffer[end + 1] = 0
    return end + 2
  }

  /// Decodes a name at the front of bytes; returns it with its encoded length, or nil if there is
  /// none.
  package static func decode(
    _ encoded: UnsafeRawBufferPointer
  ) -> (name: GroupName, byteCount: Int)? {
    var name: [UInt8] = []
    var at = 0
    while at < encoded.count, at < encodedByteLimit {
      if encoded[at] != 0 {
        name.append(encoded[at])
        at += 1
        continue
      }
      guard at + 1 < encoded.count else { return nil }
      if encoded[at + 1] == 0 { return (GroupName(bytes: name), at + 2) }
      guard encoded[at + 1] == 0xFF else { return nil }
      name.append(0)
      at += 2
    }
    return nil
  }
}
