// A tracker follows the rows of a request in a store and returns their changes, one batch per
// delivery.
//
// Its owner calls `advance`, which goes to the newest commit, or any other, and returns one minimal
// batch, however many commits lie in between. `batches` advances it whenever a commit becomes
// visible. The tracker holds the snapshot shown; if that has expired, it reads all rows again and
// compares.

public import TreeRing
internal import TreeRingLog

/// Receives a tracker's batches: begin, the transactions, end.
public protocol TrackerDelegate<Row>: AnyObject {
  /// The type that rows are decoded to.
  associatedtype Row: Sendable
  /// Called before a batch.
  func trackerWillChange()
  /// Receives the transactions of one batch; never empty.
  func tracker(did transactions: [ListTransaction<TrackedRow<Row>>])
  /// Called after a batch.
  func trackerDidChange()
}

extension TrackerDelegate {
  public func trackerWillChange() {}
  public func trackerDidChange() {}
}

/// Follows the rows of a request. Keeps every row that matches the request's scope and predicate in
/// memory.
///
///     var tracker = try Tracker(of: request, in: store)
///     consumer.reset(with: tracker.rows)
///     …
///     let batch = try tracker.advance()
///
/// A value: copies advance independently.
public struct Tracker<Row: Sendable>: Sendable {
  /// The store followed; it may be open for reading only and follow its writer.
  public let store: Store
  /// The request.
  public let request: TrackerRequest<Row>
  private var snapshot: Snapshot
  private var list: TrackedList<Row>

  /// Reads the rows of a request. O(rows in scope).
  ///
  /// - Parameters:
  ///   - request: The rows to follow.
  ///   - store: The store.
  ///   - snapshot: The commit to show first; nil for the newest one.
  /// - Throws: `notFound` if there is no such index; the error of the bucket's coder for a row that
  ///   it cannot decode; `closed`; `snapshotExpired` if the store's `pinLimit` is too short for the
  ///   read.
  public init(
    of request: TrackerRequest<Row>, in store: Store, at snapshot: Snapshot? = nil
  ) throws {
    self.store = store
    self.request = request
    func read(_ snapshot: Snapshot) throws -> (Snapshot, TrackedList<Row>) {
      (snapshot, TrackedList(request, try request.entries(in: snapshot)))
    }
    (self.snapshot, list) = try snapshot.map(read) ?? store.readingNewest(read)
  }

  /// The commit shown.
  public var commit: CommitNumber { snapshot.commit }
  /// The rows shown. O(offset + rows shown).
  public var rows: [TrackedRow<Row>] { list.shown }
  /// The rows shown as one insert each. O(offset + rows shown).
  public var transactionsForCurrentState: [ListTransaction<TrackedRow<Row>>] {
    rows.transactionsForCurrentState
  }

  /// Advances to another commit, the newest one by default, forward or backward.
  ///
  /// O(k log n) for k rows affected since the commit shown; O(n log n) if that commit has expired,
  /// or the index was redefined since.
  /// - Returns: One minimal batch; empty if no shown row changed.
  /// - Throws: The errors of the initialiser; the tracker then keeps its state.
  public mutating func advance(
    to snapshot: Snapshot? = nil
  ) throws -> [ListTransaction<TrackedRow<Row>>] {
    guard let next = snapshot else {
      let store = store
      return try store.readingNewest { try advance(to: $0) }
    }
    if next.commit == self.snapshot.commit { return [] }
    let changes: [EntryChange<Row>]
    do {
      changes =
        if try request.listsRows(in: next, asIn: self.snapshot) {
          try request.changes(in: store, from: self.snapshot, to: next)
        } else {
          try list.changes(
            to: request.entries(in: next),
            updated: request.updatedRows(from: self.snapshot, to: next))
        }
    } catch let error as TreeRingError
      where error.code == .snapshotExpired || error.code == .beyondHorizon
    {
      changes = try list.changes(to: request.entries(in: next))
    }
    self.snapshot = next
    return list.apply(changes)
  }

  /// Advances and calls a delegate if any shown row changed.
  public mutating func deliver(to delegate: some TrackerDelegate<Row>) throws {
    let batch = try advance()
    if batch.isEmpty { return }
    delegate.trackerWillChange()
    delegate.tracker(did: batch)
    delegate.trackerDidChange()
  }

  /// The batches from now on, as commits become visible. A slow reader gets one merged batch. The
  /// stream ends when the task is cancelled.
  public var batches: TrackerBatches<Row> { TrackerBatches(tracker: self) }
}

/// A stream of a tracker's batches.
public struct TrackerBatches<Row: Sendable>: AsyncSequence, Sendable {
  /// A batch; never empty.
  public typealias Element = [ListTransaction<TrackedRow<Row>>]
  let tracker: Tracker<Row>

  public func makeAsyncIterator() -> Iterator { Iterator(tracker: tracker) }

  /// The position of one reader.
  public struct Iterator: AsyncIteratorProtocol {
    private let pooled: PooledValue<Tracker<Row>>
    private let store: Store
    /// The commit shown.
    private var shown: CommitNumber

    /// The tracker as of the last batch.
    public var tracker: Tracker<Row> { pooled.value }

    init(tracker: Tracker<Row>) {
      pooled = PooledValue(tracker)
      store = tracker.store
      shown = tracker.commit
    }

    /// The next batch; nil once the task is cancelled.
    ///
    /// - Throws: `closed` once the store is closed; the errors of ``Tracker/advance(to:)``.
    public mutating func next() async throws -> Element? {
      while !Task.isCancelled {
        do {
          try await store.reached(shown + 1)
          let batch: Element
          (batch, shown) = try await pooled.changeThrowing { (try $0.advance(), $0.commit) }
          if !batch.isEmpty { return batch }
        } catch let error as TreeRingError where error.code == .cancelled {
          return nil
        }
      }
      return nil
    }
  }
}

extension TrackedList {
  /// The changes from these entries to a full list of another state. O(n).
  ///
  /// - Parameter updated: The rows whose content changed; nil if any may have.
  func changes(
    to entries: [TrackedEntry<Row>], updated: Set<RowID>? = nil
  ) -> [EntryChange<Row>] {
    let new = Set(entries.map { $0.identity })
    let gone = all.filter { !new.contains($0.identity) }.map {
      EntryChange<Row>(identity: $0.identity, entry: nil, isUpdate: false)
    }
    return gone
      + entries.map { entry in
        EntryChange(
          identity: entry.identity, entry: entry,
          isUpdate: updated?.contains(entry.content.id) ?? true)
      }
  }
}
