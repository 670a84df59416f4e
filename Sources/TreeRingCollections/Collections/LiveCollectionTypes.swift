// The vocabulary of live collections: order, modes, states, outcomes, observers.

/// The order of a collection. Models that compare as equal keep the order in which they came.
public enum CollectionOrder<Model: CollectionModel>: Sendable {
  /// By identifier, in Unicode scalar order.
  case identifier
  /// In the order of the source.
  case source
  /// By a comparator: a strict weak order that depends on the two models alone. It must not read
  /// the collection, because the collection waits for it.
  case by(@Sendable (Model, Model) -> Bool)
}

/// The way a collection is filled.
public enum LoadingMode: Hashable, Sendable {
  /// Child by child, over the source's whole order.
  case live
  /// All at once as one batch, then child by child.
  case whole
  /// Page by page, then child by child in the loaded range.
  case paged(batchSize: Int)
}

/// The outcome of a load.
public struct LoadOutcome: Sendable {
  /// The number of rows loaded.
  public let rows: Int
  /// Whether there is more to load in that direction.
  public let hasMore: Bool
  /// The reason for an early end: the source's error, or `cancelled`.
  public let error: (any Error)?

  /// An outcome; public for tests of observers.
  ///
  /// - Parameters:
  ///   - rows: The number of rows loaded.
  ///   - hasMore: Whether there is more to load in that direction.
  ///   - error: The reason for an early end; nil if there was none.
  public init(rows: Int, hasMore: Bool, error: (any Error)? = nil) {
    self.rows = rows
    self.hasMore = hasMore
    self.error = error
  }
}

/// The effect of a call of `load`.
public enum LoadStart: Hashable, Sendable {
  /// A load began.
  case started
  /// A load was already running; it serves this call too.
  case joined
  /// Nothing is left to load in that direction, and the loaded range is listened to if the options
  /// require it.
  case atEnd
}

/// The loading state of a collection.
public enum LoadingState: Hashable, Sendable {
  /// Nothing has been loaded yet.
  case idle
  /// A load is running.
  case loading
  /// The last load succeeded.
  case loaded(hasMore: Bool)
  /// The last load ended in an error; loading again retries.
  case failed
}

/// One change of a collection: positions before and after as in a batch, and the models.
public struct CollectionChange<Model: Sendable>: Sendable {
  /// The positions, among the shown models.
  public let changes: ListChanges
  /// The removed models, in the order of `changes.deletes`.
  public let removed: [Model]
  /// The models now shown at the positions of `changes.inserts`.
  public let added: [Model]
  /// The models at the targets of `changes.moves`.
  public let moved: [Model]
  /// The models at the new positions of `changes.updates`.
  public let updated: [Model]

  /// A change; public for tests of observers.
  ///
  /// - Parameters:
  ///   - changes: The positions.
  ///   - removed: The removed models, one for each of `changes.deletes`.
  ///   - added: The inserted models, one for each of `changes.inserts`.
  ///   - moved: The moved models, one for each of `changes.moves`.
  ///   - updated: The updated models, one for each of `changes.updates`.
  public init(
    changes: ListChanges, removed: [Model] = [], added: [Model] = [], moved: [Model] = [],
    updated: [Model] = []
  ) {
    precondition(
      removed.count == changes.deletes.count && added.count == changes.inserts.count
        && moved.count == changes.moves.count && updated.count == changes.updates.count,
      "a change has one model for each position it lists")
    self.changes = changes
    self.removed = removed
    self.added = added
    self.moved = moved
    self.updated = updated
  }
}

/// Receives the events of a collection, one call after the other, in the order of the events. Reads
/// during a call see the collection after the call's change and after the silent edits before it.
public protocol CollectionObserver<Model>: AnyObject, Sendable {
  /// The type of the collection's models.
  associatedtype Model: CollectionModel
  /// Called for a change.
  func collection(did change: CollectionChange<Model>)
  /// Called once after any number of changes processed in a row.
  func collectionDidChange()
  /// Called when a load begins.
  func collectionDidStartLoad()
  /// Called when a load ends, after the calls for its rows.
  func collectionDidEndLoad(_ outcome: LoadOutcome)
  /// Called after one of three failures. A prepare of a child or an update of a model failed: its
  /// row stays unchanged. Or listening ended: no more events come until the next load.
  ///
  /// - Parameters:
  ///   - error: The error thrown; `cancelled` for a prepare that timed out.
  ///   - key: The child's key or the model's identifier; nil if listening ended. For a row of a
  ///     store, ``StoreSource/key(ofChild:)`` converts the child's key to the row's.
  func collection(failedWith error: any Error, key: String?)
}

extension CollectionObserver {
  public func collection(did change: CollectionChange<Model>) {}
  public func collectionDidChange() {}
  public func collectionDidStartLoad() {}
  public func collectionDidEndLoad(_ outcome: LoadOutcome) {}
  public func collection(failedWith error: any Error, key: String?) {}
}

/// The options of a collection, all with defaults.
public struct CollectionOptions<Model: CollectionModel>: Sendable {
  /// The order of the models; by identifier by default.
  public var order: CollectionOrder<Model>
  /// The loading mode; live by default.
  public var mode: LoadingMode
  /// Whether to listen to the loaded range. The mode `live` always listens.
  public var listens: Bool
  /// The time after which a prepare counts as failed; nil for never.
  public var prepareTimeout: Duration?
  /// The clock that measures the timeout.
  public var clock: any Clock<Duration>
  /// The executor of prepares and page reads; nil for the system's choice.
  public var executor: (any TaskExecutor)?
  /// Runs the work of the collection and its observers, one piece after the other, for instance on
  /// the main queue. By default the work runs at once, on the thread that caused it.
  public var deliver: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void

  /// Options; every parameter has a default.
  public init(
    order: CollectionOrder<Model> = .identifier, mode: LoadingMode = .live, listens: Bool = true,
    prepareTimeout: Duration? = .seconds(30), clock: any Clock<Duration> = ContinuousClock(),
    executor: (any TaskExecutor)? = nil,
    deliver: @escaping @Sendable (_ body: @escaping @Sendable () -> Void) -> Void = { $0() }
  ) {
    if case .paged(let size) = mode { precondition(size > 0, "a page has a row at least") }
    self.order = order
    self.mode = mode
    self.listens = listens
    self.prepareTimeout = prepareTimeout
    self.clock = clock
    self.executor = executor
    self.deliver = deliver
  }
}
