// The calls on one open file of the simulated disk.

internal import TreeRingLog
internal import TreeRingPlatform

final class SimulatedFile: File {
  let path: String
  private let id: Int
  private let system: SimulatedFileSystem

  init(path: String, id: Int, system: SimulatedFileSystem) {
    self.path = path
    self.id = id
    self.system = system
  }

  // MARK: Reading calls

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int {
    let offset = Int(offset)
    let range = offset..<offset + buffer.count
    let bytes = try accessNode("read \(buffer.count) at \(offset) of", range) { $0.current }
    guard offset < bytes.count else { return 0 }
    let count = min(buffer.count, bytes.count - offset)
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]))
    }
    return count
  }

  func size() throws(TreeRingError) -> UInt64 {
    UInt64(try accessNode("measure") { $0.current.count })
  }

  func map(at offset: UInt64, count: Int) throws(TreeRingError) -> any FileMapping {
    precondition(count > 0, "an empty mapping of \(path)")
    return try accessNode("map") { node in
      node.mappings.map(node.current, at: Int(offset), count: count)
    }
  }

  private func accessNode<R: Sendable>(
    _ what: @autoclosure () -> String, _ range: Range<Int>? = nil,
    _ body: (inout SimulatedNode) -> R
  ) throws(TreeRingError) -> R {
    let result: Result<R, TreeRingError> = system.state.withLock { state in
      if let observer = state.readObserver { observer("\(what()) \(path)") }
      if let error = state.faults.enterRead(what(), path, range) { return .failure(error) }
      // Removed from the dictionary, so that a change copies nothing.
      guard var node = state.nodes.removeValue(forKey: id) else {
        return .failure(SimulatedFaults.missing(path))
      }
      defer { state.nodes[id] = node }
      return .success(body(&node))
    }
    return try result.get()
  }

  // MARK: Changing calls

  func write(_ source: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError) {
    let bytes = [UInt8](source)
    let offset = Int(offset)
    try change("write \(bytes.count) at \(offset) to") { state, node in
      let time = state.faults.calls
      var fits = bytes.count
      if let capacity = state.capacity {
        let used = state.usedByteCount + node.current.count
        let growth = max(0, offset + bytes.count - node.current.count)
        fits = max(0, min(bytes.count, bytes.count - growth + max(0, capacity - used)))
      }
      if let watcher = state.writeWatcher {
        let start = min(offset, node.current.count)
        let end = min(offset + bytes.count, node.current.count)
        watcher(path, offset, Array(node.current[start..<end]), bytes)
      }
      switch state.faults.enterWrite() {
      case nil: node.write(bytes[..<fits], at: offset, time: time)
      case .lost: node.show(bytes, at: offset)
      case .misdirected: node.misdirect(bytes, at: offset, time: time, &state.generator)
      }
      return fits < bytes.count ? SimulatedFaults.full(path) : nil
    } failing: { state, node in
      state.faults.writes += 1
      let part = Int.random(in: 0...bytes.count, using: &state.generator)
      node.write(bytes[..<part], at: offset, time: state.faults.calls)
    }
  }

  func sync(_ strength: SyncStrength) throws(TreeRingError) {
    try change(strength == .barrier ? "barrier" : "sync") { _, node in
      node.sync(strength)
      return nil
    } failing: { state, node in
      // A power failure during a sync leaves the pages dirty; an error leaves them clean and lost.
      if !state.faults.isDown { node.loseSync(&state.generator) }
    }
  }

  func truncate(to size: UInt64) throws(TreeRingError) {
    try change("truncate to \(size)") { state, node in
      node.resize(to: Int(size), time: state.faults.calls)
      return nil
    } failing: { _, _ in
    }
  }

  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool {
    try change("allocate \(count) at \(offset) in") { state, node in
      if let capacity = state.capacity {
        let used = state.usedByteCount + node.current.count
        guard used + Int(count) <= capacity else { return SimulatedFaults.full(path) }
      }
      node.resize(
        to: max(node.current.count, Int(offset + count)), time: state.faults.calls)
      return nil
    } failing: { _, _ in
    }
    return true
  }

  var overwritesInPlace: Bool { system.state.withLock { $0.overwritesInPlace } }

  func release(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool {
    try change("release \(count) at \(offset) of") { state, node in
      node.clear(Int(offset)..<Int(offset + count), time: state.faults.calls)
      return nil
    } failing: { state, node in
      let part = Int.random(in: 0...Int(count), using: &state.generator)
      node.clear(Int(offset)..<Int(offset) + part, time: state.faults.calls)
    }
    return true
  }

  func close() {}

  private func change(
    _ what: String,
    _ body: (inout SimulatedFileSystem.State, inout SimulatedNode) -> TreeRingError?,
    failing: (inout SimulatedFileSystem.State, inout SimulatedNode) -> Void
  ) throws(TreeRingError) {
    let error: TreeRingError? = system.state.withLock { state in
      let wasDown = state.faults.isDown
      let refused = system.enterChange(&state, what, path)
      // Removed from the dictionary, so that a change copies nothing.
      guard !wasDown, var node = state.nodes.removeValue(forKey: id) else { return refused }
      defer { state.nodes[id] = node }
      if let refused {
        failing(&state, &node)
        return refused
      }
      return body(&state, &node)
    }
    if let error { throw error }
  }
}
