// A signal that comes once.

internal import TreeRingLog

/// The end of a thread, for others to wait for.
final class EndSignal: Sendable {
  private let state = Monitor(false)
  private let changed = Condition()

  func signal() {
    state.withLock { $0 = true }
    changed.broadcast()
  }

  func wait() {
    state.enter { held in
      while !held.state { held.wait(for: changed) }
    }
  }

  /// - Returns: Whether it came within the time.
  func wait(atMost limit: Duration) -> Bool {
    let deadline = ContinuousClock.now + limit
    return state.enter { held in
      while !held.state, deadline > .now {
        held.wait(for: changed, atMost: deadline - .now)
      }
      return held.state
    }
  }
}
