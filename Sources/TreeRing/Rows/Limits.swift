// The limits on sizes. A write beyond a limit throws an error before anything is written.

package import TreeRingLog

/// The engine's fixed limits, in bytes unless stated otherwise.
public enum Limits {
  /// The maximum length of a key.
  public static let keyByteCount = 1024
  /// The maximum length of the name of a group, bucket, tag or index.
  public static let nameByteCount = 255
  /// The maximum length of a sort key; longer ones are cut, and rows with equal sort keys are
  /// ordered by bucket and key.
  public static let sortKeyByteCount = 512
  /// The maximum length of an object or metadata: 1 GiB.
  public static let valueByteCount = 1 << 30
  /// The maximum length of a group index's definition, as stored with its name.
  static let definitionByteCount = 1700
  /// The maximum number of decimals of a sum: a unit of the last one and a whole one fit 64 bits.
  static let sumDecimals = 18
  /// The maximum length of object and metadata together in the row tree; beyond it they lie in the
  /// log.
  static let inlineByteCount = 1024

  /// Checks the length of a key.
  /// - Throws: `tooLarge` if it exceeds the limit.
  package static func check(key: UnsafeRawBufferPointer) throws(TreeRingError) {
    guard key.count <= keyByteCount else {
      throw TreeRingError(
        .tooLarge,
        "The key has \(key.count) bytes; at most \(keyByteCount) are allowed. Shorten it, or use a "
          + "digest of it as the key and keep the whole in the object.")
    }
  }

  /// Checks the length of a value.
  /// - Throws: `tooLarge` if it exceeds the limit.
  package static func check(value: UnsafeRawBufferPointer) throws(TreeRingError) {
    guard value.count <= valueByteCount else {
      throw TreeRingError(
        .tooLarge,
        "The object or metadata has \(value.count) bytes; at most \(valueByteCount) are allowed. "
          + "Split it over several rows.")
    }
  }

  /// Checks the length of a bucket's, tag's or index's name: 1 to 255 bytes.
  /// - Throws: `invalidInput` if it is empty, `tooLarge` if it is longer.
  package static func check(name: String, of kind: String) throws(TreeRingError) {
    let count = name.utf8.count
    guard count > 0 else {
      throw TreeRingError(
        .invalidInput, "The name of a \(kind) is empty. Give it at least one character.")
    }
    guard count <= nameByteCount else {
      throw TreeRingError(
        .tooLarge,
        "The \(kind) name has \(count) bytes; at most \(nameByteCount) are allowed. Shorten it.")
    }
  }

  /// Checks the length of a name read from the log.
  /// - Throws: `corruption` if no name of this length can have been written.
  static func checkStored(name byteCount: Int) throws(TreeRingError) {
    guard byteCount > 0, byteCount <= nameByteCount else { throw ByteReader.damaged }
  }

  /// Whether a value goes into the row tree, given its key and the row's other bytes there. Depends
  /// on sizes only, so that replay decides as the write did.
  static func isInline(byteCount: Int, beside other: Int, keyByteCount: Int) -> Bool {
    // A damaged log may state any size of a value, so the sum of two may overflow.
    let room = min(inlineByteCount, maximumRowByteCount - keyByteCount)
    return other <= room && byteCount <= room - other
  }

  /// The maximum length of key and inline values together, so that two rows always fit a page.
  private static let maximumRowByteCount = 1900
}
