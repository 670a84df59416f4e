// A disk that loses power, fails, and confirms writes that it loses. It distinguishes synced bytes
// from those that only the running system has. `SimulatedNode` decides which bytes of a file
// survive a crash, `SimulatedNames` which names.
//
// - A crash: power fails at the n-th changing call, and every later call fails. `afterCrash`
//   returns the disk after the crash, `afterKill` the disk after the end of the process alone. A
//   disk may crash any number of times. `observe` receives the disk at every moment of a run.
// - Failing calls: the n-th, or all from the n-th on. A failed write is done in part. A failed sync
//   marks pages as clean that never reached the device. Reading calls may fail as well.
// - A lying device: confirmed writes that are lost or land elsewhere; bytes that change
//   spontaneously.
// - A full device: `setCapacity`.

internal import TreeRingLog
internal import TreeRingPlatform

package final class SimulatedFileSystem: Sendable {
  struct State {
    var nodes: [Int: SimulatedNode] = [:]
    var nextNode = 1
    var names = SimulatedNames()
    var locks: Set<String> = []
    var generator: SeededGenerator
    var faults = SimulatedFaults()
    var capacity: Int?
    var overwritesInPlace = true
    var observer: (@Sendable (Int, String, SimulatedFileSystem) -> Void)?
    var readObserver: (@Sendable (String) -> Void)?
    var writeWatcher: WriteWatcher?

    mutating func makeFile(_ path: String) {
      nodes[nextNode] = SimulatedNode()
      names.set(path, node: nextNode, time: faults.calls)
      nextNode += 1
    }

    /// The bytes of all files that have a name.
    var usedByteCount: Int {
      names.nodes.reduce(0) { $0 + (nodes[$1]?.current.count ?? 0) }
    }
  }

  let state: Mutex<State>

  /// Called before each write with the file, the offset, and the bytes before and after.
  package typealias WriteWatcher =
    @Sendable (_ path: String, _ offset: Int, _ old: [UInt8], _ new: [UInt8]) -> Void

  /// - Parameter overwritesInPlace: `File.overwritesInPlace` of all files.
  package init(seed: UInt64, overwritesInPlace: Bool = true) {
    var state = State(generator: SeededGenerator(seed: seed))
    state.overwritesInPlace = overwritesInPlace
    self.state = Mutex(state)
  }

  init(_ state: State) { self.state = Mutex(state) }

  // MARK: Counters

  /// The number of changing calls so far.
  package var callCount: Int { state.withLock { $0.faults.calls } }
  /// The number of writes among them.
  package var writeCount: Int { state.withLock { $0.faults.writes } }
  /// The number of reading calls so far: open, list, read, ….
  package var readCount: Int { state.withLock { $0.faults.reads } }
  /// The number of planned faults that have occurred.
  package var faultCount: Int { state.withLock { $0.faults.count } }
  /// True after the power has failed; every call fails then.
  package var isDown: Bool { state.withLock { $0.faults.isDown } }
  /// The last calls, for a failing test's message.
  package var recentCalls: [String] {
    state.withLock { $0.faults.log.suffix(12).map { "\($0.call) \($0.what) \($0.path)" } }
  }
  /// The changing calls after the first `count`, at most the last 32, without their numbers.
  package func calls(after count: Int) -> [String] {
    state.withLock { state in
      state.faults.log.filter { $0.call > count }.map { "\($0.what) \($0.path)" }
    }
  }

  // MARK: Planned faults

  /// Makes the power fail at the n-th changing call from now, counted from 1; nil for never.
  package func crash(after calls: Int?) {
    state.withLock { state in state.faults.crashAt = calls.map { state.faults.calls + $0 } }
  }

  /// Makes the n-th changing call from now fail once.
  package func fail(after calls: Int, with fault: DiskFault) {
    state.withLock { $0.faults.once[$0.faults.calls + calls] = fault }
  }

  /// Makes the n-th changing call of a kind from now fail once.
  /// - Parameter kind: As the observer gets it: "sync store/pages", say.
  package func fail(_ kind: String, after calls: Int, with fault: DiskFault) {
    state.withLock { $0.faults.kind = (kind, calls, fault) }
  }

  /// Makes all changing calls from the n-th from now on fail; nil for none.
  package func failAll(after calls: Int?, with fault: DiskFault) {
    state.withLock { state in
      state.faults.from = calls.map { (state.faults.calls + $0, fault) }
    }
  }

  /// Makes the n-th write from now succeed apparently but suffer a silent fault.
  package func deceive(after writes: Int, with fault: SilentFault) {
    state.withLock { $0.faults.silent[$0.faults.writes + writes] = fault }
  }

  /// Makes the n-th reading call from now fail once; nil for none.
  package func failRead(after reads: Int?) {
    state.withLock { state in state.faults.readOnce = reads.map { state.faults.reads + $0 } }
  }

  /// Makes all reading calls from the n-th from now on fail; nil for none.
  package func failAllReads(after reads: Int?) {
    state.withLock { state in state.faults.readFrom = reads.map { state.faults.reads + $0 } }
  }

  /// Makes every read that overlaps a range of a file fail; nil for no range.
  package func failReads(of path: String, in range: Range<Int>?) {
    state.withLock { $0.faults.unreadable[SimulatedNames.normal(path)] = range }
  }

  /// Limits the sum of all files' sizes; nil for no limit.
  package func setCapacity(_ bytes: Int?) { state.withLock { $0.capacity = bytes } }

  /// Calls `body` before each changing call with the call's number, its description and a copy of
  /// the disk. `body` must not use this disk.
  package func observe(
    _ body: (@Sendable (_ call: Int, _ what: String, _ disk: SimulatedFileSystem) -> Void)?
  ) {
    state.withLock { $0.observer = body }
  }

  /// Calls `body` before each read of a file with its description. `body` must not use this disk.
  package func observeReads(_ body: (@Sendable (_ what: String) -> Void)?) {
    state.withLock { $0.readObserver = body }
  }

  /// Calls `body` before each write, on this disk and on its successors after a crash. `body` must
  /// not use the disk.
  package func watchWrites(_ body: WriteWatcher?) { state.withLock { $0.writeWatcher = body } }

  /// Drops the system's cached pages, as may happen to all that are not dirty: later reads return
  /// the device's bytes.
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

  /// Flips a random bit in a range of a file.
  package func flipBit(_ path: String, in range: Range<Int>, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let offset = Int.random(in: range, using: &random)
    let bit = UInt8.random(in: 0..<8, using: &random)
    damage(path, at: offset) { $0 ^ 1 << bit }
  }

  /// Replaces a file's content, on the device and in memory; nil removes the file.
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

  // MARK: The disk after a crash

  /// The disk after a power failure at this moment. The seed selects the surviving writes.
  ///
  /// - Parameter odds: the probability, in percent, that each unsynced write survives. If nil, the
  ///   seed selects it, and sometimes decides that everything survives up to some moment and
  ///   nothing later.
  package func afterCrash(seed: UInt64, odds: Int? = nil) -> SimulatedFileSystem {
    let found = state.withLock { state in
      var random = SeededGenerator(seed: seed)
      var keeping = SurvivalRule(odds: odds ?? 50)
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

  /// The disk after a kill of the process at this moment: all writes are present, synced or not. A
  /// later power failure may still take them.
  package func afterKill() -> SimulatedFileSystem {
    SimulatedFileSystem(state.withLock { Self.withoutProcess($0) })
  }

  /// A state as other processes see it: no faults, no locks, no observers.
  static func withoutProcess(_ state: State) -> State {
    var fresh = State(generator: state.generator)
    fresh.writeWatcher = state.writeWatcher
    fresh.nodes = state.nodes
    fresh.nextNode = state.nextNode
    fresh.names = state.names
    fresh.capacity = state.capacity
    // Past changes keep their time, which may not lie in the future.
    fresh.faults.calls = state.faults.calls
    for id in Array(fresh.nodes.keys) {
      guard var node = fresh.nodes.removeValue(forKey: id) else { continue }
      node.dropMappings()
      fresh.nodes[id] = node
    }
    return fresh
  }
}
