// The queue of joint writes, and the parts of their threads (JointWrites.swift). It decides, and
// neither runs nor wakes anything, so that tests can go through all orders of events.

internal import DequeModule

/// The part that a thread has in joint writes.
enum JointPart: Equatable, Sendable {
  /// It sequences the writes of the queue, its own first.
  case sequences
  /// It completes the sequenced writes.
  case completes
  /// It sleeps for this time, and completes then, unless another thread does before.
  case gathers(Duration)
  /// It sleeps until it is woken.
  case waits
  /// Its write is complete.
  case isDone
}

/// The writes that are not complete, and the threads that do more than wait. Its owner guards it.
struct JointQueue<Write: AnyObject> {
  /// The writes to be sequenced, in order.
  private var queue: Deque<Write> = []
  /// The writes to be completed, in order.
  private(set) var sequenced: [Write] = []
  /// The write of the thread that sequences, or will as soon as it wakes.
  private var sequencer: Write?
  /// Whether the write of the thread that sequences is complete.
  private var isSequencerDone = false
  /// The write of the thread that completes, or will as soon as it wakes.
  private var completer: Write?
  /// The write of the thread that waits for more writes; nil while a thread completes.
  private var gatherer: Write?
  private var gathering: Gathering
  /// The number of writes that have joined since the queue was created.
  private(set) var joinedCount = 0

  /// Creates an empty queue.
  /// - Parameter isReplicated: whether a shared log makes the batches durable.
  init(isReplicated: Bool) {
    gathering = Gathering(isReplicated: isReplicated)
  }

  /// Adds a write, and returns the part of its thread.
  mutating func join(_ write: Write) -> JointPart {
    queue.append(write)
    joinedCount += 1
    if sequencer != nil { return .waits }
    sequencer = write
    return .sequences
  }

  /// A step of the thread that sequences.
  enum SequencerStep {
    case sequence(Write)
    /// It has another part. Before it has, it wakes the thread of `successor`, which sequences.
    case end(JointPart, successor: Write?)
  }

  /// The next step of the thread that sequences.
  /// - Parameter write: the write that it has sequenced; nil if it begins.
  mutating func nextStep(
    after write: Write?, at now: @autoclosure () -> ContinuousClock.Instant
  ) -> SequencerStep {
    if let write {
      sequenced.append(write)
      let part = partAfterSequencing(at: now())
      if part != .sequences {
        sequencer = queue.first
        isSequencerDone = false
        return .end(part, successor: sequencer)
      }
    }
    guard let next = queue.popFirst() else { return .end(.waits, successor: nil) }
    return .sequence(next)
  }

  private mutating func partAfterSequencing(
    at now: @autoclosure () -> ContinuousClock.Instant
  ) -> JointPart {
    if completer != nil { return queue.isEmpty || isSequencerDone ? .waits : .sequences }
    // A thread whose write is complete sleeps no more.
    guard !isSequencerDone, let limit = gathering.wait(with: sequenced.count, at: now()) else {
      completer = sequencer
      gatherer = nil
      return .completes
    }
    if !queue.isEmpty { return .sequences }
    if gatherer != nil { return .waits }
    gatherer = sequencer
    return .gathers(limit)
  }

  /// The part of a thread that was woken before its write was complete, or has waited for more.
  mutating func part(
    of write: Write, at now: @autoclosure () -> ContinuousClock.Instant
  ) -> JointPart {
    if sequencer === write { return .sequences }
    if gatherer === write {
      if let limit = gathering.wait(with: sequenced.count, at: now()) { return .gathers(limit) }
      gatherer = nil
      completer = write
    }
    return completer === write ? .completes : .waits
  }

  /// The writes that the thread that completes is to complete now.
  mutating func takeBatch() -> [Write] {
    defer { sequenced = [] }
    return sequenced
  }

  /// Notes that a batch is complete.
  /// - Parameter took: the time that this took.
  /// - Returns: the write of the batch whose thread sequences; and the write whose thread is to
  ///   be woken first, because it completes the next batch or waits for more.
  mutating func batchEnded(
    _ batch: [Write], took: Duration, at now: ContinuousClock.Instant
  ) -> (sequencer: Write?, successor: Write?) {
    gathering.batchEnded(
      count: batch.count, waiting: sequenced.count + queue.count, took: took, at: now)
    let busy = batch.first { $0 === sequencer }
    isSequencerDone = isSequencerDone || busy != nil
    let successor = sequenced.first
    completer = gathering.isWaiting ? nil : successor
    gatherer = gathering.isWaiting ? successor : nil
    return (busy, successor)
  }
}

extension JointQueue: Sendable where Write: Sendable {}

/// Tests tell the states apart that they have seen.
extension JointQueue: Equatable where Write: Hashable {}
extension JointQueue: Hashable where Write: Hashable {}
