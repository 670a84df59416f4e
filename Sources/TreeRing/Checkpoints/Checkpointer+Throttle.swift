// The throttling of writers that are faster than checkpoints. A writer sleeps after its commit if
// memory or the room in the page file is short, the longer the shorter it is; at a limit it waits
// for a checkpoint.

internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// Throttles the writer of the latest commit if there are too many dirty pages, or too many pages
  /// that died since the last checkpoint. The delay grows with the commit, so that small commits
  /// pass while large ones wait. Called outside any lock.
  ///
  /// At a limit, writers wait until a checkpoint has made room, or has failed to twice. Small
  /// commits have a higher limit: they wait only when the wait of large ones has not helped. No
  /// writer waits longer than some seconds: the checkpoint may itself wait for a write, whose
  /// closure waits for this one.
  ///
  /// - Parameter pageCount: the number of pages that the commit has made.
  func throttle(after pageCount: Int) {
    let pressure = pressure(before: pageCount)
    guard pageCount > 0, pressure > 0 else { return }
    schedule(isUrgent: true)
    let start = ContinuousClock.now
    let excess = min(1, pressure)
    Self.nap(min(Self.pagePrice * (Double(pageCount) * excess * excess), .milliseconds(50)))
    let limit = pageCount > Self.smallCommit ? 1 : 1.5
    let last = attempts.load(ordering: .acquiring) + 2
    waiting.add(1, ordering: .releasing)
    defer { waiting.subtract(1, ordering: .releasing) }
    while self.pressure(before: pageCount) > limit, attempts.load(ordering: .acquiring) < last,
      ContinuousClock.now - start < Self.longestWait, !state.withLock({ $0.isClosed })
    {
      schedule(isUrgent: true)
      Self.nap(.milliseconds(1))
    }
    let waited = ContinuousClock.now - start
    state.withLock {
      $0.statistics.slowedCommits += 1
      $0.statistics.slowedTime += waited
    }
  }

  /// The shortage of memory or of room in the file. Writers are throttled above 0; at 1 a limit is
  /// reached.
  /// - Parameter pageCount: the expected number of pages that the next commit replaces: about as
  ///   many as the last one made.
  private func pressure(before pageCount: Int) -> Double {
    let share = share
    let held = Double(heldFrameCount - share.slowPages) / Double(share.pages - share.slowPages)
    return max(held, (deadPart(with: pageCount / 8 * 9) - Self.slowPart) / (1 - Self.slowPart))
  }

  /// The part of the pages that may die between two checkpoints from which on writers are
  /// throttled.
  private static let slowPart = 0.75
  /// The delay of a commit for each page it has made, when a limit is nearly reached.
  private static let pagePrice = Duration.microseconds(20)
  private static let longestWait = Duration.seconds(5)
  /// The maximum number of pages that a small commit makes.
  private static let smallCommit = 64

  static func nap(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec(
      tv_sec: numericCast(seconds), tv_nsec: numericCast(attoseconds / 1_000_000_000))
    nanosleep(&time, nil)
  }
}
