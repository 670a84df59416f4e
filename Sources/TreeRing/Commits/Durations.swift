// The durations of commits and syncs, for those who ask for them. Without an observer a write costs
// one load of an atomic more, and a sync nothing: the clock is not read.

internal import TreeRingLog
internal import TreeRingPlatform

/// Receives the durations of a store's commits and syncs. The store calls it on the threads that
/// write, so it must be fast and must not use the store.
public protocol DurationObserver: AnyObject, Sendable {
  /// Receives the duration of a write that made a commit.
  /// - Parameter duration: the time from the call of `write` until the commit was visible and as
  ///   durable as requested. It includes waiting for other writers, the closure, and throttling.
  func commitEnded(after duration: Duration)

  /// Receives the duration of a sync of the log that succeeded.
  ///
  /// - Parameters:
  ///   - duration: the time that the system's call took.
  ///   - commitCount: the number of commits that it made durable; 0 if there were none.
  func syncEnded(after duration: Duration, commitCount: Int)
}

/// The observers of a store.
final class Durations: Sendable {
  private let observers = Mutex<[any DurationObserver]>([])
  /// Whether there are observers. A write that begins meanwhile may miss a change, so no order is
  /// needed.
  private let hasObservers = Atomic<Bool>(false)

  /// Whether there are observers.
  var areObserved: Bool { hasObservers.load(ordering: .relaxed) }

  /// The present moment; nil without observers. A commit that nobody observes asks `areObserved`
  /// alone: a copy of an optional moment costs a thousand instructions.
  var start: ContinuousClock.Instant? { areObserved ? .now : nil }

  /// Makes a commit, and reports its duration if there are observers.
  @inline(__always)
  func measure(_ write: () throws -> Written<Void>) throws -> Written<Void> {
    areObserved ? try measured(write) : try write()
  }

  @inline(never)
  private func measured(_ write: () throws -> Written<Void>) throws -> Written<Void> {
    let start = ContinuousClock.now
    let written = try write()
    if written.timestamp != nil { commitEnded(since: start) }
    return written
  }

  func commitEnded(since start: ContinuousClock.Instant) {
    let duration = ContinuousClock.now - start
    for observer in observers.withLock({ $0 }) { observer.commitEnded(after: duration) }
  }

  private func syncEnded(after duration: Duration, commitCount: Int) {
    for observer in observers.withLock({ $0 }) {
      observer.syncEnded(after: duration, commitCount: commitCount)
    }
  }

  /// Changes the observers, and the log's observer with them.
  func change(_ log: CommitLog, _ body: (inout [any DurationObserver]) -> Void) {
    // Released outside the lock: the code of an observer's `deinit` is the caller's.
    let before = observers.withLock { observers -> [any DurationObserver] in
      let before = observers
      body(&observers)
      let areObserved = !observers.isEmpty
      hasObservers.store(areObserved, ordering: .relaxed)
      log.observeSyncs(areObserved ? syncEnded : nil)
      return before
    }
    withExtendedLifetime(before) {}
  }
}
