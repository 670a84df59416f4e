// A lease in the memory of one process.

internal import TreeRingPlatform

/// A lease for replicas of one process, for tests.
public final class MemoryLease: LeaderLease {
  private let state = Mutex<(holder: String, end: ContinuousClock.Instant)?>(nil)

  /// Creates a lease that nobody holds.
  public init() {}

  public func hold(
    _ holder: String, for duration: Duration, forced isForced: Bool
  ) throws(SharedLogError) -> String {
    state.withLock { state in
      let now = ContinuousClock.now
      if let current = state, current.end > now, current.holder != holder, !isForced {
        return current.holder
      }
      state = (holder, now + duration)
      return holder
    }
  }

  public func release(_ holder: String) throws(SharedLogError) {
    state.withLock { state in
      if state?.holder == holder { state = nil }
    }
  }
}
