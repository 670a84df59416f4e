// The time of the history that a board replays.

import TreeRing
import TreeRingLive
import TreeRingLog

/// A clock that runs at a chosen speed and can be paused.
struct BoardClock {
  private(set) var speed: Double
  private(set) var isPaused = false
  /// The history's time at the last setting of the clock, and the moment of that setting.
  private var history: Timestamp
  private var set: ContinuousClock.Instant

  /// - Parameter speed: seconds of history per second; clamped to 1/1024 through 1,000,000,000.
  init(at history: Timestamp, speed: Double, now: ContinuousClock.Instant = .now) {
    self.history = history
    self.speed = Self.nearest(speed)
    set = now
  }

  /// The moment of history at which a replay from a point with a commit begins: the point's date,
  /// or the commit's date if the point is no date. It is not before the first commit, so that the
  /// replay does not wait for that commit.
  static func start(
    at point: Point, _ commit: CommitNumber, in store: Store
  ) throws -> Timestamp {
    guard store.newestCommit > 0 else { return Timestamp(microseconds: 0) }
    let first = try store.commit(max(commit, 1)).timestamp
    if case .date(let date) = point { return max(date, first) }
    return first
  }

  /// The history's time.
  func time(_ now: ContinuousClock.Instant = .now) -> Timestamp {
    if isPaused { return history }
    let passed = (now - set) / .microseconds(1) * speed
    return Timestamp(microseconds: history.microseconds + Int64(min(passed, 1e17)))
  }

  /// Pauses the clock, or resumes it.
  mutating func pause(_ now: ContinuousClock.Instant = .now) {
    history = time(now)
    set = now
    isPaused.toggle()
  }

  /// Multiplies the speed.
  mutating func change(speed factor: Double, _ now: ContinuousClock.Instant = .now) {
    history = time(now)
    set = now
    speed = Self.nearest(speed * factor)
  }

  private static func nearest(_ speed: Double) -> Double { min(max(speed, 1.0 / 1024), 1e9) }

  /// Jumps to a moment of the history. The clock runs on from there unless it is paused.
  mutating func go(to moment: Timestamp, _ now: ContinuousClock.Instant = .now) {
    history = moment
    set = now
  }
}
