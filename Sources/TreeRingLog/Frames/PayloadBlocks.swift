// Blocks of a payload, compressed on another thread while its transaction still adds operations.
// Compression is a quarter of the work of a bulk load.

internal import CLZ4
internal import Dispatch

/// The full blocks of one growing payload. One thread adds them and finishes.
package final class PayloadBlocks: Sendable {
  /// The length of a block in bytes, before its compression.
  package static let blockByteCount = Format.blockByteCount
  /// The most blocks that wait. The thread that adds one more compresses it itself.
  private static let waitingLimit = 16

  private struct Block {
    var index: Int
    var bytes: [UInt8]
  }
  private struct State {
    /// The blocks that nobody has begun to compress, in their order.
    var waiting: [Block] = []
    /// The compressed blocks, with their lengths before them; nil where one is missing.
    var compressed: [[UInt8]?] = []
    /// Whether the other thread compresses a block, or will look for one.
    var isWorking = false
  }
  private let state = Monitor(State())
  private let ended = Condition()
  // One thread for all stores: a store that finds it busy compresses its blocks itself.
  private static let thread = DispatchQueue(label: "treering.compression", qos: .userInitiated)

  package init() {}

  /// Adds the next block, whose bytes are copied. O(bytes).
  package func add(_ bytes: UnsafeRawBufferPointer) {
    let (index, mustCompress, mustStart) = state.withLock { state in
      let index = state.compressed.count
      state.compressed.append(nil)
      if state.waiting.count >= Self.waitingLimit { return (index, true, false) }
      state.waiting.append(Block(index: index, bytes: Array(bytes)))
      defer { state.isWorking = true }
      return (index, false, !state.isWorking)
    }
    if mustCompress {
      let compressed = Self.compress(bytes)
      state.withLock { $0.compressed[index] = compressed }
    }
    if mustStart { Self.thread.async { self.work() } }
  }

  /// All blocks, compressed as an LZ4 frame holds them: each after its length of four bytes. The
  /// calling thread compresses those that wait, the last first.
  func finish() -> [[UInt8]] {
    while let block = state.withLock({ $0.waiting.popLast() }) {
      let compressed = block.bytes.withUnsafeBytes { Self.compress($0) }
      state.withLock { $0.compressed[block.index] = compressed }
    }
    return state.enter { monitor in
      while monitor.state.compressed.contains(where: { $0 == nil }) { monitor.wait(for: ended) }
      return monitor.state.compressed.compactMap { $0 }
    }
  }

  /// Compresses what waits. Runs on the other thread.
  private func work() {
    while true {
      let next = state.withLock { state -> Block? in
        if state.waiting.isEmpty {
          state.isWorking = false
          return nil
        }
        return state.waiting.removeFirst()
      }
      guard let next else { return }
      let compressed = next.bytes.withUnsafeBytes { Self.compress($0) }
      state.withLock { $0.compressed[next.index] = compressed }
      ended.broadcast()
    }
  }

  /// A block as an LZ4 frame holds it (LZ4 Frame Format 1.6, “Data Blocks”): its length, whose
  /// highest bit says that the bytes are not compressed, because that would make them longer.
  private static func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let head = 4
    return [UInt8](unsafeUninitializedCapacity: head + bytes.count) { target, count in
      guard let start = target.baseAddress, let source = bytes.baseAddress else { return }
      var length = Int(
        LZ4_compress_default(
          UnsafeRawPointer(source).assumingMemoryBound(to: CChar.self),
          UnsafeMutableRawPointer(start + head).assumingMemoryBound(to: CChar.self),
          Int32(bytes.count), Int32(bytes.count - 1)))
      var field = UInt32(length)
      if length <= 0 {
        UnsafeMutableRawPointer(start + head).copyMemory(from: source, byteCount: bytes.count)
        length = bytes.count
        field = UInt32(length) | 1 << 31
      }
      UnsafeMutableRawPointer(start).storeBytes(of: field.littleEndian, as: UInt32.self)
      count = head + length
    }
  }
}
