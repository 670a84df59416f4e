// The time for which a batch of joint writes waits for writers that have just been woken.
//
// Writers that write again and again come back soon after their batch is durable. A sync that
// begins at once takes only those that had come before, so writers form two halves that wait for
// each other's syncs. A sync that waits for all of them takes all. The wait is never longer than
// two syncs, nor than a millisecond. If writers do not come back in that time, the next batches do
// not wait for them: one after the first time, then two, four and so on. For more than sixteen
// writers none waits: until all of them are awake, a sync is over.
//
// A batch that other machines make durable takes as long as many wakes. So that of a replica waits
// for any number of writers, for as long as the batch before took, ten milliseconds at most.

/// Decides how long batches wait. Its owner guards it.
struct Gathering: Hashable, Sendable {
  /// The maximum wait. Within a millisecond writers come back, however long a sync takes. Where the
  /// processors are busy with replication, that takes longer.
  private let longestWait: Duration
  /// The maximum wait as a multiple of the time that completing the batch before took.
  private let longestRatio: Int
  /// The maximum number of writers for which batches wait.
  private let mostWriters: Int
  /// The maximum number of batches that do not wait.
  private static let longestPause = 64

  /// The number of writes that the next batch comes to if all writers come back.
  private var expectedCount = 0
  /// The moment until which it may wait for them; nil if it does not wait.
  private var end: ContinuousClock.Instant?
  /// The number of batches that do not wait, from the next on.
  private var pauseLeft = 0
  /// The number of batches that did not wait after the last vain wait; 0 if that was not vain.
  private var pause = 0

  init(isReplicated: Bool, mostWriters: Int = 16) {
    longestWait = .milliseconds(isReplicated ? 10 : 1)
    longestRatio = isReplicated ? 1 : 2
    self.mostWriters = isReplicated ? .max : mostWriters
  }

  /// Notes that a batch is durable.
  /// - Parameters:
  ///   - count: the number of its writes.
  ///   - waiting: the number of writes that have come since.
  ///   - took: the time that completing it took.
  mutating func batchEnded(
    count: Int, waiting: Int, took: Duration, at now: ContinuousClock.Instant
  ) {
    expectedCount = count + waiting
    end = nil
    if pauseLeft > 0 {
      pauseLeft -= 1
    } else if expectedCount <= mostWriters {
      end = now + min(took * longestRatio, longestWait)
    }
  }

  /// Whether the next batch may wait for more writes.
  var isWaiting: Bool { end != nil }

  /// The time for which a batch of `count` writes waits for another one; nil if it waits no longer.
  mutating func wait(with count: Int, at now: ContinuousClock.Instant) -> Duration? {
    guard let end else { return nil }
    let isVain = count < expectedCount
    let left = end - now
    if isVain, left > .zero { return left }
    self.end = nil
    pause = isVain ? min(max(1, pause * 2), Self.longestPause) : 0
    pauseLeft = pause
    return nil
  }
}
