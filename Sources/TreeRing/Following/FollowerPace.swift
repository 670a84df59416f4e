// Decides when a follower polls its writer's shared word.
//
// - After a change it polls again a millisecond later: commits come in bursts, and one poll serves
//   many.
// - Then it waits until the file of the shared word is written. Not every file system reports that,
//   least of all one on another machine. So it polls ten times a second in any case, and twice a
//   second while nothing happens. News that was not reported shows that the file system reports
//   nothing; from then on it polls ten times a second.
// - Where the system reports nothing, it waits a millisecond. Each poll without news makes the wait
//   half as long again, up to twenty milliseconds.

internal import TreeRingLog
internal import TreeRingPlatform

/// The pauses between a follower's polls. Only its thread waits; any thread may end the waiting.
final class FollowerPace: Sendable {
  /// The outcome of a poll.
  enum Outcome: Sendable {
    case nothing
    /// Something new, and all of it was read.
    case news
    /// Something new that cannot be read yet.
    case unfinished
  }

  private struct State: Sendable {
    var watch: (any FileWatch)?
    /// The wait where no changes are reported, in microseconds.
    var pause = 1_000
    /// Something may have changed before the watch began.
    var outcome = Outcome.unfinished
    /// The longest wait for a report, in milliseconds.
    var patience = FollowerPace.shortestPatience
    /// Whether the last wait for a report was in vain.
    var hasTimedOut = false
    /// Whether something has happened without a report.
    var hasMissedReport = false
    var nextRare = ContinuousClock.now + FollowerPace.rareInterval
    var isEnded = false
  }
  private let startWatch: @Sendable () -> (any FileWatch)?
  private let state: Mutex<State>

  /// The bounds of a wait for a report, in milliseconds.
  private static let shortestPatience = 100
  private static let longestPatience = 500
  /// The longest wait where no changes are reported, in microseconds.
  private static let longestPause = 20_000
  /// The time between two checks of what seldom changes.
  private static let rareInterval = Duration.milliseconds(500)

  /// - Parameter startWatch: starts a watch of the shared word's file, if the system supports it.
  init(startWatch: @escaping @Sendable () -> (any FileWatch)?) {
    self.startWatch = startWatch
    state = Mutex(State(watch: startWatch()))
  }

  /// Waits until the next poll is due.
  func wait() {
    let (watch, pause, patience, outcome) = state.withLock {
      ($0.watch, $0.pause, $0.patience, $0.outcome)
    }
    switch outcome {
    case .unfinished: usleep(1_000)
    case .news where watch != nil:
      // The next poll also sees the changes of this time.
      usleep(1_000)
      // The watch still reports a change between the last poll and now.
      fallthrough
    case .nothing, .news:
      guard let watch else {
        usleep(UInt32(pause))
        return
      }
      let report = watch.wait(milliseconds: patience)
      state.withLock { state in
        state.hasTimedOut = report == .timedOut
        if report == .ended { state.watch = nil }
      }
    }
  }

  /// Records the outcome of a poll.
  func note(_ outcome: Outcome) {
    state.withLock { state in
      state.outcome = outcome
      state.pause = outcome == .nothing ? min(state.pause * 3 / 2, Self.longestPause) : 1_000
      if state.hasTimedOut, outcome != .nothing { state.hasMissedReport = true }
      if outcome == .nothing, !state.hasMissedReport {
        state.patience = min(state.patience * 2, Self.longestPatience)
      } else {
        state.patience = Self.shortestPatience
      }
      state.hasTimedOut = false
    }
  }

  /// Whether a check of what seldom changes is due. If so, and there is no watch, starts one.
  func isRareDue() -> Bool {
    let now = ContinuousClock.now
    let (isDue, isWatched) = state.withLock { state -> (Bool, Bool) in
      guard state.nextRare <= now else { return (false, true) }
      state.nextRare = now + Self.rareInterval
      return (true, state.watch != nil || state.isEnded)
    }
    if !isWatched, let watch = startWatch() {
      state.withLock { state in if !state.isEnded { state.watch = watch } }
    }
    return isDue
  }

  /// Ends the current wait.
  func end() {
    let watch = state.withLock { state in
      state.isEnded = true
      return state.watch
    }
    watch?.cancel()
  }
}
