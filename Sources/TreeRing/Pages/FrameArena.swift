// Memory for pages: frames of one page each, cut from chunks aligned to huge pages, because at a
// million keys a lookup's cost is its misses in the address translation. The first chunk is small,
// so that a small store stays small. Frames given back are used again; chunks are kept to the end.

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// Frames cut from large chunks. Not locked: the page store holds it under its lock.
struct FrameArena {
  private static let hugePageByteCount = 2 << 20
  private static let firstChunkByteCount = 256 << 10

  private var chunks: [UnsafeMutableRawPointer] = []
  private var freeFrames: [UnsafeMutableRawPointer] = []
  private var next: UnsafeMutableRawPointer?
  private var remainingByteCount = 0

  /// Bytes taken from the system.
  private(set) var byteCount = 0
  /// Frames handed out and not given back.
  private(set) var frameCount = 0

  /// A frame of undefined content. Amortised O(1).
  mutating func allocate() -> UnsafeMutableRawPointer {
    frameCount += 1
    if let frame = freeFrames.popLast() { return frame }
    if remainingByteCount == 0 { addChunk() }
    guard let frame = next else { preconditionFailure("a chunk without memory") }
    next = frame + PageLayout.pageByteCount
    remainingByteCount -= PageLayout.pageByteCount
    return frame
  }

  /// Takes a frame back.
  mutating func deallocate(_ frame: UnsafeMutableRawPointer) {
    frameCount -= 1
    freeFrames.append(frame)
  }

  /// Gives all memory back to the system, whatever is still in use.
  mutating func deallocateAll() {
    for chunk in chunks { chunk.deallocate() }
    self = FrameArena()
  }

  private mutating func addChunk() {
    let size = chunks.isEmpty ? Self.firstChunkByteCount : Self.hugePageByteCount
    let chunk = UnsafeMutableRawPointer.allocate(
      byteCount: size, alignment: chunks.isEmpty ? PageLayout.pageByteCount : size)
    #if os(Linux)
      // A hint: without huge pages everything works, somewhat slower.
      if size == Self.hugePageByteCount { _ = madvise(chunk, size, MADV_HUGEPAGE) }
    #endif
    chunks.append(chunk)
    byteCount += size
    next = chunk
    remainingByteCount = size
  }
}
