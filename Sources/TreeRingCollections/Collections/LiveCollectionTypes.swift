// The words of live collections: order, modes, states, outcomes, observers.

/// The order of a collection. Models that it does not tell apart keep the order they came in.
public enum CollectionOrder<Model: CollectionModel>: Sendable {
  /// By identifier, in Unicode scalar order.
  case identifier
  /// As the source has them.
  case source
  /// By a comparator: a strict weak order that depends on nothing but the two models. It must not read the
  /// collection, which waits for it.
  case by(@Sendable (Model, Model) -> Bool)
}

/// How a collection is filled.
public enum LoadingMode: Hashable, Sendable {
  /// Child by child, over the source's whole order.
  case live
  /// All at once as one batch, then child by child.
  case whole
  /// Page by page, then child by child over what is loaded.
  case paged(batchSize: Int)
}

/// What a load has come to.
public struct LoadOutcome: Sendable {
  /// How many rows it brought.
  public let rows: Int
  /// Whether there is more to load in that direction.
  public let hasMore: Bool
  /// Why it ended early: what the source threw, or `cancelled`.
  public let error: (any Error)?
}

/// What a call of `load` did.
public enum LoadStart: Hashable, Sendable {
  /// A load began.
  case started
  /// One is running; it serves this call too.
  case joined
  /// There is nothing more to load in that direction, and what is loaded is listened to if it is to be.
  case atEnd
}

/// Whether a collection is loading.
public enum LoadingState: Hashable, Sendable {
  /// Nothing was loaded yet.
  case idle
  /// A load is running.
  case loading
  /// The last load ended well.
  case loaded(hasMore: Bool)
  /// The last load ended in an error; loading again tries again.
  case failed
}

/// What happened to a collection at once: positions before and after as in a batch, and the models.
public struct CollectionChange<Model: Sendable>: Sendable {
  /// The positions, among the models shown.
  public let changes: ListChanges
  /// The models that went, as `changes.deletes` lists them.
  public let removed: [Model]
  /// The models shown afterwards at the places in `changes.inserts`.
  public let added: [Model]
  /// Those at the targets of `changes.moves`.
  public let moved: [Model]
  /// Those at the new places of `changes.updates`.
  public let updated: [Model]
}

/// Is told what happens to a collection. All calls come one after the other, in the order things happened.
/// Reads during a call see the collection as it is after what that call tells of, and after silent edits before it.
public protocol CollectionObserver<Model>: AnyObject, Sendable {
  /// What the collection holds.
  associatedtype Model: CollectionModel
  /// Changes that happened together.
  func collection(did change: CollectionChange<Model>)
  /// Once after any number of changes that were dealt with in a row.
  func collectionDidChange()
  /// A load begins.
  func collectionDidStartLoad()
  /// A load is over; its rows have been told of before.
  func collectionDidEndLoad(_ outcome: LoadOutcome)
  /// A child could not be prepared, or a model could not take over what it was given: the row stays as it was. Or
  /// listening ended, and nothing more is heard until something is loaded again.
  ///
  /// - Parameters:
  ///   - error: What was thrown; `cancelled` for a prepare that took too long.
  ///   - key: The child's key (of a row of a store, ``StoreSource/key(ofChild:)`` makes the row's of it), or the
  ///     model's identifier; nil if it was listening that ended.
  func collection(failedWith error: any Error, key: String?)
}

extension CollectionObserver {
  public func collection(did change: CollectionChange<Model>) {}
  public func collectionDidChange() {}
  public func collectionDidStartLoad() {}
  public func collectionDidEndLoad(_ outcome: LoadOutcome) {}
  public func collection(failedWith error: any Error, key: String?) {}
}

/// How a collection works, all of it optional.
public struct CollectionOptions<Model: CollectionModel>: Sendable {
  /// The order of the models; by identifier unless set.
  public var order: CollectionOrder<Model>
  /// How the collection is filled; live unless set.
  public var mode: LoadingMode
  /// Whether to listen once there is something loaded. The mode `live` always listens.
  public var listens: Bool
  /// After how long a prepare counts as failed; nil never.
  public var prepareTimeout: Duration?
  /// What the timeout is measured by.
  public var clock: any Clock<Duration>
  /// Where prepares and page reads run; nil where the system sees fit.
  public var executor: (any TaskExecutor)?
  /// Runs what happens to the collection and its observers, one piece after the other, for instance on
  /// the main queue; by default at once, on whatever thread the cause came from.
  public var deliver: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void

  /// The defaults, or what you choose instead.
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
