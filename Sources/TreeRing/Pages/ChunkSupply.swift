// Memory for frames in huge chunks, taken from the system ahead of need. The system clears memory
// when it is first touched. For a growing store that was a quarter of a load in key order, so
// another thread does it while the previous chunk is being filled.

internal import Dispatch
internal import TreeRingPlatform

/// Chunks of memory, one of them ready. Any thread.
final class ChunkSupply: Sendable {
  /// The size of a chunk: a huge page.
  static let chunkByteCount = 2 << 20

  private struct State {
    /// The address of a chunk that nobody else knows; 0 if none is ready.
    var ready: UInt = 0
    var isPreparing = false
  }
  private let state = Mutex(State())
  private let thread = DispatchQueue(label: "treering.chunks", qos: .utility)

  deinit { state.withLock { UnsafeMutableRawPointer(bitPattern: $0.ready)?.deallocate() } }

  /// The number of bytes taken from the system and not yet passed on, or being taken.
  var byteCount: Int {
    state.withLock { $0.ready == 0 && !$0.isPreparing ? 0 : Self.chunkByteCount }
  }

  /// A chunk of undefined content, which the caller deallocates.
  func take() -> UnsafeMutableRawPointer {
    let address = state.withLock { state in
      defer { state.ready = 0 }
      return state.ready
    }
    return UnsafeMutableRawPointer(bitPattern: address) ?? Self.makeChunk()
  }

  /// Prepares a chunk on another thread, unless one is ready.
  func prepare() {
    let mustStart = state.withLock { state in
      if state.isPreparing || state.ready != 0 { return false }
      state.isPreparing = true
      return true
    }
    guard mustStart else { return }
    thread.async { [weak self] in
      guard let self else { return }
      let chunk = Self.makeChunk()
      for offset in stride(from: 0, to: Self.chunkByteCount, by: PageLayout.pageByteCount) {
        chunk.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
      }
      let address = UInt(bitPattern: chunk)
      state.withLock { state in
        state.ready = address
        state.isPreparing = false
      }
    }
  }

  private static func makeChunk() -> UnsafeMutableRawPointer {
    let chunk = UnsafeMutableRawPointer.allocate(
      byteCount: chunkByteCount, alignment: chunkByteCount)
    Platform.adviseHugePages(chunk, byteCount: chunkByteCount)
    return chunk
  }
}
