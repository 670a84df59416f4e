// The moments of checkpoints and evictions.
//
// A checkpoint is due after so many operations that replaying them would take a while, when dirty
// pages fill their share of the heap, and when half of the pages have died that may die before it
// ends. The pause between two checkpoints is in proportion to the time that the last one took,
// unless the request is urgent.
//
// Invariants: each kind of work is queued at most once. `attemptCount` grows with every checkpoint
// that the queue has finished, made or not. After `close` returns, the queue is empty and takes no
// more work.

internal import Dispatch
internal import TreeRingLog
internal import TreeRingPlatform

/// The queue of background work on the page file. Any thread.
final class CheckpointSchedule: Sendable {
  /// The number of operations after which a checkpoint is due.
  static let operationInterval: UInt64 = 5_000
  /// The part of the pages that may die between two checkpoints that makes a checkpoint due.
  static let duePart = 0.5
  /// The ratio of the pause after a checkpoint to the checkpoint's duration.
  private static let pauseFactor = 3

  enum Work: Hashable, Sendable {
    case checkpoint, urgentCheckpoint, eviction
  }

  private struct State: Sendable {
    var queued: Set<Work> = []
    var attemptCount = 0
    var lastDuration: Duration = .zero
    var lastEnd = ContinuousClock.now
    var isClosed = false
  }
  private let state = Mutex(State())
  private let thread = DispatchQueue(label: "treering.checkpoints", qos: .utility)

  /// Queues work, unless the same is queued already.
  /// - Parameter body: the work. It is no longer queued when it begins.
  func queue(_ work: Work, _ body: @escaping @Sendable () -> Void) {
    let pause = state.withLock { state -> Duration? in
      guard !state.isClosed, state.queued.insert(work).inserted else { return nil }
      guard work == .checkpoint else { return .zero }
      return state.lastDuration * Self.pauseFactor - (ContinuousClock.now - state.lastEnd)
    }
    guard let pause else { return }
    let run: @Sendable () -> Void = { [weak self] in
      self?.thread.async { [weak self] in
        self?.begin(work)
        body()
      }
    }
    if pause > .zero { Alarm.shared.after(pause, run) } else { run() }
  }

  private func begin(_ work: Work) { state.withLock { _ = $0.queued.remove(work) } }

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
