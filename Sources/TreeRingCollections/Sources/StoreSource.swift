// A store as a source: the rows of a bucket by key, or those of a group in its index's order. The
// order value is the row's place in the tree, as bytes. So cursors are exact and outlive their row.
//
// Whenever a commit becomes visible, a listener reads the changes between its last commit and the
// newest one. A source at a past commit sends its children once and no further event.

public import TreeRing
internal import TreeRingPlatform

/// The rows of a store or of a past commit. The store may be open for reading only and follow its
/// writer.
public struct StoreSource: CollectionSource {
  /// Rows with their bytes; `Bucket.decode(_:)` decodes them.
  public typealias Data = StoredRow
  let store: Store
  let bucket: String
  let scope: StoreScope
  let snapshot: Snapshot?
  /// The executor on which listeners wait for commits; nil for the system's choice.
  let executor: (any TaskExecutor)?
}

extension StoreSource {
  /// All rows of a bucket, in key order.
  ///
  /// - Parameters:
  ///   - store: The store; it may be open for reading only and follow its writer.
  ///   - bucket: The bucket's name.
  ///   - snapshot: A past commit to read at; nil follows the newest one.
  public init(_ store: Store, bucket: String, at snapshot: Snapshot? = nil) {
    self.init(store: store, bucket: bucket, scope: .bucket, snapshot: snapshot, executor: nil)
  }

  /// The rows that a bucket has in a group of an index, in the index's order.
  ///
  /// - Parameters:
  ///   - store: The store; it may be open for reading only and follow its writer.
  ///   - bucket: The bucket's name. Rows of other buckets in the group are left out.
  ///   - index: The index's name.
  ///   - group: The group.
  ///   - snapshot: A past commit to read at; nil follows the newest one.
  public init(
    _ store: Store, bucket: String, index: String, group: some KeyConvertible,
    at snapshot: Snapshot? = nil
  ) {
    self.init(
      store: store, bucket: bucket, scope: .group(index: index, GroupName(group)),
      snapshot: snapshot, executor: nil)
  }

  /// All rows of a bucket, in key order; otherwise like the initialiser with a bucket's name.
  public init<Row>(_ store: Store, bucket: Bucket<Row>, at snapshot: Snapshot? = nil) {
    self.init(store, bucket: bucket.name, at: snapshot)
  }

  /// The rows that a bucket has in a group of an index, in the index's order; otherwise like the
  /// initialiser with a bucket's name.
  public init<Row>(
    _ store: Store, bucket: Bucket<Row>, index: String, group: some KeyConvertible,
    at snapshot: Snapshot? = nil
  ) {
    self.init(store, bucket: bucket.name, index: index, group: group, at: snapshot)
  }

  /// The rows in a group of a typed index, in the index's order; otherwise like the initialiser
  /// with names.
  public init<Row, Group, Sort>(
    _ store: Store, index: Index<Row, Group, Sort>, group: Group, at snapshot: Snapshot? = nil
  ) {
    self.init(
      store, bucket: index.bucket.name, index: index.name, group: index.groupName(of: group),
      at: snapshot)
  }

  /// Reads a page. O(log n + rows read).
  /// - Throws: `notFound` if there is no such index; `closed`; `snapshotExpired`.
  public func page(_ request: PageRequest) async throws -> SourcePage<StoredRow> {
    try withNext { try reading(at: $0).page(request) }
  }

  public func listen(
    to range: PositionRange, _ receive: @escaping @Sendable (SourceEvent<StoredRow>) -> Void
  ) -> any SourceListener {
    let listener = StoreListener(source: self, receive)
    listener.extend(to: range)
    if snapshot == nil { listener.follow() }
    return listener
  }

  func reading(at snapshot: Snapshot) -> StoreReading {
    StoreReading(store: store, snapshot: snapshot, bucket: bucket, scope: scope)
  }

  /// Calls `body` with the commit to show next. That is the newest one, retried if it expires
  /// during the call, or the past one, which fails once it has expired.
  func withNext<R>(_ body: (Snapshot) throws -> R) throws -> R {
    guard let snapshot else { return try store.readingNewest(body) }
    return try body(snapshot)
  }
}

/// Sends the events of a range of a store source. All its events go through one serial queue.
private final class StoreListener: SourceListener {
  private struct State {
    var range: PositionRange?
    /// The state last sent.
    var shown: Snapshot?
    var task: Task<Void, Never>?
    var isOver = false
  }

  private let source: StoreSource
  private let receive: @Sendable (SourceEvent<StoredRow>) -> Void
  private let state = Mutex(State())
  private let work = SerialWork { $0() }

  init(source: StoreSource, _ receive: @escaping @Sendable (SourceEvent<StoredRow>) -> Void) {
    self.source = source
    self.receive = receive
  }

  func extend(to range: PositionRange) {
    work.post {
      self.advance { next in
        let parts = range.parts(beyond: self.state.withLock { $0.range })
        let reading = self.source.reading(at: next)
        let events = try parts.map { SourceEvent.state($0, try reading.children(in: $0)) }
        self.state.withLock { $0.range = range }
        for event in events { self.send(event) }
      }
    }
  }

  func cancel() {
    let task = state.withLock { state in
      state.isOver = true
      defer { state.task = nil }
      return state.task
    }
    task?.cancel()
  }

  /// Sends the changes of every commit from now on, until cancelled.
  func follow() {
    let task = Task(executorPreference: source.executor) { [weak self, source] in
      while let commit = self?.commit {
        do {
          try await source.store.reached(commit + 1)
        } catch {
          self?.fail(error)
          return
        }
        guard let self else { return }
        await withCheckedContinuation { continuation in
          work.post {
            self.advance { _ in }
            continuation.resume()
          }
        }
      }
    }
    let isOver = state.withLock { state in
      if !state.isOver { state.task = task }
      return state.isOver
    }
    if isOver { task.cancel() }
  }

  /// The commit last sent; nil after cancellation.
  private var commit: CommitNumber? {
    state.withLock { $0.isOver ? nil : $0.shown?.commit ?? 0 }
  }

  /// Advances to the next state, sends the changes, and then calls `body` there. Neither step sends
  /// an event before it has read all its data.
  private func advance(_ body: (Snapshot) throws -> Void) {
    do {
      try source.withNext { next in
        let (range, shown, isOver) = state.withLock { ($0.range, $0.shown, $0.isOver) }
        if isOver { return }
        if let range, let shown, shown.commit != next.commit {
          let events = try source.reading(at: next).events(since: shown, in: range)
          for event in events { send(event) }
        }
        state.withLock { $0.shown = next }
        try body(next)
      }
    } catch {
      fail(error)
    }
  }

  private func send(_ event: SourceEvent<StoredRow>) {
    if state.withLock({ !$0.isOver }) { receive(event) }
  }

  private func fail(_ error: any Error) {
    work.post {
      self.send(.failed(error))
      self.cancel()
    }
  }
}
