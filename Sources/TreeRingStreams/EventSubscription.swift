// Subscriptions: the events behind a point, then each new one, without gaps and without doubles.

internal import TreeRing
internal import TreeRingLog

/// The events of a stream, of a category or of all streams, in their order, without end. It begins
/// with the events that exist, and goes on with new ones as their commits become visible.
///
/// Every event behind the beginning comes exactly once. A loop that ends may be continued by a new
/// subscription from the last event's revision plus one, or after its position, also after a
/// restart of the program, and in a process that follows the store. Events that were deleted before
/// they were read are left out.
public struct EventSubscription: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = RecordedEvent

  /// The events, and the point behind the last one that was read.
  enum Origin: Sendable {
    /// A stream, from a revision on.
    case stream(String, from: UInt64)
    /// A category, or all streams, after a position.
    case category(String?, after: EventPosition?)
    /// Nothing can follow.
    case ended
  }

  let store: Store
  let bucket: String
  let origin: Origin

  public func makeAsyncIterator() -> Iterator {
    Iterator(store: store, bucket: bucket, origin: origin)
  }

  /// A position in a subscription.
  public struct Iterator: AsyncIteratorProtocol {
    private let store: Store
    private let bucket: String
    private var origin: Origin
    /// Events that have been read, the next one last.
    private var pending: [RecordedEvent] = []
    /// The commit that may bring the next event; nil if events may be there already.
    private var awaited: CommitNumber?

    init(store: Store, bucket: String, origin: Origin) {
      self.store = store
      self.bucket = bucket
      self.origin = origin
    }

    /// Returns the next event as soon as its commit is visible; nil once the task is cancelled.
    /// - Throws: `closed` if the store is closed; the errors of reading.
    public mutating func next() async throws -> RecordedEvent? {
      while true {
        if Task.isCancelled { return nil }
        if let event = pending.popLast() { return event }
        do {
          if let awaited { try await store.reached(awaited) }
          let batch = try await WorkerPool.stepping.runThrowing { [store, bucket, origin] _ in
            try Self.batch(of: origin, of: bucket, in: store)
          }
          awaited = batch.awaited
          if let last = batch.events.last { goOn(behind: last) }
          pending = batch.events.reversed()
        } catch let error as TreeRingError where error.code == .cancelled {
          return nil
        }
      }
    }

    /// The next events of the newest commit, and the commit that may bring the next ones; nil if
    /// these may be there already.
    private static func batch(
      of origin: Origin, of bucket: String, in store: Store
    ) throws -> (events: [RecordedEvent], awaited: CommitNumber?) {
      var events: [RecordedEvent] = []
      var byteCount = 0
      let commit = try store.readingNewest { snapshot in
        (events, byteCount) = ([], 0)
        try forEach(of: origin, of: bucket, in: snapshot) { event in
          events.append(event)
          byteCount += event.data.count
          return events.count < Self.batchCount && byteCount < Self.batchByteCount
        }
        return snapshot.commit
      }
      let isWhole = events.count < Self.batchCount && byteCount < Self.batchByteCount
      return (events, isWhole ? commit + 1 : nil)
    }

    private static func forEach(
      of origin: Origin, of bucket: String, in snapshot: Snapshot,
      _ body: (RecordedEvent) throws -> Bool
    ) throws {
      switch origin {
      case .stream(let name, let first):
        try snapshot.stream(name, in: bucket).forEach(from: first, body)
      case .category(let category, let position):
        try CategoryReader(
          category: category, source: snapshot, names: StreamNames.of(bucket)
        ).forEach(after: position, body)
      case .ended: break
      }
    }

    private mutating func goOn(behind event: RecordedEvent) {
      switch origin {
      case .stream(let name, _):
        let (next, isLast) = event.revision.addingReportingOverflow(1)
        origin = isLast ? .ended : .stream(name, from: next)
      case .category(let category, _): origin = .category(category, after: event.position)
      case .ended: break
      }
    }

    /// The numbers of events and of their bytes that are read at once.
    private static let batchCount = 256
    private static let batchByteCount = 1 << 20
  }
}
