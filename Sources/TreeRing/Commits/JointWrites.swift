// Writes that threads run for each other, so that each costs its thread one sleep at most.
//
// A write joins a queue. If no thread leads, its own does:
// 1. It sequences the writes of the queue, also those that join while it does, until the batch
//    before has been completed, and for a while longer (Gathering.swift).
// 2. It lets the first thread of those that came later lead the next batch.
// 3. It makes its batch durable with one sync and lets the next leader go on. Then it wakes the
//    threads of its batch.
// So one leader sequences while another one syncs. Threads that sequence their own writes sleep for
// the writer's lock and again for the sync.
//
// Source: D. Hendler, I. Incze, N. Shavit, M. Tzafrir, Flat Combining and the
// Synchronization-Parallelism Tradeoff, SPAA 2010.

internal import DequeModule
internal import TreeRingLog
internal import TreeRingPlatform

/// The queue of a store's joint writes.
final class JointWrites: Sendable {
  /// A write.
  // Sendable: one thread at a time has it. Its own queues it; a leader takes it from the queue, and
  // has it until it wakes the thread.
  final class Job: @unchecked Sendable {
    private var sequence: (() throws -> SequencedWrite)?
    private var isComplete = false
    fileprivate var outcome: Result<SequencedWrite, any Error>?
    fileprivate let waiter = BatchWaiter()

    init(sequence: @escaping () throws -> SequencedWrite) { self.sequence = sequence }

    /// Sequences the write. Lets go of its closure, which lives no longer than its thread's call.
    fileprivate func run() {
      guard let sequence else { return }
      self.sequence = nil
      outcome = Result { try sequence() }
    }

    /// Whether the write has a commit to complete.
    fileprivate var isSequenced: Bool {
      if case .success = outcome { true } else { false }
    }

    /// Completes the write, or the commit that its error reports, once.
    fileprivate func complete(_ complete: (CommitTicket) throws(TreeRingError) -> Void) {
      if isComplete { return }
      isComplete = true
      do {
        switch outcome {
        case .success(let sequenced): try complete(sequenced.ticket)
        case .failure(let refusal as RefusedWrite):
          try complete(refusal.ticket)
          outcome = .failure(refusal.error)
        default: break
        }
      } catch {
        outcome = .failure(error)
      }
    }
  }

  private struct State: Sendable {
    var queue: Deque<Job> = []
    /// The number of writes that have joined the queue since the store was opened.
    var joinedCount = 0
    /// Whether a thread sequences writes of the queue, or will as soon as it wakes.
    var hasLeader = false
    /// Whether a batch is being completed.
    var isCompleting = false
    /// Whether the leader waits for more writes.
    var isLeaderIdle = false
    /// The number of writes that the leader has sequenced or is sequencing.
    var sequencedCount = 0
    var gathering: Gathering
  }

  private let state: Monitor<State>
  /// Signaled when a batch has been completed, and for an idle leader when a write joins.
  private let news = Condition()

  /// Creates an empty queue.
  /// - Parameter isReplicated: whether a shared log makes the batches durable.
  init(isReplicated: Bool) {
    state = Monitor(State(gathering: Gathering(isReplicated: isReplicated)))
  }

  /// The number of writes that have joined the queue since the store was opened. For tests.
  var joinedCount: Int { state.withLock { $0.joinedCount } }

  /// Whether the leader has sequenced all writes that have joined, and waits for more. For tests.
  var isLeaderIdle: Bool { state.withLock { $0.isLeaderIdle } }

  /// Runs a write, and perhaps those of other threads.
  /// - Parameter complete: waits until a sequenced write is durable and visible.
  func run(
    _ job: Job, complete: (CommitTicket) throws(TreeRingError) -> Void
  ) throws -> SequencedWrite {
    let (mustWait, isAwaited) = state.withLock { state in
      state.queue.append(job)
      state.joinedCount += 1
      defer {
        state.hasLeader = true
        state.isLeaderIdle = false
      }
      return (state.hasLeader, state.isLeaderIdle)
    }
    if isAwaited { news.signal() }
    if !mustWait || job.waiter.wait() == .changed { lead(job, complete) }
    guard let outcome = job.outcome else { throw TreeRingError.closedBeforeWrite }
    return try outcome.get()
  }

  /// Runs a batch whose first write is this thread's own.
  private func lead(
    _ own: Job, _ complete: (CommitTicket) throws(TreeRingError) -> Void
  ) {
    let batch = sequenceBatch()
    let start = ContinuousClock.now
    // The newest commit's sync is that of all, which find it done.
    (batch.last(where: \.isSequenced) ?? own).complete(complete)
    let end = ContinuousClock.now
    state.withLock { state in
      state.isCompleting = false
      state.gathering.batchEnded(
        count: batch.count, waiting: state.sequencedCount + state.queue.count, took: end - start,
        at: end)
    }
    news.signal()
    for job in batch { job.complete(complete) }
    for job in batch where job !== own { job.waiter.wake(.completed) }
  }

  /// Sequences writes of the queue until this thread may complete them and waits for no more, and
  /// then lets another one lead.
  private func sequenceBatch() -> [Job] {
    var batch: [Job] = []
    var next: Job?
    while true {
      let job = state.enter { held -> Job? in
        while true {
          var limit: Duration?
          if !held.state.isCompleting, !batch.isEmpty {
            limit = held.state.gathering.wait(with: batch.count, at: .now)
            if limit == nil { break }
          }
          if let job = held.state.queue.popFirst() {
            held.state.sequencedCount += 1
            return job
          }
          held.state.isLeaderIdle = true
          if let limit { held.wait(for: news, atMost: limit) } else { held.wait(for: news) }
          held.state.isLeaderIdle = false
        }
        held.state.isCompleting = true
        held.state.sequencedCount = 0
        next = held.state.queue.first
        held.state.hasLeader = next != nil
        return nil
      }
      guard let job else { break }
      job.run()
      batch.append(job)
    }
    next?.waiter.wake(.changed)
    return batch
  }
}
