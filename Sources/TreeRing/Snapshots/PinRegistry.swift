// Who holds which commit, and since when: the answer to "why is this still here?". The horizon lies
// under the same lock, so that a snapshot is either registered before the horizon passes its commit,
// and holds it back, or is refused.

internal import Synchronization
internal import TreeRingLog

/// Where in the program a snapshot was taken. Put into words only when somebody asks: snapshots are taken
/// far more often.
struct PinCreator: Sendable, CustomStringConvertible {
  var file: String
  var line: Int
  var description: String { "\(file):\(line)" }
}

/// The live snapshots of a store, and the horizon they may hold back.
final class PinRegistry: Sendable {
  private struct Entry {
    var commit: CommitNumber
    var since: ContinuousClock.Instant
    var creator: PinCreator
    var life: PinLife
  }

  private struct State {
    var next: UInt64 = 0
    var entries: [UInt64: Entry] = [:]
    var horizon: CommitNumber = 0
    /// Raised whenever what can be read may have become less.
    var epoch: UInt64 = 0
    /// While a row is being erased: the commit that deleted it. Older ones are not to be read.
    var barrier: CommitNumber = 0
    /// Why it stays until the store is reopened, if it does.
    var barrierReason: TreeRingError?
  }

  private let state = Mutex(State())

  /// The oldest commit from which on every one can be read; 0 if all can.
  var horizon: CommitNumber { state.withLock { $0.horizon } }

  /// What bounds the readable commits at one moment.
  struct Bounds {
    var horizon: CommitNumber
    /// While a row is being erased: the commit that deleted it, else 0.
    var barrier: CommitNumber
    /// Changes whenever what can be read may have become less.
    var epoch: UInt64
  }

  var bounds: Bounds {
    state.withLock { Bounds(horizon: $0.horizon, barrier: $0.barrier, epoch: $0.epoch) }
  }

  /// A place in the registry, and whether it still counts.
  struct Registration {
    var number: UInt64
    var life: PinLife
  }

  /// Notes a new pin; the result names it to `remove`.
  ///
  /// - Parameters:
  ///   - isKept: whether the commit was one of those kept below the horizon, as a tag's is, at `epoch`.
  /// - Returns: nil if that may have changed since.
  /// - Throws: `beyondHorizon`; `notAllowed` while a row is being erased from the past.
  func add(
    commit: CommitNumber, isKept: Bool = false, epoch: UInt64 = 0, creator: PinCreator
  ) throws(TreeRingError) -> Registration? {
    let since = ContinuousClock.now
    let life = PinLife(commit: commit)
    var refusal: TreeRingError?
    let number = state.withLock { state -> UInt64? in
      if commit > 0, commit < state.barrier {
        refusal = TreeRingError.erasing(commit, until: state.barrier, state.barrierReason)
        return nil
      }
      if commit > 0, commit < state.horizon {
        if epoch != state.epoch { return nil }
        if !isKept {
          refusal = TreeRingError.beyond(state.horizon, commit: commit)
          return nil
        }
      }
      state.next += 1
      state.entries[state.next] = Entry(
        commit: commit, since: since, creator: creator, life: life)
      return state.next
    }
    if let refusal { throw refusal }
    return number.map { Registration(number: $0, life: life) }
  }

  func remove(_ registration: UInt64) {
    state.withLock { $0.entries[registration] = nil }
  }

  /// The version of a commit that somebody holds; nil if nobody does.
  func version(of commit: CommitNumber) -> Version? {
    let lives = state.withLock { state in
      state.entries.values.filter { $0.commit == commit }.map(\.life)
    }
    return lives.lazy.compactMap { try? $0.version() }.first
  }

  /// Every live pin, oldest commit first.
  var all: [PinInfo] {
    let now = ContinuousClock.now
    let entries = state.withLock { Array($0.entries.values) }
    return entries.map {
      PinInfo(commit: $0.commit, age: now - $0.since, creator: $0.creator.description)
    }
    .sorted { ($0.commit, $1.age) < ($1.commit, $0.age) }
  }

  /// How far the horizon could go: not past a live pin, unless its commit is kept anyway.
  ///
  /// - Parameter followed: the commits of the roots that other processes read.
  func limit(
    _ wanted: CommitNumber, keeping kept: Set<CommitNumber>, followed: [CommitNumber]
  ) -> CommitNumber {
    state.withLock { Self.limit(wanted, keeping: kept, followed: followed, $0) }
  }

  private static func limit(
    _ wanted: CommitNumber, keeping kept: Set<CommitNumber>, followed: [CommitNumber],
    _ state: State
  ) -> CommitNumber {
    var horizon = wanted
    for commit in state.entries.values.map(\.commit) + followed
    where commit >= max(state.horizon, 1) && !kept.contains(commit) {
      horizon = min(horizon, commit)
    }
    return max(state.horizon, horizon)
  }

  /// Moves the horizon forward, as far as the live pins let it; never back.
  ///
  /// - Parameters:
  ///   - kept: the commits that stay readable below it.
  ///   - followed: the commits of the roots that other processes read.
  /// - Returns: what is kept from now on: the horizon, those commits, and those of the pins below.
  func advance(
    to wanted: CommitNumber, keeping kept: Set<CommitNumber>, followed: [CommitNumber]
  ) -> KeptPoints {
    state.withLock { state in
      state.horizon = Self.limit(wanted, keeping: kept, followed: followed, state)
      state.epoch += 1
      let pinned = state.entries.values.map(\.commit) + followed
      return KeptPoints(horizon: state.horizon, tags: kept.union(pinned))
    }
  }

  /// Takes over the horizon that the log states.
  func open(horizon: CommitNumber) {
    state.withLock { state in
      if horizon <= state.horizon { return }
      state.horizon = horizon
      state.epoch += 1
    }
  }

  /// Forbids commits before one to be pinned, unless some are.
  /// - Returns: whether it was done.
  func raiseBarrier(_ commit: CommitNumber) -> Bool {
    state.withLock { state in
      if state.entries.values.contains(where: { $0.commit < commit && $0.commit > 0 }) {
        return false
      }
      state.barrier = commit
      state.epoch += 1
      return true
    }
  }

  /// From here on the log lacks what replaying that has begun may still need: it has to begin again.
  func outdateReplays() { state.withLock { $0.epoch += 1 } }

  /// From now on the barrier stays: what lies before it can no longer be told from the log.
  func keepBarrier(because reason: TreeRingError) {
    state.withLock { $0.barrierReason = reason }
  }

  /// Ends what `raiseBarrier` began, if it does not have to stay.
  func dropBarrier() {
    state.withLock { state in
      if state.barrierReason != nil { return }
      state.barrier = 0
      state.epoch += 1
    }
  }

  /// Drops every pin that has passed the limit: it holds nothing any more.
  func expire(_ limit: PinLimit, newest: CommitNumber) -> [PinLife] {
    let now = ContinuousClock.now
    return state.withLock { state in
      let passed = state.entries.filter { _, entry in
        let behind = newest > entry.commit ? newest - entry.commit : 0
        return limit.isPassed(age: now - entry.since, behind: behind)
      }
      for (registration, entry) in passed {
        state.entries[registration] = nil
        entry.life.end()
      }
      return passed.values.map(\.life)
    }
  }
}

/// Whether a snapshot may still be read, and the version it keeps until then. One for each pin.
final class PinLife: Sendable {
  /// The commit pinned.
  let commit: CommitNumber
  private let isOver = Atomic<Bool>(false)
  private let held = Mutex<Version?>(nil)

  init(commit: CommitNumber) { self.commit = commit }

  /// Keeps a version while the snapshot lives. If it has been dropped before, nothing is kept: nobody
  /// would let go of it.
  func hold(_ version: Version) {
    held.withLock { held in
      if !hasEnded { held = version }
    }
  }

  /// The version kept.
  func version() throws(TreeRingError) -> Version {
    guard !hasEnded, let version = held.withLock({ $0 }) else { throw expired }
    return version
  }

  /// From now on reads that begin are refused.
  func end() { isOver.store(true, ordering: .sequentiallyConsistent) }

  /// Lets go of the version, when the reads have ended that began before `end`. They may last.
  func letGo() {
    held.withLock { $0 }?.pages.sections.waitForOthers()
    let version = held.withLock { held in
      defer { held = nil }
      return held
    }
    withExtendedLifetime(version) {}
  }

  var hasEnded: Bool {
    @inline(__always) get { isOver.load(ordering: .acquiring) }
  }

  /// Throws `snapshotExpired` once the pin has been dropped. Inside a read section.
  @inline(__always)
  func check() throws(TreeRingError) {
    if hasEnded { throw expired }
  }

  private var expired: TreeRingError {
    TreeRingError(
      .snapshotExpired,
      "This snapshot of commit \(commit) was held longer than `pinLimit` allows, so it was dropped. "
        + "Take a new one; to hold this commit for good, tag it.", commit: commit)
  }
}

extension TreeRingError {
  /// A commit that history no longer reaches back to.
  static func beyond(_ horizon: CommitNumber, commit: CommitNumber) -> TreeRingError {
    TreeRingError(
      .beyondHorizon,
      "Commit \(commit) lies before the horizon: history is kept from commit \(horizon) on, and at "
        + "tags. Start again from there.", commit: commit, current: horizon)
  }

  fileprivate static func erasing(
    _ commit: CommitNumber, until barrier: CommitNumber, _ failure: TreeRingError?
  ) -> TreeRingError {
    if let failure {
      return TreeRingError(
        .poisoned,
        "Erasing a row ended half-way, and its trees could not be made anew, so nothing before commit "
          + "\(barrier) can be read. Reopen the store, and erase the row again. The failure: "
          + failure.message,
        file: failure.file, offset: failure.offset, commit: commit, errno: failure.errno)
    }
    return TreeRingError(
      .notAllowed,
      "A row is being erased from the history before commit \(barrier), so commit \(commit) cannot "
        + "be read now. Read the newest commit, or try again when the erasing has ended.",
      commit: commit)
  }
}
