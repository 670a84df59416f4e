// Throttles writers that are faster than checkpoints. A writer sleeps after its commit if memory or
// the room in the page file is short, the longer the shorter it is; at a limit it waits for a
// checkpoint.
//
// Invariants: a writer holds no lock while it waits, and waits some seconds at most. The checkpoint
// may itself wait for a write, whose closure waits for this writer.

internal import TreeRingLog
internal import TreeRingPlatform

/// The delays of writers, and the room for pages that die before the next checkpoint ends. Any
/// thread.
final class WriterThrottle: Sendable {
  /// The delays so far.
  struct Delays: Hashable, Sendable {
    var commitCount = 0
    var time: Duration = .zero
  }
  private let state = Mutex((delays: Delays(), waitingCount: 0))

  private let evictor: Evictor
  private let pins: PinTable
  private let schedule: CheckpointSchedule

  // Read after every commit, without the lock. The two may briefly disagree while a checkpoint
  // ends: the result is one wrong delay. No other memory depends on them, so no order is needed.
  private let deadBase = Atomic<Int>(0)
  private let deadRoom = Atomic<Int>(.max)

  init(evictor: Evictor, pins: PinTable, schedule: CheckpointSchedule) {
    self.evictor = evictor
    self.pins = pins
    self.schedule = schedule
  }

  /// The delays so far.
  var delays: Delays { state.withLock { $0.delays } }

  /// Whether a writer waits for a checkpoint.
  var isAwaited: Bool { state.withLock { $0.waitingCount > 0 } }

  // MARK: Room

  /// The number of pages that may die between the last checkpoint and the end of the next one.
  /// Takes no lock.
  var room: Int { deadRoom.load(ordering: .relaxed) }

  /// Sets `room`, and counts dead pages from now on.
  func setRoom(_ count: Int) {
    deadBase.store(pins.deadPageCount, ordering: .relaxed)
    deadRoom.store(count, ordering: .relaxed)
  }

  /// The number of pages that have died since the last checkpoint, as a part of `room`. Takes no
  /// lock.
  /// - Parameter coming: the number of pages that are about to die.
  func deadPart(with coming: Int = 0) -> Double {
    let dead = pins.deadPageCount - deadBase.load(ordering: .relaxed) + coming
    return Double(dead) / Double(room)
  }

  // MARK: Delays

  /// Delays the writer of the latest commit if there are too many dirty pages, or too many pages
  /// that died since the last checkpoint. The delay grows with the commit, so that small commits
  /// pass while large ones wait. Called outside any lock.
  ///
  /// At a limit, writers wait until a checkpoint has made room, or has failed to twice. Small
  /// commits have a higher limit: they wait only when the wait of large ones has not helped.
  ///
  /// - Parameters:
  ///   - pageCount: the number of pages that the commit has made.
  ///   - request: requests an urgent checkpoint.
  func delay(after pageCount: Int, request: () -> Void) {
    let pressure = pressure(before: pageCount)
    guard pageCount > 0, pressure > 0 else { return }
    request()
    let start = ContinuousClock.now
    var rest = nap(after: pageCount, pressure)
    while rest > .zero {
      // A checkpoint makes room meanwhile.
      Platform.sleep(min(rest, .milliseconds(1)))
      rest = nap(after: pageCount, self.pressure(before: pageCount)) - (.now - start)
    }
    let limit = pageCount > Self.smallCommit ? 1 : 1.5
    let last = schedule.attemptCount + 2
    state.withLock { $0.waitingCount += 1 }
    while self.pressure(before: pageCount) > limit, schedule.attemptCount < last,
      ContinuousClock.now - start < Self.longestWait, !schedule.isClosed
    {
      request()
      Platform.sleep(.milliseconds(1))
    }
    let waited = ContinuousClock.now - start
    state.withLock {
      $0.waitingCount -= 1
      $0.delays.commitCount += 1
      $0.delays.time += waited
    }
  }

  /// The delay of a commit that has made so many pages, at a pressure.
  private func nap(after pageCount: Int, _ pressure: Double) -> Duration {
    let excess = max(0, min(1, pressure))
    return min(Self.pagePrice * (Double(pageCount) * excess * excess), .milliseconds(50))
  }

  /// The shortage of memory or of room in the file. Writers are throttled above 0; at 1 a limit is
  /// reached.
  /// - Parameter pageCount: the expected number of pages that the next commit replaces: about as
  ///   many as the last one made.
  private func pressure(before pageCount: Int) -> Double {
    let share = evictor.share
    let held =
      Double(evictor.heldFrameCount - share.slowPages) / Double(share.pages - share.slowPages)
    return max(held, (deadPart(with: pageCount / 8 * 9) - Self.slowPart) / (1 - Self.slowPart))
  }

  /// The part of the pages that may die between two checkpoints from which on writers are
  /// throttled.
  private static let slowPart = 0.85
  /// The delay of a commit for each page it has made, when a limit is nearly reached.
  private static let pagePrice = Duration.microseconds(20)
  private static let longestWait = Duration.seconds(5)
  /// The maximum number of pages that a small commit makes.
  private static let smallCommit = 64
}
