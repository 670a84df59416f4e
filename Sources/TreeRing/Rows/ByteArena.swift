// Copies of byte runs at fixed addresses, discarded all together.

/// Keeps runs of bytes at fixed addresses.
final class ByteArena {
  private static let chunkByteCount = 256 << 10

  private var chunks: [UnsafeMutableRawBufferPointer] = []
  private var used = 0
  /// The number of bytes copied.
  private(set) var byteCount = 0

  deinit { for chunk in chunks { chunk.deallocate() } }

  /// A copy of the bytes, valid until the next `removeAll` or the end of the arena. O(bytes).
  func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    if bytes.count > (chunks.last?.count ?? 0) - used {
      chunks.append(.allocate(byteCount: max(Self.chunkByteCount, bytes.count), alignment: 8))
      used = 0
    }
    guard let chunk = chunks.last, !bytes.isEmpty else {
      return UnsafeRawBufferPointer(rebasing: bytes[..<0])
    }
    let copy = UnsafeMutableRawBufferPointer(rebasing: chunk[used..<used + bytes.count])
    copy.copyMemory(from: bytes)
    used += bytes.count
    byteCount += bytes.count
    return UnsafeRawBufferPointer(copy)
  }

  /// Discards all copies; reuses the last chunk.
  func removeAll() {
    for chunk in chunks.dropLast() { chunk.deallocate() }
    chunks = chunks.suffix(1)
    used = 0
    byteCount = 0
  }
}
