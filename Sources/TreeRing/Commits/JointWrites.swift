// Writes that threads run for each other, so that most cost their thread one sleep.
//
// A write joins a queue (JointQueue.swift). Two things are to be done for it, each by one thread at
// a time:
// - *Sequencing.* If no thread sequences, that of the write does. It takes the writes of the queue,
//   its own first, until the queue is empty, its own write is complete, or it is to complete them.
// - *Completing.* If no thread completes, nor waits for more writes (Gathering.swift), that thread
//   does: it makes all sequenced writes durable with one sync. Then it lets the thread of a write
//   that was sequenced meanwhile go on with the next batch, and wakes those of its own.
// The other threads sleep until their writes are complete, or until one of the two things falls to
// them. Once its write is complete, a thread begins nothing for others, but wakes them.
//
// So one thread sequences while another one syncs. Threads that sequence their own writes sleep for
// the writer's lock and again for the sync.
//
// The threads of a batch wake each other, in a few chains. So the processors share the wakes, and
// the thread that sequences, and the one that syncs, compete with few threads at a time.
//
// Source: D. Hendler, I. Incze, N. Shavit, M. Tzafrir, Flat Combining and the
// Synchronization-Parallelism Tradeoff, SPAA 2010.

internal import TreeRingLog
internal import TreeRingPlatform

/// Runs a store's joint writes.
final class JointWrites: Sendable {
  /// A write.
  // Sendable: one thread at a time has it. Its own queues it; the one that sequences takes it from
  // the queue, and the one that completes has it until its thread is woken.
  final class Job: @unchecked Sendable {
    private var sequence: (() throws -> SequencedWrite)?
    private var isComplete = false
    fileprivate var outcome: Result<SequencedWrite, any Error>?
    fileprivate let waiter = BatchWaiter()
    /// Another write that is complete. The thread of this one wakes that of the other.
    fileprivate var next: Job?

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

  /// The number of threads of a batch that the one that has completed it wakes. Each wakes another
  /// one.
  private static let chainCount = 4

  private let queue: Monitor<JointQueue<Job>>

  /// - Parameter isReplicated: whether a shared log makes the batches durable.
  init(isReplicated: Bool) {
    queue = Monitor(JointQueue(Gathering(isReplicated: isReplicated)))
  }

  /// The number of writes that have joined the queue since the store was opened. For tests.
  var joinedCount: Int { queue.withLock { $0.joinedCount } }

  /// The number of writes that have been sequenced and belong to no batch yet. For tests.
  var sequencedCount: Int { queue.withLock { $0.sequenced.count } }

  /// Runs a write, and perhaps those of other threads.
  /// - Parameter complete: waits until a sequenced write is durable and visible.
  func run(
    _ job: Job, complete: (CommitTicket) throws(TreeRingError) -> Void
  ) throws -> SequencedWrite {
    var part = queue.withLock { $0.join(job) }
    while part != .isDone {
      switch part {
      case .sequences: part = sequence()
      case .completes: part = completeBatch(of: job, complete)
      case .gathers(let limit): part = wait(job, atMost: limit)
      case .waits: part = wait(job, atMost: nil)
      case .isDone: break
      }
    }
    guard let outcome = job.outcome else { throw TreeRingError.closedBeforeWrite }
    return try outcome.get()
  }

  /// Sleeps until the write is complete or its thread has another part.
  private func wait(_ job: Job, atMost limit: Duration?) -> JointPart {
    guard job.waiter.wait(atMost: limit) == .completed else {
      return queue.withLock { $0.part(of: job, at: .now) }
    }
    job.next?.waiter.wake(.completed)
    job.next = nil
    return .isDone
  }

  private func sequence() -> JointPart {
    var last: Job?
    while true {
      switch queue.withLock({ $0.nextStep(after: last, at: .now) }) {
      case .sequence(let job):
        job.run()
        last = job
      case .end(let part, let sequencer, let completer):
        completer?.waiter.wake(.changed)
        sequencer?.waiter.wake(.changed)
        return part
      }
    }
  }

  private func completeBatch(
    of own: Job, _ complete: (CommitTicket) throws(TreeRingError) -> Void
  ) -> JointPart {
    let batch = queue.withLock { $0.takeBatch() }
    let start = ContinuousClock.now
    // The newest commit's sync is that of all, which find it done.
    batch.last(where: \.isSequenced)?.complete(complete)
    for job in batch { job.complete(complete) }
    let end = ContinuousClock.now
    let (sequencer, successor) = queue.withLock {
      $0.batchEnded(batch, took: end - start, at: end)
    }
    successor?.waiter.wake(.changed)
    wake(batch, except: own, sequencer)
    return .isDone
  }

  /// Wakes the threads of completed writes, except that of `own`.
  /// - Parameter sequencer: the write of the thread that sequences: it does not sleep, so it wakes
  ///   none.
  private func wake(_ batch: [Job], except own: Job, _ sequencer: Job?) {
    let others = batch.filter { $0 !== own && $0 !== sequencer }
    for (job, next) in zip(others, others.dropFirst(Self.chainCount)) { job.next = next }
    sequencer?.waiter.wake(.completed)
    for job in others.prefix(Self.chainCount) { job.waiter.wake(.completed) }
  }
}
