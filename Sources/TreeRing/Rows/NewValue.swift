// A value to be written, and the choice between row tree and log.

internal import TreeRingLog

/// A value to write: its bytes, and whether they go into the log instead of the row tree.
package struct NewValue {
  package let bytes: UnsafeRawBufferPointer
  package let isLogged: Bool
  /// The digest of a value that goes into the log, computed once; 0 for an inline one.
  let digest: UInt64

  package init(_ bytes: UnsafeRawBufferPointer, isLogged: Bool) {
    self.bytes = bytes
    self.isLogged = isLogged
    digest = isLogged ? Digest.of(bytes) : 0
  }

  /// Creates a value that is inline or logged according to its size.
  ///
  /// - Parameter other: The number of inline bytes of the row's other value.
  package init(_ bytes: UnsafeRawBufferPointer, beside other: Int, keyByteCount: Int) {
    self.init(
      bytes,
      isLogged: !Limits.isInline(
        byteCount: bytes.count, beside: other, keyByteCount: keyByteCount))
  }

  /// The value in the row record, if operation `stamp` writes it.
  package func stored(by stamp: Stamp) -> StoredValue {
    guard isLogged else { return .inline(bytes) }
    return .logged(LoggedReference(byteCount: bytes.count, digest: digest, stamp: stamp))
  }
}
