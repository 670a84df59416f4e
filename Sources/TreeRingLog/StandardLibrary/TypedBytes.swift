// The standard library's access to an array's bytes, with the type of the errors kept.

extension [UInt8] {
  /// Calls `body` with the bytes, which are valid until it returns.
  @inlinable
  package func withUnsafeBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try withUnsafeBufferPointer { (buffer) throws(E) in try body(UnsafeRawBufferPointer(buffer)) }
  }
}
