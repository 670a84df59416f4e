// The thread of asynchronous writes. It sequences all queued writes, then completes them together,
// so that they share a sync, as the writes of several threads do.

internal import DequeModule
internal import Dispatch
internal import TreeRingLog
internal import TreeRingPlatform

/// Runs asynchronous writes, in order, off the callers' threads.
final class AsyncWriter: Sendable {
  /// One write.
  struct Job: Sendable {
    /// Sequences the write; nil if it has failed and its caller has the error.
    var sequence: @Sendable () -> Waiting?
    /// Completes a write and every one before it.
    var complete: @Sendable (CommitTicket, _ pageCount: Int) throws(TreeRingError) -> Void
  }

  /// A sequenced write that waits for its completion.
  struct Waiting {
    var ticket: CommitTicket
    /// The number of pages that the commit has allocated.
    var pageCount: Int
    var resume: (TreeRingError?) -> Void
  }

  private struct State {
    var jobs: Deque<Job> = []
    var isRunning = false
  }

  /// The maximum time for sequencing writes before those sequenced are completed.
  private static let longestBatch = Duration.milliseconds(10)

  private let state = Mutex(State())
  private let thread = DispatchQueue(label: "treering.writer")

  /// Adds a write.
  func add(_ job: Job) {
    let mustStart = state.withLock { state in
      state.jobs.append(job)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if mustStart { thread.async { self.run() } }
  }

  private func run() {
    while true {
      let jobs = state.withLock { state -> Deque<Job> in
        defer { state.jobs = [] }
        if state.jobs.isEmpty { state.isRunning = false }
        return state.jobs
      }
      if jobs.isEmpty { return }
      runBatch(jobs)
    }
  }

  private func runBatch(_ jobs: Deque<Job>) {
    var waiting: [(one: Waiting, job: Job)] = []
    var start = ContinuousClock.now
    for job in jobs {
      if let one = job.sequence() { waiting.append((one, job)) }
      // Bounds the time that a write waits for the closures of others.
      if ContinuousClock.now - start < Self.longestBatch { continue }
      complete(waiting)
      waiting = []
      start = .now
    }
    complete(waiting)
  }

  private func complete(_ waiting: [(one: Waiting, job: Job)]) {
    for (one, job) in waiting {
      do throws(TreeRingError) {
        try job.complete(one.ticket, one.pageCount)
        one.resume(nil)
      } catch {
        one.resume(error)
      }
    }
  }
}
