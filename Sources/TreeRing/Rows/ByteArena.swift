// Copies of byte runs at fixed addresses, discarded all together.

/// Keeps runs of bytes at fixed addresses. One thread at a time uses it, and no call of its methods
/// runs code of a caller that uses it, so its properties are not checked for exclusive access.
final class ByteArena {
  private static let chunkByteCount = 256 << 10

  @exclusivity(unchecked) private var chunks: [UnsafeMutableRawBufferPointer] = []
  /// The unused end of the last chunk.
  @exclusivity(unchecked) private var rest = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// The number of bytes kept.
  @exclusivity(unchecked) private(set) var byteCount = 0

  deinit { for chunk in chunks { chunk.deallocate() } }

  /// A copy of the bytes, valid until the next `removeAll` or the end of the arena. O(bytes).
  func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let copy = take(bytes.count)
    copy.copyMemory(from: bytes)
    return UnsafeRawBufferPointer(copy)
  }

  /// Undefined bytes, as long valid as a copy. O(1) amortised.
  @inline(__always)
  func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if count > rest.count { addChunk(of: count) }
    let taken = UnsafeMutableRawBufferPointer(rebasing: rest[..<count])
    rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
    byteCount += count
    return taken
  }

  @inline(never)
  private func addChunk(of count: Int) {
    rest = .allocate(byteCount: max(Self.chunkByteCount, count), alignment: 8)
    chunks.append(rest)
  }

  /// Discards all copies; reuses the last chunk.
  func removeAll() {
    for chunk in chunks.dropLast() { chunk.deallocate() }
    chunks = chunks.suffix(1)
    rest = chunks.last ?? UnsafeMutableRawBufferPointer(start: nil, count: 0)
    byteCount = 0
  }
}
