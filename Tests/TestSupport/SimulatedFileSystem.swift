// A disk that loses power, fails, lies and forgets. It knows what has been synced and what only seems
// to be there; `SimulatedNode` says what a crash keeps of a file, `SimulatedNames` what of the names.
//
// - A crash: at the n-th changing call power fails, and every call fails from then on. `afterCrash`
//   gives the disk as it is found, `afterKill` as it is found when only the process died. A disk may
//   be crashed any number of times, and shows every moment of a run to `observe`.
// - Calls that fail: the n-th, or all from the n-th on; a failed write has been done in part, a failed
//   sync leaves pages clean that never reached the device. Calls that look may fail as well.
// - A device that lies: writes that are lost, or land elsewhere, though they were confirmed; bytes that
//   change by themselves.
// - A full device: `setCapacity`.

internal import Synchronization
internal import TreeRingLog

package final class SimulatedFileSystem: Sendable {
  struct State {
    var nodes: [Int: SimulatedNode] = [:]
    var nextNode = 1
    var names = SimulatedNames()
    var locks: Set<String> = []
    var generator: SeededGenerator
    var faults = SimulatedFaults()
    var capacity: Int?
    var observer: (@Sendable (Int, String, SimulatedFileSystem) -> Void)?
    var readObserver: (@Sendable (String) -> Void)?
    var writeWatcher: WriteWatcher?

    mutating func makeFile(_ path: String) {
      nodes[nextNode] = SimulatedNode()
      names.set(path, node: nextNode, time: faults.calls)
      nextNode += 1
    }

    /// Bytes of all files that have a name.
    var usedByteCount: Int {
      names.nodes.reduce(0) { $0 + (nodes[$1]?.current.count ?? 0) }
    }
  }

  let state: Mutex<State>

  /// Is told of each write before it is done: to which file, where, and the bytes before and after.
  package typealias WriteWatcher =
    @Sendable (_ path: String, _ offset: Int, _ old: [UInt8], _ new: [UInt8]) -> Void

  package init(seed: UInt64) {
    state = Mutex(State(generator: SeededGenerator(seed: seed)))
  }

  init(_ state: State) { self.state = Mutex(state) }

  // MARK: What has happened

  /// Calls made so far that change something on the disk.
  package var callCount: Int { state.withLock { $0.faults.calls } }
  /// Writes among them.
  package var writeCount: Int { state.withLock { $0.faults.writes } }
  /// Calls made so far that only look: open, list, read, ….
  package var readCount: Int { state.withLock { $0.faults.reads } }
  /// How many of the faults asked for have come true.
  package var faultCount: Int { state.withLock { $0.faults.count } }
  /// True once the power has failed; every call fails then.
  package var isDown: Bool { state.withLock { $0.faults.isDown } }
  /// The last calls, for a failing test's message.
  package var recentCalls: [String] {
    state.withLock { $0.faults.log.suffix(12).map { "\($0.call) \($0.what) \($0.path)" } }
  }
  /// The changing calls after a number of them, at most the last 32, without their numbers.
  package func calls(after count: Int) -> [String] {
    state.withLock { state in
      state.faults.log.filter { $0.call > count }.map { "\($0.what) \($0.path)" }
    }
  }

  // MARK: What is to happen

  /// Lets the power fail at the n-th changing call from now, counted from 1; nil for never.
  package func crash(after calls: Int?) {
    state.withLock { state in state.faults.crashAt = calls.map { state.faults.calls + $0 } }
  }

  /// Lets the n-th changing call from now fail once.
  package func fail(after calls: Int, with fault: DiskFault) {
    state.withLock { $0.faults.once[$0.faults.calls + calls] = fault }
  }

  /// Lets all changing calls from the n-th from now on fail; nil for none.
  package func failAll(after calls: Int?, with fault: DiskFault) {
    state.withLock { state in
      state.faults.from = calls.map { (state.faults.calls + $0, fault) }
    }
  }

  /// Lets the n-th write from now be confirmed and not done as asked.
  package func deceive(after writes: Int, with fault: SilentFault) {
    state.withLock { $0.faults.silent[$0.faults.writes + writes] = fault }
  }

  /// Lets the n-th looking call from now fail once; nil for none.
  package func failRead(after reads: Int?) {
    state.withLock { state in state.faults.readOnce = reads.map { state.faults.reads + $0 } }
  }

  /// Lets all looking calls from the n-th from now on fail; nil for none.
  package func failAllReads(after reads: Int?) {
    state.withLock { state in state.faults.readFrom = reads.map { state.faults.reads + $0 } }
  }

  /// Lets every read of a part of a file fail; nil for no part.
  package func failReads(of path: String, in range: Range<Int>?) {
    state.withLock { $0.faults.unreadable[SimulatedNames.normal(path)] = range }
  }

  /// Bounds the sum of all files' sizes; nil for no bound.
  package func setCapacity(_ bytes: Int?) { state.withLock { $0.capacity = bytes } }

  /// Calls `body` before each changing call with the call's number, what it is, and a copy of the disk.
  /// It must not use this disk.
  package func observe(
    _ body: (@Sendable (_ call: Int, _ what: String, _ disk: SimulatedFileSystem) -> Void)?
  ) {
    state.withLock { $0.observer = body }
  }

  /// Calls `body` before each read of a file with what it is. It must not use this disk.
  package func observeReads(_ body: (@Sendable (_ what: String) -> Void)?) {
    state.withLock { $0.readObserver = body }
  }

  /// Calls `body` before each write, on this disk and on those found after it has crashed. It must not
  /// use the disk.
  package func watchWrites(_ body: WriteWatcher?) { state.withLock { $0.writeWatcher = body } }

  /// The system drops what it holds of files in its memory, as it may of all that is not dirty: reading gives
  /// what the device has.
  package func dropCaches() {
    state.withLock { state in
      for id in Array(state.nodes.keys) { state.nodes[id]?.dropCache() }
    }
  }

  // MARK: Bytes

  /// The bytes of a file as the running system sees them.
  package func contents(of path: String) -> [UInt8]? {
    state.withLock { state in state.names.node(path).flatMap { state.nodes[$0]?.current } }
  }

  package var paths: [String] { state.withLock { $0.names.paths } }

  /// Changes a byte of a file, on the device and in memory; nothing happens beyond its end.
  package func damage(_ path: String, at offset: Int, _ change: (UInt8) -> UInt8) {
    state.withLock { state in
      if let id = state.names.node(path) { state.nodes[id]?.damage(offset, change) }
    }
  }

  /// Flips a bit somewhere in a part of a file.
  package func flipBit(_ path: String, in range: Range<Int>, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let offset = Int.random(in: range, using: &random)
    let bit = UInt8.random(in: 0..<8, using: &random)
    damage(path, at: offset) { $0 ^ 1 << bit }
  }

  /// Puts a file in the place of what is there, on the device and in memory; nil removes it.
  package func replace(_ path: String, with bytes: [UInt8]?) {
    state.withLock { state in
      let folder = SimulatedNames.parent(SimulatedNames.normal(path))
      if let bytes {
        let id = state.nextNode
        state.makeFile(path)
        state.nodes[id] = SimulatedNode(found: bytes)
      } else {
        state.names.remove(path, time: state.faults.calls)
      }
      state.names.sync(folder)
    }
  }

  // MARK: Afterwards

  /// The disk as it is found after losing power now. The seed chooses what survives.
  ///
  /// - Parameter odds: how likely each unsynced thing is to survive, in percent; if none is given the
  ///   seed chooses, and sometimes decides that all survives up to some moment and nothing later.
  package func afterCrash(seed: UInt64, odds: Int? = nil) -> SimulatedFileSystem {
    let found = state.withLock { state in
      var random = SeededGenerator(seed: seed)
      var keeping = Keeping(odds: odds ?? 50)
      if odds == nil {
        switch Int.random(in: 0..<6, using: &random) {
        case 5: keeping.through = Int.random(in: 0...state.faults.calls, using: &random)
        case let choice: keeping.odds = [0, 20, 50, 80, 100][choice]
        }
      }
      var found = State(generator: SeededGenerator(seed: seed &+ 1))
      found.writeWatcher = state.writeWatcher
      found.names = state.names.survivor(keeping, &random)
      found.nextNode = state.nextNode
      for id in found.names.nodes.sorted() {
        guard let node = state.nodes[id] else { continue }
        found.nodes[id] = SimulatedNode(found: node.survivor(keeping, &random))
      }
      return found
    }
    return SimulatedFileSystem(found)
  }

  /// The disk as it is found after the process was killed now: everything written is there, synced or
  /// not. A later power failure may still take it.
  package func afterKill() -> SimulatedFileSystem {
    SimulatedFileSystem(state.withLock { Self.withoutProcess($0) })
  }

  /// A state as other processes see it: no faults, no locks, nobody watching.
  static func withoutProcess(_ state: State) -> State {
    var fresh = State(generator: state.generator)
    fresh.writeWatcher = state.writeWatcher
    fresh.nodes = state.nodes
    fresh.nextNode = state.nextNode
    fresh.names = state.names
    fresh.capacity = state.capacity
    // What was done keeps its time, which may not lie in the future.
    fresh.faults.calls = state.faults.calls
    for id in Array(fresh.nodes.keys) {
      guard var node = fresh.nodes.removeValue(forKey: id) else { continue }
      node.leaveMappings()
      fresh.nodes[id] = node
    }
    return fresh
  }
}
