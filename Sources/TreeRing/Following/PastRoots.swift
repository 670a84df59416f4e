// The roots of the writer's page file that a follower reads the past from. The writer keeps them
// for its own time travel: without one of them, a follower replays the log from its start.
//
// Such a root is older than the newest one, so the writer may drop it. The follower reads it like
// this:
//
// 1. It registers the root's commit in `readers/`, and reads the newest meta again. If it is still
//    the one that lists the root, the root can be read.
// 2. The file stays registered while a state is built on the root. States that only `TimeTravel`
//    keeps are evicted when nobody has used them for some seconds, since they hold back history.
//
// A checkpoint that has listed the readers before step 1 may still drop the root, with the meta
// after that one. But it keeps the root's pages until the meta after its own, and the checkpoint
// that writes that one lists the readers again (`Checkpointer.State.adopt`). By then it finds the
// file.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// The roots of the past that a follower has registered. Any thread.
final class PastRoots: Sendable {
  private struct Registered {
    var pin: ReaderPin
    /// Nil once no version needs the root any more.
    weak let use: RootUse?
  }

  private struct State {
    /// Whether the file that the follower reads is the store's page file.
    var isOpen: Bool
    var registered: [Registered] = []
  }

  private let state: Mutex<State>
  private let checkpoints: CheckpointReader
  private let replayer: PrivateReplay
  private let logger: Logger

  init(_ checkpoints: CheckpointReader, _ replayer: PrivateReplay, isOpen: Bool, logger: Logger) {
    (self.checkpoints, self.replayer, self.logger) = (checkpoints, replayer, logger)
    state = Mutex(State(isOpen: isOpen))
  }

  /// The version of the newest root at or before a commit; nil if there is none after `last`, or if
  /// it cannot be read. Reads the newest meta; for another meta than the last time also its list of
  /// roots.
  func version(atOrBefore commit: CommitNumber, after last: CommitNumber) -> Version? {
    do throws(TreeRingError) {
      return try state.withLock { (state) throws(TreeRingError) in
        guard state.isOpen else { return nil }
        return try version(atOrBefore: commit, after: last, &state)
      }
    } catch {
      logger.debug("No earlier root can be read, so more of the log is replayed: \(error)")
      return nil
    }
  }

  private func version(
    atOrBefore commit: CommitNumber, after last: CommitNumber, _ state: inout State
  ) throws(TreeRingError) -> Version? {
    for _ in 0..<Self.attempts {
      guard let found = try checkpoints.pastRoot(atOrBefore: commit, after: last) else { break }
      for registered in state.registered where registered.pin.commit == found.roots.commit {
        guard let use = registered.use else { continue }
        return try replayer.version(of: found.roots, use: use)
      }
      guard let root = try checkpoints.register(found) else { continue }
      replayer.pages.adopt(
        bound: max(root.bound, replayer.pages.pageNumberBound), free: BitSet())
      let use = RootUse()
      state.registered.append(Registered(pin: root.pin, use: use))
      return try replayer.version(of: root.roots, use: use)
    }
    return nil
  }

  /// Each attempt but the last has failed because the writer made a checkpoint meanwhile.
  private static let attempts = 10

  /// Whether a version may still need a root.
  var isInUse: Bool { state.withLock { !$0.registered.isEmpty } }

  /// Releases the roots that no version needs any more.
  func releaseUnused() {
    state.withLock { state in
      state.registered.removeAll { registered in
        guard registered.use == nil else { return false }
        registered.pin.release()
        return true
      }
    }
  }

  /// Stops the reading of roots: the follower leaves the file. Roots in use stay registered.
  func close() { state.withLock { $0.isOpen = false } }

  /// Continues it in the file that the follower reads now.
  func open() { state.withLock { $0.isOpen = true } }

  /// Releases all roots, at the end of the follower.
  func releaseAll() {
    state.withLock { state in
      state.isOpen = false
      for registered in state.registered { registered.pin.release() }
      state.registered = []
    }
  }
}
