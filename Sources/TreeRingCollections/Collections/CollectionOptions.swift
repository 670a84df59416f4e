// The options of a live collection: its order and its way of loading.

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
    if case .paged(let size) = mode { precondition(size > 0, "a page holds at least one row") }
    self.order = order
    self.mode = mode
    self.listens = listens
    self.prepareTimeout = prepareTimeout
    self.clock = clock
    self.executor = executor
    self.deliver = deliver
  }
}
