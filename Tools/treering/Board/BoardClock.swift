// The time of the history that a board replays.

import TreeRing
import TreeRingLog

/// A clock that runs at a chosen speed, and may be paused.
struct BoardClock {
  private(set) var speed: Double
  private(set) var isPaused = false
  /// The history's time when the clock was last set, and when that was.
  private var history: Timestamp
  private var set: ContinuousClock.Instant

  /// - Parameter speed: how many seconds of history a second shows; the nearest speed there is, 1/1024 to
  ///   1,000,000,000.
  init(at history: Timestamp, speed: Double, now: ContinuousClock.Instant = .now) {
    self.history = history
    self.speed = Self.nearest(speed)
    set = now
  }

  /// The moment at which a replay begins that is to begin at a point, with a commit: that date, or that
  /// of the commit where the point is none; not before the first commit, which one would wait for else.
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

  /// Stops the clock, or lets it go on.
  mutating func pause(_ now: ContinuousClock.Instant = .now) {
    history = time(now)
    set = now
    isPaused.toggle()
  }

  /// Makes it run so many times as fast.
  mutating func change(speed factor: Double, _ now: ContinuousClock.Instant = .now) {
    history = time(now)
    set = now
    speed = Self.nearest(speed * factor)
  }

  private static func nearest(_ speed: Double) -> Double { min(max(speed, 1.0 / 1024), 1e9) }

  /// Goes to a moment of the history, and on from there unless it is paused.
  mutating func go(to moment: Timestamp, _ now: ContinuousClock.Instant = .now) {
    history = moment
    set = now
  }
}
