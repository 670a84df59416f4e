// A file's bytes in the address space, shared with everybody else who maps or reads the file.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Memory the kernel fills from a file, and writes back to it if it is writable.
final class PosixMapping: FileMapping {
  /// A word, because a pointer is not Sendable; the memory stays where it is until `deinit`.
  private let address: UInt
  private let count: Int

  /// Maps `count` bytes of an open file. The descriptor may be closed afterwards.
  init(
    descriptor: Int32, path: String, offset: UInt64, count: Int, writable: Bool
  ) throws(TreeRingError) {
    let protection = writable ? PROT_READ | PROT_WRITE : PROT_READ
    guard
      let base = mmap(nil, count, protection, MAP_SHARED, descriptor, off_t(offset)),
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
