// A read-only mapping of a file of the operating system. Writes to the file show in it.

internal import TreeRingPlatform

/// Memory that the kernel fills from a file.
final class PosixMapping: FileMapping {
  /// An integer, because a pointer is not Sendable; the memory does not move until `deinit`.
  private let address: UInt
  private let count: Int

  /// Maps `count` bytes of an open file. The descriptor may be closed afterwards.
  init(
    descriptor: Int32, path: String, offset: UInt64, count: Int
  ) throws(TreeRingError) {
    guard
      let base = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, off_t(offset)),
      base != MAP_FAILED
    else { throw SystemErrors.error(SystemErrors.last, "map", path, offset: offset) }
    address = UInt(bitPattern: base)
    self.count = count
  }

  deinit { munmap(UnsafeMutableRawPointer(bitPattern: address), count) }

  var bytes: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(
      start: UnsafeMutableRawPointer(bitPattern: address), count: count)
  }
}
