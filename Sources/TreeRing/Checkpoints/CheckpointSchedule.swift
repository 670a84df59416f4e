// The moments of checkpoints and evictions.
//
// A checkpoint writes each page that changed since the one before, however often it changed. So few
// checkpoints amid many commits write far less than many. A checkpoint is made:
//
// - if an opening would have to replay more than `dueReplay`: as soon as writing pauses, or amid
//   commits after a pause that is long in proportion to the last checkpoint;
// - the same, but amid commits after a shorter pause, if an opening would have to replay more
//   than `cheapReplay`, and the pages to be written take no more bytes than that. Time travel
//   replays from the root of a checkpoint too, so roots lie close together where they cost little:
//   in a store whose rows are soon deleted, say;
// - at once, if an opening would have to replay more than `urgentReplay`, if dirty pages fill their
//   share of the heap, or if most of the pages have died that may die before it ends.
//
// Work that can wait for a long pause, such as giving room back to the device, starts a second
// after the last commit and the last edits of a transaction, and ends when there are new ones.
//
// Invariants: each kind of work is queued at most once. `attemptCount` grows with every checkpoint
// that the queue has finished, made or not. After `close` returns, the queue is empty and takes no
// more work.

internal import Dispatch
internal import TreeRingLog
internal import TreeRingPlatform

/// The queue of background work on the page file. Any thread.
final class CheckpointSchedule: Sendable {
  /// The replay after the newest root that makes a checkpoint due after the pause, in bytes of
  /// `Roots.replayByteCount`.
  static let dueReplay: UInt64 = 1 << 20
  /// The replay that makes a checkpoint urgent.
  static let urgentReplay: UInt64 = 32 << 20
  /// The replay that makes a checkpoint due soon if it writes no more bytes than that.
  static let cheapReplay: UInt64 = 4 << 20
  /// The part of the pages that may die between two checkpoints that makes a checkpoint due.
  static let duePart = 0.75
  /// The ratio of the pause after a checkpoint to the checkpoint's duration, amid commits: a
  /// twentieth of the time goes into checkpoints, a quarter into cheap ones. Syncs of the log take
  /// long beside those of many pages.
  private static let pauseFactor = 19
  private static let cheapPauseFactor = 3
  /// The time without a commit after which writing pauses.
  private static let idleTime = Duration.milliseconds(20)

  enum Work: UInt8, Sendable {
    case checkpoint, cheapCheckpoint, urgentCheckpoint, eviction, release

    /// A bit that no other kind has.
    fileprivate var bit: UInt8 { 1 << rawValue }

    /// The ratio of the pause before it to the duration of the last checkpoint, amid commits; nil
    /// for work that does not wait.
    fileprivate var pauseFactor: Int? {
      switch self {
      case .checkpoint: CheckpointSchedule.pauseFactor
      case .cheapCheckpoint: CheckpointSchedule.cheapPauseFactor
      case .urgentCheckpoint, .eviction, .release: nil
      }
    }
  }

  private struct State: Sendable {
    var attemptCount = 0
    var lastDuration: Duration = .zero
    var lastEnd = ContinuousClock.now
    var isClosed = false
  }
  private let state = Mutex(State())
  /// The bits of queued work. They change under the lock alone; without it they are a hint, which
  /// spares most commits the lock while work waits.
  private let queued = Atomic<UInt8>(0)
  /// The number of commits so far. Only compared with earlier counts, so no order is needed.
  private let commitCount = Atomic<UInt64>(0)
  /// The number of commits and of groups of edits so far. Only compared, like `commitCount`.
  private let writeCount = Atomic<UInt64>(0)
  /// The time without commits and edits after which a long pause begins.
  private let longPause: Duration
  private let thread = DispatchQueue(label: "treering.checkpoints", qos: .utility)

  init(longPause: Duration = .seconds(1)) { self.longPause = longPause }

  /// Counts a commit, which shows that writing does not pause.
  /// - Returns: the number of commits so far.
  @discardableResult
  func countCommit() -> UInt64 {
    countEdits()
    return commitCount.add(1, ordering: .relaxed).newValue
  }

  /// Counts some edits of a transaction that may be long.
  func countEdits() { writeCount.add(1, ordering: .relaxed) }

  /// Whether work is queued already, as far as a thread without the lock can tell. A checkpoint
  /// that begins takes the locks under which commits become visible and writers begin to wait,
  /// before it looks whether it is due. So one that such a writer still finds queued will see its
  /// commit.
  func isQueued(_ work: Work) -> Bool { queued.load(ordering: .relaxed) & work.bit != 0 }

  /// Queues work, unless the same is queued already.
  /// - Parameter body: the work. It is no longer queued when it begins.
  func queue(_ work: Work, _ body: @escaping @Sendable () -> Void) {
    let start = state.withLock { state -> ContinuousClock.Instant? in
      guard !state.isClosed, insert(work) else { return nil }
      guard let factor = work.pauseFactor else { return .now }
      return state.lastEnd + max(state.lastDuration * factor, Self.idleTime)
    }
    guard let start else { return }
    let run: @Sendable () -> Void = { [weak self] in
      self?.thread.async { [weak self] in
        self?.begin(work)
        body()
      }
    }
    wait(until: start, orNoCommitAfter: commitCount.load(ordering: .relaxed), run)
  }

  /// Calls `run` at a moment, or earlier if writing pauses.
  /// - Parameter count: The count of commits now.
  private func wait(
    until start: ContinuousClock.Instant, orNoCommitAfter count: UInt64,
    _ run: @escaping @Sendable () -> Void
  ) {
    let rest = start - .now
    if rest <= .zero { return run() }
    Alarm.shared.after(min(rest, Self.idleTime)) { [weak self] in
      guard let self else { return }
      let newCount = commitCount.load(ordering: .relaxed)
      if newCount == count { run() } else { wait(until: start, orNoCommitAfter: newCount, run) }
    }
  }

  /// Queues work for the next long pause, unless the same is queued.
  /// - Parameter body: the work. Its argument tells whether the pause goes on.
  func queueWhenIdle(_ work: Work, _ body: @escaping @Sendable (() -> Bool) -> Void) {
    let isNew = state.withLock { !$0.isClosed && insert(work) }
    if isNew {
      waitForPause { [weak self] isIdle in
        self?.begin(work)
        body(isIdle)
      }
    }
  }

  private func waitForPause(_ run: @escaping @Sendable (() -> Bool) -> Void) {
    let count = writeCount.load(ordering: .relaxed)
    Alarm.shared.after(longPause) { [weak self] in
      guard let self else { return }
      let isIdle: @Sendable () -> Bool = { [weak self] in
        self?.writeCount.load(ordering: .relaxed) == count
      }
      if isIdle() { thread.async { run(isIdle) } } else { waitForPause(run) }
    }
  }

  /// Notes under the lock that work is queued.
  /// - Returns: whether it was not queued before.
  private func insert(_ work: Work) -> Bool {
    queued.bitwiseOr(work.bit, ordering: .relaxed).oldValue & work.bit == 0
  }

  private func begin(_ work: Work) {
    state.withLock { _ in _ = queued.bitwiseAnd(~work.bit, ordering: .relaxed) }
  }

  /// The number of queued checkpoints that were made, were not due, or have failed.
  var attemptCount: Int { state.withLock { $0.attemptCount } }

  /// Notes that a queued checkpoint was made, was not due, or has failed.
  func countAttempt() { state.withLock { $0.attemptCount += 1 } }

  /// Notes that a checkpoint ended now.
  func checkpointEnded(after duration: Duration) {
    state.withLock {
      $0.lastDuration = duration
      $0.lastEnd = .now
    }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Takes no more work from now on.
  func close() { state.withLock { $0.isClosed = true } }

  /// Waits for work that is running. For the end, and for tests.
  func settle() { thread.sync {} }
}
