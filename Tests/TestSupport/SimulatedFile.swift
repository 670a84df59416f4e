// One file of the simulated disk: its sectors' histories, and the calls on it.

internal import Synchronization
internal import TreeRingLog

extension SimulatedFileSystem.Node {
  private static var sectorSize: Int { SimulatedFileSystem.sectorSize }

  /// Remembers the present contents of the sectors that hold a range.
  mutating func remember(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    let last = (range.upperBound - 1) / Self.sectorSize
    for sector in range.lowerBound / Self.sectorSize...last {
      sectors[sector, default: []].append(Self.sector(sector, of: current))
    }
  }

  private static func sector(_ index: Int, of bytes: [UInt8]) -> [UInt8] {
    let start = index * sectorSize
    let end = min(start + sectorSize, bytes.count)
    var content = start < end ? Array(bytes[start..<end]) : []
    content += Array(repeating: 0, count: sectorSize - content.count)
    return content
  }

  mutating func write(_ bytes: some Collection<UInt8>, at offset: Int) {
    let end = offset + bytes.count
    if current.count < end {
      current += Array(repeating: 0, count: end - current.count)
      sizes.append(end)
    }
    current.replaceSubrange(offset..<end, with: bytes)
    mappings.changed(offset..<end, of: current)
    remember(offset..<end)
  }

  mutating func resize(to size: Int) {
    let old = current.count
    if size < old {
      current.removeLast(old - size)
      mappings.cut(from: old, to: size)
    } else {
      current += Array(repeating: 0, count: size - old)
    }
    sizes.append(size)
    remember(min(size, old)..<max(size, old))
  }

  /// The process that mapped the file is gone; what it stored stays.
  mutating func leaveMappings() {
    mappings.store(into: &current)
    mappings = HeapMappings()
  }

  /// Puts what is dirty on the device. Pages that a failed sync has left clean are not dirty.
  mutating func sync() {
    if synced.count > current.count { synced.removeLast(synced.count - current.count) }
    synced += Array(repeating: 0, count: current.count - synced.count)
    for sector in sectors.keys {
      let start = sector * Self.sectorSize
      let end = min(start + Self.sectorSize, current.count)
      if start < end { synced.replaceSubrange(start..<end, with: current[start..<end]) }
    }
    forget()
  }

  /// A failed sync: the pages count as clean, and what is on the device is anybody's guess.
  mutating func loseSync(_ random: inout SeededGenerator) {
    synced = survivor(&random, 50)
    forget()
  }

  private mutating func forget() {
    sectors = [:]
    sizes = []
  }

  /// The bytes found after a crash.
  func survivor(_ random: inout SeededGenerator, _ odds: Int) -> [UInt8] {
    var bytes = synced
    var size = synced.count
    for candidate in sizes where Int.random(in: 0..<100, using: &random) < odds {
      size = candidate
    }
    let room = max(size, bytes.count)
    bytes += Array(repeating: 0, count: room - bytes.count)
    for (sector, versions) in sectors.sorted(by: { $0.key < $1.key }) {
      guard Int.random(in: 0..<100, using: &random) < odds,
        var kept = versions.randomElement(using: &random)
      else { continue }
      let start = sector * Self.sectorSize
      if Int.random(in: 0..<10, using: &random) == 0 {
        let old = Self.sector(sector, of: synced)
        let torn = Int.random(in: 0...Self.sectorSize, using: &random)
        kept =
          Bool.random(using: &random)
          ? Array(kept[..<torn] + old[torn...]) : Array(old[..<torn] + kept[torn...])
      }
      guard start < bytes.count else { continue }
      let end = min(start + Self.sectorSize, bytes.count)
      bytes.replaceSubrange(start..<end, with: kept[..<(end - start)])
    }
    if size < bytes.count { bytes.removeLast(bytes.count - size) }
    return bytes
  }
}

final class SimulatedFile: File {
  let path: String
  private let id: Int
  private let system: SimulatedFileSystem

  init(path: String, id: Int, system: SimulatedFileSystem) {
    self.path = path
    self.id = id
    self.system = system
  }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int {
    let bytes: [UInt8]? = system.state.withLock { $0.isDown ? nil : $0.nodes[id]?.current }
    guard let bytes else { throw SimulatedFileSystem.down(path) }
    guard Int(offset) < bytes.count else { return 0 }
    let count = min(buffer.count, bytes.count - Int(offset))
    buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + count])
    return count
  }

  func write(_ source: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError) {
    let bytes = [UInt8](source)
    try change("write \(bytes.count) at \(offset) to") { state, node in
      var fits = bytes.count
      if let capacity = state.capacity {
        let used = state.nodes.values.reduce(node.current.count) { $0 + $1.current.count }
        let growth = max(0, Int(offset) + bytes.count - node.current.count)
        fits = max(0, min(bytes.count, bytes.count - growth + max(0, capacity - used)))
      }
      node.write(bytes[..<fits], at: Int(offset))
      return fits < bytes.count ? SimulatedFileSystem.full(path) : nil
    } failing: { state, node in
      let part = Int.random(in: 0...bytes.count, using: &state.generator)
      node.write(bytes[..<part], at: Int(offset))
    }
  }

  func sync(_ strength: SyncStrength) throws(TreeRingError) {
    try change("sync") { _, node in
      node.sync()
      return nil
    } failing: { state, node in
      // Power failing in a sync leaves the pages dirty; an error leaves them clean and lost.
      if !state.isDown { node.loseSync(&state.generator) }
    }
  }

  func size() throws(TreeRingError) -> UInt64 {
    let count: Int? = system.state.withLock { $0.isDown ? nil : $0.nodes[id]?.current.count }
    guard let count else { throw SimulatedFileSystem.down(path) }
    return UInt64(count)
  }

  func truncate(to size: UInt64) throws(TreeRingError) {
    try change("truncate to \(size)") { _, node in
      node.resize(to: Int(size))
      return nil
    } failing: { _, _ in
    }
  }

  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool {
    try change("allocate \(count) at \(offset) in") { state, node in
      if let capacity = state.capacity {
        let used = state.nodes.values.reduce(node.current.count) { $0 + $1.current.count }
        guard used + Int(count) <= capacity else { return SimulatedFileSystem.full(path) }
      }
      node.resize(to: max(node.current.count, Int(offset + count)))
      return nil
    } failing: { _, _ in
    }
    return true
  }

  func map(
    at offset: UInt64, count: Int, writable: Bool
  ) throws(TreeRingError) -> any FileMapping {
    precondition(count > 0, "an empty mapping of \(path)")
    let mapping: HeapMapping? = system.state.withLock { state in
      guard !state.isDown, var node = state.nodes.removeValue(forKey: id) else { return nil }
      defer { state.nodes[id] = node }
      return node.mappings.map(node.current, at: Int(offset), count: count, writable: writable)
    }
    guard let mapping else { throw SimulatedFileSystem.down(path) }
    return mapping
  }

  func close() {}

  private func change(
    _ what: String,
    _ body: (inout SimulatedFileSystem.State, inout SimulatedFileSystem.Node) -> TreeRingError?,
    failing: (inout SimulatedFileSystem.State, inout SimulatedFileSystem.Node) -> Void
  ) throws(TreeRingError) {
    let error: TreeRingError? = system.state.withLock { state in
      let wasDown = state.isDown
      let refused = system.enter(&state, what, path)
      // Taken out, so that changing it copies nothing.
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
