// The simulated disk's implementation of every call on names. Those on files are in SimulatedFile.

package import TreeRingLog
internal import TreeRingPlatform

extension SimulatedFileSystem: FileSystem {
  /// Notifies the observer, counts a changing call, and returns the error if it fails.
  func enterChange(_ state: inout State, _ what: String, _ path: String) -> TreeRingError? {
    if let observer = state.observer, !state.faults.isDown {
      observer(
        state.faults.calls + 1, "\(what) \(path)", SimulatedFileSystem(Self.withoutProcess(state)))
    }
    return state.faults.enterChange(what, path)
  }

  private func change(
    _ what: String, _ path: String, _ body: (inout State) -> TreeRingError?
  ) throws(TreeRingError) {
    let error = state.withLock { state in enterChange(&state, what, path) ?? body(&state) }
    if let error { throw error }
  }

  private func read<R: Sendable>(
    _ what: String, _ path: String, _ body: (inout State) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    let result: Result<R, TreeRingError> = state.withLock { state in
      if let error = state.faults.enterRead(what, path) { return .failure(error) }
      do throws(TreeRingError) {
        return .success(try body(&state))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    if mode == .createNew {
      try change("create", path) { state in
        guard state.names.node(path) == nil else {
          return TreeRingError(.alreadyExists, "\(path) exists. Choose another name.", file: path)
        }
        let folder = SimulatedNames.parent(SimulatedNames.normal(path))
        guard state.names.hasDirectory(folder) else { return SimulatedFaults.missing(folder) }
        if let capacity = state.capacity, state.usedByteCount > capacity {
          return SimulatedFaults.full(path)
        }
        state.makeFile(path)
        return nil
      }
    }
    let id = try read("open", path) { state throws(TreeRingError) in
      guard let id = state.names.node(path) else { throw SimulatedFaults.missing(path) }
      return id
    }
    return SimulatedFile(path: path, id: id, system: self)
  }

  package func exists(_ path: String) throws(TreeRingError) -> Bool {
    try read("look for", path) { $0.names.node(path) != nil || $0.names.hasDirectory(path) }
  }

  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    try read("list", directory) { state throws(TreeRingError) in
      guard state.names.hasDirectory(directory) else { throw SimulatedFaults.missing(directory) }
      return state.names.list(directory)
    }
  }

  package func makeDirectory(_ path: String) throws(TreeRingError) {
    try change("mkdir", path) { state in
      state.names.makeDirectory(path, time: state.faults.calls)
      return nil
    }
  }

  package func removeDirectory(_ path: String) throws(TreeRingError) {
    try change("rmdir", path) { state in
      guard state.names.hasDirectory(path) else { return SimulatedFaults.missing(path) }
      guard state.names.list(path).isEmpty else {
        return TreeRingError(.io, "\(path) is not empty.", file: path)
      }
      state.names.removeDirectory(path, time: state.faults.calls)
      return nil
    }
  }

  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    try change("rename", path) { state in
      guard let id = state.names.node(path) else { return SimulatedFaults.missing(path) }
      state.names.rename(path, to: newPath, node: id, time: state.faults.calls)
      return nil
    }
  }

  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    try change("link \(newPath) to", path) { state in
      guard let id = state.names.node(path) else { return SimulatedFaults.missing(path) }
      guard state.names.node(newPath) == nil else {
        return TreeRingError(
          .alreadyExists, "\(newPath) exists. Choose another name.", file: newPath)
      }
      state.names.set(newPath, node: id, time: state.faults.calls)
      return nil
    }
  }

  package func unlink(_ path: String) throws(TreeRingError) {
    try change("unlink", path) { state in
      guard state.names.node(path) != nil else { return SimulatedFaults.missing(path) }
      state.names.remove(path, time: state.faults.calls)
      // A file created there later lies elsewhere on the device.
      state.faults.unreadable[SimulatedNames.normal(path)] = nil
      return nil
    }
  }

  package func syncDirectory(_ path: String) throws(TreeRingError) {
    try change("syncDirectory", path) { state in
      guard state.names.hasDirectory(path) else { return SimulatedFaults.missing(path) }
      state.names.sync(path)
      return nil
    }
  }

  package func lock(_ path: String) throws(TreeRingError) -> any FileLock {
    let isMine: Bool? = state.withLock { state in
      if state.faults.isDown { return nil }
      guard state.locks.insert(SimulatedNames.normal(path)).inserted else { return false }
      if state.names.node(path) == nil { state.makeFile(path) }
      return true
    }
    guard let isMine else { throw SimulatedFaults.down(path) }
    guard isMine else { throw TreeRingError(.locked, "\(path) is locked.", file: path) }
    return SimulatedLock(path: SimulatedNames.normal(path), system: self)
  }

  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    try read("probe", path) { $0.locks.contains(SimulatedNames.normal(path)) }
  }
}

/// The lock's writes are not counted as calls, and fail only after a power failure.
private final class SimulatedLock: FileLock {
  private let path: String
  private let system: SimulatedFileSystem
  init(path: String, system: SimulatedFileSystem) {
    self.path = path
    self.system = system
  }
  deinit { release() }
  func write(_ bytes: [UInt8], at offset: UInt64) throws(TreeRingError) {
    let isDown = system.state.withLock { state in
      if state.faults.isDown { return true }
      guard let id = state.names.node(path) else { return false }
      state.nodes[id]?.write(bytes, at: Int(offset), time: state.faults.calls)
      return false
    }
    if isDown { throw SimulatedFaults.down(path) }
  }
  func check() throws(TreeRingError) {}
  func release() { system.state.withLock { _ = $0.locks.remove(path) } }
}
