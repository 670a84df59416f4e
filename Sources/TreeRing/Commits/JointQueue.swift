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
  /// The write of the thread that completes, or is to do so next.
  private var completer: Write?
  /// The write of the thread that waits for more writes; nil if a thread completes.
  private var gatherer: Write?
  private var gathering: Gathering
  /// The number of writes that have joined since the queue was created.
  private(set) var joinedCount = 0
  /// The number of them that are complete.
  private var completedCount = 0

  /// Creates an empty queue.
  init(_ gathering: Gathering) { self.gathering = gathering }

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
    /// It has another part. Before it has, it wakes the threads of these two: the next one to
    /// sequence, and one to complete.
    case end(JointPart, sequencer: Write?, completer: Write?)
  }

  /// The next step of the thread that sequences.
  /// - Parameter write: the write that it has sequenced; nil if it begins.
  mutating func nextStep(
    after write: Write?, at now: @autoclosure () -> ContinuousClock.Instant
  ) -> SequencerStep {
    if let write {
      sequenced.append(write)
      let (part, completer) = partAfterSequencing(at: now())
      if part != .sequences {
        sequencer = queue.first
        isSequencerDone = false
        return .end(part, sequencer: sequencer, completer: completer)
      }
    }
    // Never empty: the thread's own write is in it, or it was looked at just now.
    guard let next = queue.popFirst() else { return .end(.waits, sequencer: nil, completer: nil) }
    return .sequence(next)
  }

  /// - Returns: the part of the thread that sequences, and the write whose thread is to be woken.
  private mutating func partAfterSequencing(
    at now: @autoclosure () -> ContinuousClock.Instant
  ) -> (JointPart, Write?) {
    if let completer {
      if completer === sequencer { return (.completes, nil) }
      return (queue.isEmpty || isSequencerDone ? .waits : .sequences, nil)
    }
    guard let limit = gathering.wait(with: sequenced.count, at: now()) else {
      // A thread whose write is complete does no more for others.
      let successor = isSequencerDone ? gatherer ?? sequenced.first : nil
      completer = successor ?? sequencer
      gatherer = nil
      return (isSequencerDone ? .waits : .completes, successor)
    }
    if !queue.isEmpty, !isSequencerDone { return (.sequences, nil) }
    if gatherer != nil { return (.waits, nil) }
    gatherer = isSequencerDone ? sequenced.first : sequencer
    return isSequencerDone ? (.waits, gatherer) : (.gathers(limit), nil)
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
    completedCount += batch.count
    gathering.batchEnded(
      count: batch.count, waiting: joinedCount - completedCount, took: took, at: now)
    let busy = batch.first { $0 === sequencer }
    isSequencerDone = isSequencerDone || busy != nil
    // Preferably one that does not sequence.
    let successor = sequenced.first { $0 !== sequencer } ?? sequenced.first
    completer = gathering.isWaiting ? nil : successor
    gatherer = gathering.isWaiting ? successor : nil
    return (busy, successor)
  }
}

extension JointQueue: Sendable where Write: Sendable {}

/// Tests tell the states apart that they have seen.
extension JointQueue: Equatable where Write: Hashable {}
extension JointQueue: Hashable where Write: Hashable {}
