// A read-only mapping of a file of the operating system. Writes to the file show in it.

internal import TreeRingPlatform

/// Memory that the kernel fills from a file.
final class PosixMapping: FileMapping {
  /// Does not move until `deinit`. Sendable: nobody writes through it.
  nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer

  /// Maps `count` bytes of an open file. The descriptor may be closed afterwards.
  init(
    descriptor: Int32, path: String, offset: UInt64, count: Int
  ) throws(TreeRingError) {
    guard
      let base = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, off_t(offset)),
      base != MAP_FAILED
    else { throw SystemErrors.error(SystemErrors.last, "map", path, offset: offset) }
    bytes = UnsafeMutableRawBufferPointer(start: base, count: count)
  }

  deinit { munmap(bytes.baseAddress, bytes.count) }
}
