// The registry of live snapshots: the commit that each pins, its age, and the code that took it. It
// explains why a store still keeps some history. The horizon is under the same lock. So a snapshot
// is either registered before the horizon passes its commit, and holds the horizon back, or it is
// refused.

public import TreeRingLog
internal import TreeRingPlatform

/// A live snapshot, as `Store.pins` lists it.
public struct PinInfo: Hashable, Sendable {
  /// The commit that the snapshot keeps readable.
  public let commit: CommitNumber
  /// The time since the snapshot was taken.
  public let age: Duration
  /// The position in the program that took it: file and line.
  public let creator: String
}

/// The live snapshots of a store, and the horizon they may hold back.
final class PinRegistry: Sendable {
  private struct State {
    var pins = LivePins()
    /// Lower bounds: no pin has a commit below the first, and none was made before `oldestSince`.
    var oldestCommit = CommitNumber.max
    var oldestSince: ContinuousClock.Instant?
    var bounds = Bounds()
    /// The failure because of which the erase boundary stays until the store is reopened; nil if
    /// there was none.
    var eraseBoundaryReason: TreeRingError?

    /// Adds a pin. O(1).
    mutating func insert(_ pin: PinLife) {
      pins.insert(pin)
      oldestCommit = min(oldestCommit, pin.commit)
      oldestSince = oldestSince ?? pin.since
    }

    /// Throws `beyondHorizon`, or the error of the erase boundary, if a commit cannot be pinned.
    /// - Parameters:
    ///   - isKept: whether the commit was kept below the horizon at `epoch`.
    /// - Returns: false if `isKept` may have changed since `epoch`.
    func admits(
      _ commit: CommitNumber, isKept: Bool, epoch: UInt64
    ) throws(TreeRingError) -> Bool {
      guard commit > 0 else { return true }
      if commit < bounds.eraseBoundary {
        throw TreeRingError.erasing(commit, until: bounds.eraseBoundary, eraseBoundaryReason)
      }
      guard commit < bounds.horizon else { return true }
      if epoch != bounds.epoch { return false }
      guard isKept else { throw TreeRingError.beyond(bounds.horizon, commit: commit) }
      return true
    }

    func limit(
      _ wanted: CommitNumber, keeping kept: Set<CommitNumber>, followed: [CommitNumber]
    ) -> CommitNumber {
      let holding = (pins.all.map(\.commit) + followed)
        .filter { $0 >= max(bounds.horizon, 1) && !kept.contains($0) }
      return max(bounds.horizon, min(wanted, holding.min() ?? wanted))
    }
  }

  private let state = Mutex(State())

  /// The bounds of the readable commits at one moment.
  struct Bounds {
    /// The oldest commit from which on every commit can be read; 0 if all can.
    var horizon: CommitNumber = 0
    /// The erase boundary: while a row is being erased, the commit that deleted it, before which
    /// nothing may be read. 0 otherwise.
    var eraseBoundary: CommitNumber = 0
    /// Incremented whenever fewer commits may be readable than before.
    var epoch: UInt64 = 0
  }

  var bounds: Bounds { state.withLock { $0.bounds } }

  var horizon: CommitNumber { bounds.horizon }

  /// Registers a new pin.
  ///
  /// - Parameters:
  ///   - version: the version that the pin keeps; nil if it is not known yet.
  ///   - isKept: Whether the commit was kept below the horizon at `epoch`, as a tag's commit is.
  /// - Returns: The pin, which `remove` takes; nil if `isKept` may have changed since `epoch`.
  /// - Throws: `beyondHorizon`; `notAllowed` while a row is being erased from the past; `poisoned`
  ///   once such an erasing has failed half-way.
  func add(
    commit: CommitNumber, version: Version? = nil, isKept: Bool = false, epoch: UInt64 = 0,
    creator: PinCreator
  ) throws(TreeRingError) -> PinLife? {
    let pin = PinLife(commit: commit, creator: creator, version: version)
    let isAdded = try state.withLock { (state) throws(TreeRingError) in
      guard try state.admits(commit, isKept: isKept, epoch: epoch) else { return false }
      state.insert(pin)
      return true
    }
    return isAdded ? pin : nil
  }

  /// Removes a pin, if it is registered. O(1).
  func remove(_ pin: PinLife) { state.withLock { $0.pins.remove(pin) } }

  /// A version of a commit that a live pin keeps; nil if there is none.
  func version(of commit: CommitNumber) -> Version? {
    state.withLock { $0.pins.version(of: commit) }
  }

  /// Every live pin, the oldest commit first.
  var all: [PinInfo] {
    let now = ContinuousClock.now
    return state.withLock { $0.pins.all }.map {
      PinInfo(commit: $0.commit, age: now - $0.since, creator: $0.creator.description)
    }
    .sorted { ($0.commit, $1.age) < ($1.commit, $0.age) }
  }

  /// The furthest commit that the horizon can advance to. It does not pass a live pin, unless the
  /// pin's commit is kept below the horizon.
  ///
  /// - Parameter followed: The commits of the roots that other processes read.
  func limit(
    _ wanted: CommitNumber, keeping kept: Set<CommitNumber>, followed: [CommitNumber]
  ) -> CommitNumber {
    state.withLock { $0.limit(wanted, keeping: kept, followed: followed) }
  }

  /// Advances the horizon as far as the live pins allow; never moves it back.
  ///
  /// - Parameters:
  ///   - kept: The commits that stay readable below it.
  ///   - followed: The commits of the roots that other processes read.
  /// - Returns: The points kept from now on: the horizon, the commits in `kept`, and those of the
  ///   pins below it.
  func advance(
    to wanted: CommitNumber, keeping kept: Set<CommitNumber>, followed: [CommitNumber]
  ) -> KeptPoints {
    state.withLock { state in
      state.bounds.horizon = state.limit(wanted, keeping: kept, followed: followed)
      state.bounds.epoch += 1
      let pinned = state.pins.all.map(\.commit) + followed
      return KeptPoints(horizon: state.bounds.horizon, tags: kept.union(pinned))
    }
  }

  /// Adopts the horizon that the log states.
  func open(horizon: CommitNumber) {
    state.withLock { state in
      if horizon <= state.bounds.horizon { return }
      state.bounds.horizon = horizon
      state.bounds.epoch += 1
    }
  }

  /// Raises the erase boundary: from now on no commit before `commit` can be pinned. Does nothing
  /// if one of them is pinned already.
  /// - Returns: Whether the erase boundary was raised.
  func raiseEraseBoundary(_ commit: CommitNumber) -> Bool {
    state.withLock { state in
      if state.pins.all.contains(where: { $0.commit < commit && $0.commit > 0 }) {
        return false
      }
      state.bounds.eraseBoundary = commit
      state.bounds.epoch += 1
      return true
    }
  }

  /// Invalidates replays under way, because the log now lacks operations that they may still need.
  /// They have to start again.
  func invalidateReplays() { state.withLock { $0.bounds.epoch += 1 } }

  /// Makes the erase boundary permanent: the log can no longer rebuild the states before it.
  func makeEraseBoundaryPermanent(because reason: TreeRingError) {
    state.withLock { $0.eraseBoundaryReason = reason }
  }

  /// Removes the erase boundary, unless it is permanent.
  func removeEraseBoundary() {
    state.withLock { state in
      if state.eraseBoundaryReason != nil { return }
      state.bounds.eraseBoundary = 0
      state.bounds.epoch += 1
    }
  }

  /// Drops every pin that has passed the limit, so that it no longer holds history.
  func expire(_ limit: PinLimit, newest: CommitNumber) -> [PinLife] {
    let now = ContinuousClock.now
    func isPassed(_ commit: CommitNumber, _ since: ContinuousClock.Instant) -> Bool {
      limit.isPassed(age: now - since, behind: newest > commit ? newest - commit : 0)
    }
    return state.withLock { state in
      // This runs after every commit. Usually no pin can have passed the limit.
      guard let since = state.oldestSince, isPassed(state.oldestCommit, since) else { return [] }
      var rest = state.pins.all
      let passed = Array(rest[rest.partition { isPassed($0.commit, $0.since) }...])
      rest.removeLast(passed.count)
      for pin in passed {
        state.pins.remove(pin)
        pin.end()
      }
      state.oldestCommit = rest.reduce(.max) { min($0, $1.commit) }
      state.oldestSince = rest.map(\.since).min()
      return passed
    }
  }
}

extension TreeRingError {
  /// The error for a commit before the horizon.
  static func beyond(_ horizon: CommitNumber, commit: CommitNumber) -> TreeRingError {
    TreeRingError(
      .beyondHorizon,
      "Commit \(commit) lies before the horizon: history is kept from commit \(horizon) on, and at "
        + "tags. Start again from there.", commit: commit, current: horizon)
  }

  fileprivate static func erasing(
    _ commit: CommitNumber, until boundary: CommitNumber, _ failure: TreeRingError?
  ) -> TreeRingError {
    if let failure {
      return TreeRingError(
        .poisoned,
        "Erasing a row failed half-way, and the trees could not be rebuilt, so nothing "
          + "before commit "
          + "\(boundary) can be read. Reopen the store, and erase the row again. The failure: "
          + failure.message,
        file: failure.file, offset: failure.offset, commit: commit, errno: failure.errno)
    }
    return TreeRingError(
      .notAllowed,
      "A row is being erased from the history before commit \(boundary), so commit \(commit) "
        + "cannot be read now. Read the newest commit, or try again when the erasing has ended.",
      commit: commit)
  }
}
