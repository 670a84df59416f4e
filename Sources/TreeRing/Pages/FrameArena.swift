// Memory for pages: frames of one page each, cut from chunks aligned to huge pages. At a million
// keys, misses of the translation buffer (TLB) dominate the cost of a lookup. The first chunk is
// small, so that a small store takes little memory. The arena reuses deallocated frames and keeps
// its chunks until `deallocateAll`.

internal import TreeRingPlatform

/// Frames cut from large chunks. Not locked: the page store holds it under its lock.
struct FrameArena {
  private static let firstChunkByteCount = 256 << 10

  private let supply = ChunkSupply()
  private var chunks: [UnsafeMutableRawPointer] = []
  private var freeFrames: [UnsafeMutableRawPointer] = []
  private var next: UnsafeMutableRawPointer?
  private var remainingByteCount = 0

  private var chunksByteCount = 0
  /// The number of bytes taken from the system.
  var byteCount: Int { chunksByteCount + supply.byteCount }
  /// The number of frames allocated and not deallocated.
  private(set) var frameCount = 0

  /// A frame of undefined content. Amortised O(1).
  mutating func allocate() -> UnsafeMutableRawPointer {
    frameCount += 1
    if let frame = freeFrames.popLast() { return frame }
    if remainingByteCount == 0 { addChunk() }
    guard let frame = next else { preconditionFailure("a chunk without memory") }
    next = frame + PageLayout.pageByteCount
    remainingByteCount -= PageLayout.pageByteCount
    if remainingByteCount == ChunkSupply.chunkByteCount / 2 { supply.prepare() }
    return frame
  }

  /// Returns a frame to the arena.
  mutating func deallocate(_ frame: UnsafeMutableRawPointer) {
    frameCount -= 1
    freeFrames.append(frame)
  }

  /// Returns all memory to the system, even if frames are still in use.
  mutating func deallocateAll() {
    for chunk in chunks { chunk.deallocate() }
    self = FrameArena()
  }

  private mutating func addChunk() {
    let isFirst = chunks.isEmpty
    let size = isFirst ? Self.firstChunkByteCount : ChunkSupply.chunkByteCount
    let chunk =
      isFirst
      ? .allocate(byteCount: size, alignment: PageLayout.pageByteCount) : supply.take()
    chunks.append(chunk)
    chunksByteCount += size
    next = chunk
    remainingByteCount = size
  }
}
