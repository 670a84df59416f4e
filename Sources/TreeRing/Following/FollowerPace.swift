// Decides when a follower polls its writer's shared word.
//
// - After a change it polls again a millisecond later: commits come in bursts, and one poll serves
//   many.
// - Then it waits for a report that the shared word's file was written. Some file systems, above
//   all those on other machines, report nothing. So a wait lasts a tenth of a second at most, and
//   up to half a second while nothing changes. A change without a report shows that the file system
//   reports nothing; from then on the follower polls ten times a second.
// - If the system cannot watch files, it waits a millisecond. Each poll without a change makes the
//   next wait half as long again, up to twenty milliseconds.

internal import TreeRingLog
internal import TreeRingPlatform

/// The pauses between a follower's polls. Only its thread waits; any thread may end the waiting.
final class FollowerPace: Sendable {
  /// The outcome of a poll.
  enum Outcome: Sendable {
    case nothing
    /// The word has changed, and the follower has read every published commit.
    case news
    /// The word has changed, but a published commit cannot be read yet.
    case unfinished
  }

  private struct State: Sendable {
    var watch: (any FileWatch)?
    /// The next wait if there is no watch, in microseconds.
    var pause = 1_000
    /// Unfinished at first, because the word may have changed before the watch began.
    var outcome = Outcome.unfinished
    /// The longest wait for a report, in milliseconds.
    var patience = FollowerPace.shortestPatience
    /// Whether the last wait for a report timed out.
    var hasTimedOut = false
    /// Whether the word has changed without a report.
    var hasMissedReport = false
    var nextSlowCheck = ContinuousClock.now + FollowerPace.slowCheckInterval
    var isEnded = false
  }
  private let startWatch: @Sendable () -> (any FileWatch)?
  private let state: Mutex<State>

  /// The bounds of a wait for a report, in milliseconds.
  private static let shortestPatience = 100
  private static let longestPatience = 500
  /// The longest wait if there is no watch, in microseconds.
  private static let longestPause = 20_000
  /// The time from one slow check to the next.
  private static let slowCheckInterval = Duration.milliseconds(500)

  /// - Parameter startWatch: Starts a watch of the shared word's file, if the system supports it.
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
      // The next poll finds the changes of this millisecond too.
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
  func record(_ outcome: Outcome) {
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

  /// Whether a slow check is due. If so, and there is no watch, starts one.
  func isSlowCheckDue() -> Bool {
    let now = ContinuousClock.now
    let (isDue, isWatched) = state.withLock { state -> (Bool, Bool) in
      guard state.nextSlowCheck <= now else { return (false, true) }
      state.nextSlowCheck = now + Self.slowCheckInterval
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
