import TreeRingLog

extension FileMapping {
  /// Calls `body` with the mapped bytes, which may be unmapped as soon as nobody uses the mapping:
  /// optimised code releases it after its last use, not at the end of a scope.
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(bytes))
  }
}
