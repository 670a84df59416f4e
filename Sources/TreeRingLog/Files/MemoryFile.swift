// One open file of the memory file system; all openings of a file share its bytes.

internal import TreeRingPlatform

final class MemoryFile: File {
  let path: String
  private let contents: MemoryContents

  init(path: String, contents: MemoryContents) {
    self.path = path
    self.contents = contents
  }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int {
    // The lock's closure runs on this thread.
    nonisolated(unsafe) let target = buffer
    return contents.state.withLock { state in
      guard offset < UInt64(state.bytes.count) else { return 0 }
      let count = min(target.count, state.bytes.count - Int(offset))
      state.bytes.withUnsafeBytes { target.copyMemory(from: $0.part(Int(offset), count)) }
      return count
    }
  }

  func write(_ source: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError) {
    let end = Int(offset) + source.count
    // The lock's closure runs on this thread.
    nonisolated(unsafe) let source = source
    contents.state.withLock { state in
      if Int(offset) == state.bytes.count {
        state.bytes.append(contentsOf: source)
      } else {
        let missing = end - state.bytes.count
        if missing > 0 { state.bytes.append(contentsOf: [UInt8](repeating: 0, count: missing)) }
        state.bytes.withUnsafeMutableBytes {
          UnsafeMutableRawBufferPointer(rebasing: $0[Int(offset)..<end])
            .copyMemory(from: source)
        }
      }
      state.mappings.update(Int(offset)..<end, of: state.bytes)
    }
  }

  func sync(_ strength: SyncStrength) throws(TreeRingError) {}

  func size() throws(TreeRingError) -> UInt64 {
    contents.state.withLock { UInt64($0.bytes.count) }
  }

  func truncate(to size: UInt64) throws(TreeRingError) {
    contents.state.withLock { state in
      let (old, size) = (state.bytes.count, Int(size))
      if size <= old {
        state.bytes.removeLast(old - size)
        state.mappings.zero(from: old, to: size)
      } else {
        state.bytes.append(contentsOf: [UInt8](repeating: 0, count: size - old))
      }
    }
  }

  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool { false }

  func map(at offset: UInt64, count: Int) throws(TreeRingError) -> any FileMapping {
    precondition(count > 0, "an empty mapping of \(path)")
    return contents.state.withLock { state in
      state.mappings.map(state.bytes, at: Int(offset), count: count)
    }
  }

  func close() {}
}
