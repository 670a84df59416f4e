// A growable buffer of raw bytes that keeps its memory when emptied. Not Sendable: its owner guards
// it, which makes the checks for exclusive access superfluous.

final class ByteBuffer {
  @exclusivity(unchecked) private(set) var base: UnsafeMutableRawPointer
  @exclusivity(unchecked) private(set) var capacity: Int
  @exclusivity(unchecked) var count = 0

  init(capacity: Int = 4096) {
    base = .allocate(byteCount: capacity, alignment: 16)
    self.capacity = capacity
  }

  deinit { base.deallocate() }

  /// The bytes in use, valid until the next change or the end of the buffer.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Makes room for `extra` bytes after the used ones and returns that room.
  func room(for extra: Int) -> UnsafeMutableRawBufferPointer {
    if count + extra > capacity {
      let larger = max(count + extra, capacity + capacity / 2)
      let memory = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
      memory.copyMemory(from: base, byteCount: count)
      base.deallocate()
      base = memory
      capacity = larger
    }
    return UnsafeMutableRawBufferPointer(start: base + count, count: extra)
  }

  /// Adds `extra` bytes, which the caller sets, and returns them.
  func grow(by extra: Int) -> UnsafeMutableRawBufferPointer {
    defer { count += extra }
    return room(for: extra)
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    grow(by: bytes.count).copyMemory(from: bytes)
  }

  /// Empties the buffer; frees its memory if that exceeds `limit` bytes.
  func reset(keeping limit: Int = 4 << 20) {
    count = 0
    guard capacity > limit else { return }
    base.deallocate()
    capacity = 4096
    base = .allocate(byteCount: capacity, alignment: 16)
  }
}
