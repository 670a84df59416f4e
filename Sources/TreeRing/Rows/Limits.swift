// How large things may be. Everything beyond a limit is a typed error before anything is written.

package import TreeRingLog

/// The engine's fixed limits, in bytes unless said.
public enum Limits {
  /// The longest key.
  public static let keyByteCount = 1024
  /// The longest name of a group, bucket, tag or index.
  public static let nameByteCount = 255
  /// Where sort keys are cut; beyond it bucket and key decide the order.
  public static let sortKeyByteCount = 512
  /// The longest object or metadata: 1 GiB.
  public static let valueByteCount = 1 << 30
  /// The longest definition of a group index, as it is stored with its name.
  package static let definitionByteCount = 1700
  /// Object and metadata lie in the row tree while both together are at most this long, else in
  /// the log.
  package static let inlineByteCount = 1024

  /// Throws `tooLarge` unless the key fits.
  package static func check(key: UnsafeRawBufferPointer) throws(TreeRingError) {
    guard key.count <= keyByteCount else {
      throw TreeRingError(
        .tooLarge,
        "The key has \(key.count) bytes; at most \(keyByteCount) are allowed. Shorten it, or use a "
          + "digest of it as the key and keep the whole in the object.")
    }
  }

  /// Throws `tooLarge` unless the value fits.
  package static func check(value: UnsafeRawBufferPointer) throws(TreeRingError) {
    guard value.count <= valueByteCount else {
      throw TreeRingError(
        .tooLarge,
        "The object or metadata has \(value.count) bytes; at most \(valueByteCount) are allowed. "
          + "Split it over several rows.")
    }
  }

  /// Throws unless a name of a bucket, tag or index is 1 to 255 bytes.
  package static func check(name: String, of kind: String) throws(TreeRingError) {
    let count = name.utf8.count
    guard count > 0 else {
      throw TreeRingError(.invalidInput, "The name of a \(kind) must not be empty.")
    }
    guard count <= nameByteCount else {
      throw TreeRingError(
        .tooLarge, "The \(kind) name has \(count) bytes; at most \(nameByteCount) are allowed.")
    }
  }

  /// Throws `corruption` unless a name read from the log could have been written.
  package static func checkStored(name byteCount: Int) throws(TreeRingError) {
    guard byteCount > 0, byteCount <= nameByteCount else { throw ByteReader.damaged }
  }

  /// Whether a value goes into the row tree, given its key and what else of the row lies there.
  /// Depends on nothing but sizes, so that replay decides as the write did.
  package static func isInline(byteCount: Int, beside other: Int, keyByteCount: Int) -> Bool {
    byteCount + other <= min(inlineByteCount, maximumRowByteCount - keyByteCount)
  }

  /// What key and inline values may take together, so that two rows always fit a page.
  private static let maximumRowByteCount = 1900
}
