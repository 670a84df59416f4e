// A disk that loses power. It knows what has been synced and what only seems to be there.
//
// Between two syncs of a file every sector of 512 bytes keeps each content it was given; a crash
// keeps any one of them, or the synced one, or the beginning of the new one and the rest of the
// old (a torn sector). The file's size after a crash is any of the sizes it had. Names made,
// changed and removed since the folder was synced survive or not, each for itself.
//
// Faults: power fails at the n-th changing call; or chosen calls fail, with a failed sync leaving
// pages *clean* though they never reached the device; or the device is full.

internal import Synchronization
package import TreeRingLog

/// What goes wrong at a call.
package enum DiskFault: Hashable, Sendable {
  /// The call fails; a write may have been done in part; a sync has forgotten what it was to keep.
  case inputOutput
  /// The device is full; a write may have been done in part.
  case noSpace
}

package final class SimulatedFileSystem: FileSystem {
  static let sectorSize = 512

  struct Node {
    /// What the running system sees.
    var current: [UInt8] = []
    /// What is on the device for certain.
    var synced: [UInt8] = []
    /// Contents given to sectors since the last sync, oldest first.
    var sectors: [Int: [[UInt8]]] = [:]
    /// Sizes since the last sync, oldest first.
    var sizes: [Int] = []
    /// Memory kept equal to `current`.
    var mappings = HeapMappings()
  }

  enum NameChange {
    case set(String, node: Int)
    case rename(from: String, to: String, node: Int)
    case remove(String)
  }

  struct State {
    var nodes: [Int: Node] = [:]
    var nextNode = 1
    var names: [String: Int] = [:]
    var durableNames: [String: Int] = [:]
    var changes: [NameChange] = []
    var directories: Set<String> = [""]
    var locks: Set<String> = []
    var generator: SeededGenerator
    /// Changing calls so far.
    var calls = 0
    var crashAt: Int?
    var isDown = false
    var faults: [Int: DiskFault] = [:]
    var faultFrom: (call: Int, fault: DiskFault)?
    var capacity: Int?
    var log: [String] = []

    mutating func makeFile(_ path: String) {
      let id = nextNode
      nextNode += 1
      nodes[id] = Node()
      names[path] = id
      changes.append(.set(path, node: id))
    }
  }

  let state: Mutex<State>

  package init(seed: UInt64) {
    state = Mutex(State(generator: SeededGenerator(seed: seed)))
  }

  private init(_ state: State) { self.state = Mutex(state) }

  // MARK: Controls

  /// Changing calls made so far.
  package var callCount: Int { state.withLock { $0.calls } }

  /// True once the power has failed; every call fails then.
  package var isDown: Bool { state.withLock { $0.isDown } }

  /// The last calls, for a failing test's message.
  package var recentCalls: [String] { state.withLock { $0.log.suffix(12) } }

  /// Lets the power fail at the n-th changing call from now, counted from 1; nil for never.
  package func crash(after calls: Int?) {
    state.withLock { state in state.crashAt = calls.map { state.calls + $0 } }
  }

  /// Lets the n-th changing call from now fail once.
  package func fail(after calls: Int, with fault: DiskFault) {
    state.withLock { $0.faults[$0.calls + calls] = fault }
  }

  /// Lets all changing calls from the n-th from now on fail; nil for none.
  package func failAll(after calls: Int?, with fault: DiskFault) {
    state.withLock { state in
      state.faultFrom = calls.map { (state.calls + $0, fault) }
    }
  }

  /// Bounds the sum of all files' sizes; nil for no bound.
  package func setCapacity(_ bytes: Int?) { state.withLock { $0.capacity = bytes } }

  /// The bytes of a file as the running system sees them.
  package func contents(of path: String) -> [UInt8]? {
    state.withLock { state in state.names[path].flatMap { state.nodes[$0]?.current } }
  }

  package var paths: [String] { state.withLock { $0.names.keys.sorted() } }

  /// The disk as it is found after losing power now. The seed chooses what survives.
  ///
  /// - Parameter odds: how likely each unsynced thing is to survive, in percent.
  package func afterCrash(seed: UInt64, odds: Int? = nil) -> SimulatedFileSystem {
    let found = state.withLock { state in
      var random = SeededGenerator(seed: seed)
      let odds = odds ?? [0, 20, 50, 80, 100].randomElement(using: &random) ?? 50
      var names = state.durableNames
      for change in state.changes where Int.random(in: 0..<100, using: &random) < odds {
        switch change {
        case .set(let name, let node): names[name] = node
        case .remove(let name): names[name] = nil
        case .rename(let from, let to, let node):
          names[from] = nil
          names[to] = node
        }
      }
      var fresh = State(generator: SeededGenerator(seed: seed &+ 1))
      fresh.directories = state.directories
      for (name, id) in names.sorted(by: { $0.key < $1.key }) {
        guard let node = state.nodes[id] else { continue }
        let bytes = node.survivor(&random, odds)
        fresh.nodes[id] = Node(current: bytes, synced: bytes)
        fresh.names[name] = id
      }
      fresh.durableNames = fresh.names
      fresh.nextNode = state.nextNode
      return fresh
    }
    return SimulatedFileSystem(found)
  }

  /// What remains after the process is killed: everything the system was given.
  package func afterKill() -> SimulatedFileSystem {
    let found = state.withLock { state in
      var fresh = state
      fresh.locks = []
      fresh.crashAt = nil
      fresh.isDown = false
      fresh.faults = [:]
      fresh.faultFrom = nil
      for id in Array(fresh.nodes.keys) {
        guard var node = fresh.nodes.removeValue(forKey: id) else { continue }
        node.leaveMappings()
        fresh.nodes[id] = node
      }
      return fresh
    }
    return SimulatedFileSystem(found)
  }

  // MARK: Calls

  static func down(_ path: String) -> TreeRingError {
    TreeRingError(.io, "The power has failed.", file: path, errno: 5)
  }

  /// Counts a changing call and decides whether it works.
  func enter(_ state: inout State, _ what: String, _ path: String) -> TreeRingError? {
    if state.isDown { return Self.down(path) }
    state.calls += 1
    state.log.append("\(state.calls) \(what) \(path)")
    if let at = state.crashAt, state.calls >= at {
      state.isDown = true
      return Self.down(path)
    }
    var fault = state.faults.removeValue(forKey: state.calls)
    if fault == nil, let from = state.faultFrom, state.calls >= from.call { fault = from.fault }
    switch fault {
    case nil: return nil
    case .inputOutput:
      return TreeRingError(.io, "The device failed to \(what).", file: path, errno: 5)
    case .noSpace: return Self.full(path)
    }
  }

  static func full(_ path: String) -> TreeRingError {
    TreeRingError(.noSpace, "The device is full.", file: path, errno: 28)
  }

  private func change(
    _ what: String, _ path: String,
    _ body: (inout State) -> TreeRingError?
  ) throws(TreeRingError) {
    let error = state.withLock { state in enter(&state, what, path) ?? body(&state) }
    if let error { throw error }
  }

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    if mode == .createNew {
      try change("create", path) { state in
        guard state.names[path] == nil else {
          return TreeRingError(.alreadyExists, "\(path) is there.", file: path)
        }
        state.makeFile(path)
        return nil
      }
    }
    let id: Int? = state.withLock { $0.isDown ? nil : $0.names[path] }
    guard let id else {
      throw TreeRingError(isDown ? .io : .notFound, "There is no \(path).", file: path)
    }
    return SimulatedFile(path: path, id: id, system: self)
  }

  package func exists(_ path: String) throws(TreeRingError) -> Bool {
    state.withLock { $0.names[path] != nil || $0.directories.contains(path) }
  }

  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    let found: [String]? = state.withLock { state in
      guard !state.isDown, state.directories.contains(directory) else { return nil }
      let prefix = directory + "/"
      return state.names.keys.filter { $0.hasPrefix(prefix) }
        .map { String($0.dropFirst(prefix.count)) }.filter { !$0.contains("/") }
    }
    guard let found else {
      throw TreeRingError(isDown ? .io : .notFound, "No folder \(directory).", file: directory)
    }
    return found
  }

  package func makeDirectory(_ path: String) throws(TreeRingError) {
    try change("mkdir", path) { state in
      state.directories.insert(path)
      return nil
    }
  }

  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    try change("rename", path) { state in
      guard let id = state.names.removeValue(forKey: path) else {
        return TreeRingError(.notFound, "There is no \(path).", file: path)
      }
      state.names[newPath] = id
      state.changes.append(.rename(from: path, to: newPath, node: id))
      return nil
    }
  }

  package func unlink(_ path: String) throws(TreeRingError) {
    try change("unlink", path) { state in
      guard state.names.removeValue(forKey: path) != nil else {
        return TreeRingError(.notFound, "There is no \(path).", file: path)
      }
      state.changes.append(.remove(path))
      return nil
    }
  }

  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    try change("link \(newPath) to", path) { state in
      guard let id = state.names[path] else {
        return TreeRingError(.notFound, "There is no \(path).", file: path)
      }
      guard state.names[newPath] == nil else {
        return TreeRingError(.alreadyExists, "\(newPath) is there.", file: newPath)
      }
      state.names[newPath] = id
      state.changes.append(.set(newPath, node: id))
      return nil
    }
  }

  package func removeDirectory(_ path: String) throws(TreeRingError) {
    try change("rmdir", path) { state in
      let all = state.names.keys.map { $0 } + state.directories
      guard !all.contains(where: { $0.hasPrefix(path + "/") }) else {
        return TreeRingError(.io, "\(path) is not empty.", file: path)
      }
      guard state.directories.remove(path) != nil else {
        return TreeRingError(.notFound, "There is no \(path).", file: path)
      }
      return nil
    }
  }

  package func syncDirectory(_ path: String) throws(TreeRingError) {
    try change("syncDirectory", path) { state in
      state.changes = []
      state.durableNames = state.names
      return nil
    }
  }

  package func lock(_ path: String) throws(TreeRingError) -> any FileLock {
    let isMine = state.withLock { state in
      guard state.locks.insert(path).inserted else { return false }
      if state.names[path] == nil { state.makeFile(path) }
      return true
    }
    guard isMine else { throw TreeRingError(.locked, "\(path) is locked.", file: path) }
    return SimulatedLock(path: path, system: self)
  }

  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    state.withLock { $0.locks.contains(path) }
  }
}

private final class SimulatedLock: FileLock {
  private let path: String
  private let system: SimulatedFileSystem
  init(path: String, system: SimulatedFileSystem) {
    self.path = path
    self.system = system
  }
  deinit { release() }
  func release() { system.state.withLock { _ = $0.locks.remove(path) } }
}
