// A live, loadable, sorted collection.
//
// Data flows one way: source → loader (known children, prepares, loaded range) → sorted models →
// observers. All events go through one serial queue, `work`, so observers receive them in its
// order. Reads only take a short lock and may come from any thread.

internal import TreeRingPlatform

/// Models in order, kept up to date with a source.
///
///     let arrivals = LiveCollection(
///       source: StoreSource(store, bucket: flights, index: "arrivals", group: "LAX"),
///       options: CollectionOptions(order: .source, mode: .paged(batchSize: 20))
///     ) { row in
///       Arrival(identifier: row.key.description, flight: try flights.decode(row))
///     }
///
/// See <doc:DriveACollection> for a complete example.
public final class LiveCollection<Model: CollectionModel>: Sendable {
  private struct Audience {
    var observers: [WeakObserver<Model>] = []
    var readers: [WeakReader<Model>] = []
    /// Whether a change was reported since the last `collectionDidChange`.
    var isChanged = false
  }

  private let models: Mutex<SortedModels<Model>>
  private let audience = Mutex(Audience())
  private let work: SerialWork
  private let loader: any CollectionLoading

  /// A collection that is empty until the first load.
  ///
  /// - Parameters:
  ///   - source: The source of the children.
  ///   - dataSource: Makes models of the children. Two children must not yield models with one
  ///     identifier.
  ///   - options: The options.
  public init<Data: Sendable & Equatable>(
    source: some CollectionSource<Data>, dataSource: some CollectionDataSource<Data, Model>,
    options: CollectionOptions<Model> = CollectionOptions()
  ) {
    models = Mutex(SortedModels(order: options.order))
    work = SerialWork(deliver: options.deliver)
    let loader = CollectionLoader(
      source: source, dataSource: dataSource, options: options, work: work)
    self.loader = loader
    loader.setOutput(
      LoaderOutput(
        apply: { [weak self] in self?.apply($0) },
        started: { [weak self] in self?.notify { $0.collectionDidStartLoad() } },
        ended: { [weak self] outcome in self?.notify { $0.collectionDidEndLoad(outcome) } },
        failed: { [weak self] error, key in
          self?.notify { $0.collection(failedWith: error, key: key) }
        },
        finished: { [weak self] in self?.notifyOfChange() }))
  }

  /// A collection whose models a closure makes; it is empty until the first load.
  ///
  /// - Parameters:
  ///   - source: The source of the children.
  ///   - options: The options.
  ///   - prepare: Makes a model of a child's data; see ``CollectionDataSource/prepare(_:)``.
  public convenience init<Data: Sendable & Equatable>(
    source: some CollectionSource<Data>,
    options: CollectionOptions<Model> = CollectionOptions(),
    prepare: @escaping @Sendable (Data) async throws -> Model?
  ) {
    self.init(source: source, dataSource: ClosureDataSource(body: prepare), options: options)
  }

  deinit {
    loader.stop()
    for reader in readers { reader.finish() }
  }

  // MARK: - Loading

  /// Loads by the mode: starts listening, loads all, or loads the next page. Joins a running load
  /// of either direction. Listening may have ended, by ``stop()`` or an error. At the end of the
  /// order, a load then listens again and fetches the missed changes.
  ///
  /// - Returns: The outcome. At the end, while listening, it has no rows and no more to load.
  @discardableResult
  public func load(_ direction: LoadDirection = .forward) async -> LoadOutcome {
    await withCheckedContinuation { continuation in
      _ = loader.begin(direction) { continuation.resume(returning: $0) }
    }
  }

  /// Starts a load without waiting for its end.
  @discardableResult
  public func startLoading(_ direction: LoadDirection = .forward) -> LoadStart {
    loader.begin(direction, whenEnded: nil)
  }

  /// Ends a running load with the error `cancelled` and drops its rows. A later load is a new one.
  /// Observers receive the end in the queue's order.
  public func cancelLoad() { loader.cancelLoad() }

  /// Ends a running load, listening and every prepare. The models shown stay. A later load, even
  /// right after this call, continues from there and listens again. Observers are notified in the
  /// queue's order.
  public func stop() { loader.stop() }

  /// The loading state.
  public var loadingState: LoadingState { loader.state }

  // MARK: - Reads

  /// The number of models shown. O(1).
  public var count: Int { models.withLock { $0.shownCount } }
  /// The model shown at an index; nil if there is none. O(log n).
  public func model(at index: Int) -> Model? {
    models.withLock { $0.shownCount > index && index >= 0 ? $0.shownModel(at: index) : nil }
  }
  /// A model by its identifier, shown or not. O(1).
  public func model(_ identifier: String) -> Model? { models.withLock { $0.model(identifier) } }
  /// The index at which a model is shown; nil if it is hidden or unknown. O(log n).
  public func index(of identifier: String) -> Int? {
    models.withLock { $0.shownIndex(of: identifier) }
  }
  /// The models shown, in order. O(n).
  public var shown: [Model] { models.withLock { $0.shown } }
  /// All models, in order, including those that the filter hides. O(n).
  public var all: [Model] { models.withLock { $0.all } }

  // MARK: - Manual edits

  /// Shows only models that match a filter. Notifies observers of those that come and go. O(n).
  ///
  /// The closure must depend on the model alone. It must not read the collection, which is locked
  /// during the call.
  public func setFilter(_ filter: @escaping @Sendable (Model) -> Bool) { show(matching: filter) }

  /// Shows all models again. Notifies observers of the models that come. O(n).
  public func removeFilter() { show(matching: nil) }

  private func show(matching filter: (@Sendable (Model) -> Bool)?) {
    work.post {
      self.change(silently: false) { $0.setFilter(filter) }
      self.notifyOfChange()
    }
  }

  /// Adds a model, or makes the one with its identifier equal to it, at its position in the order.
  ///
  /// - Parameters:
  ///   - model: The model. An existing one with its identifier becomes equal to it.
  ///   - silently: Whether observers are not notified.
  public func set(_ model: Model, silently: Bool = false) {
    edit(.set(model, position: nil), silently)
  }
  /// Applies properties to a model; null clears one. Has no effect without such a model.
  public func update(
    _ identifier: String, with properties: [String: DictionaryValue], silently: Bool = false
  ) {
    edit(.update(identifier: identifier, properties: properties), silently)
  }
  /// Removes a model, if there is one.
  public func remove(_ identifier: String, silently: Bool = false) {
    edit(.remove(identifier: identifier), silently)
  }

  private func edit(_ edit: ModelEdit<Model>, _ silently: Bool) {
    work.post {
      self.apply([edit], silently: silently)
      self.notifyOfChange()
    }
  }

  // MARK: - Observers

  /// Adds an observer for all later events. It is held weakly.
  public func add(_ observer: any CollectionObserver<Model>) {
    audience.withLock { $0.observers.append(WeakObserver(value: observer)) }
  }

  /// Removes an observer.
  public func remove(_ observer: any CollectionObserver<Model>) {
    // An observer must not be released under the lock.
    let kept = audience.withLock { $0.observers.map { $0.value } }
    audience.withLock { audience in
      audience.observers.removeAll { $0.value == nil || $0.value === observer }
    }
    withExtendedLifetime(kept) {}
  }

  /// A stream of the models shown now, as inserts, and of every later change. A slow reader gets
  /// one merged change, never a backlog. Silent edits join a change that already waits. The stream
  /// ends when the collection does, or the task is cancelled.
  ///
  /// Positions count in the list that results from the changes taken so far; the collection may be
  /// ahead of it.
  ///
  ///     for await change in arrivals.changes {  // the models shown, then their changes
  ///       for flight in change.added.map(\.flight) { print(flight.scheduled, flight.number) }
  ///     }
  public var changes: AsyncStream<CollectionChange<Model>> {
    let reader = models.withLock { models in
      let reader = ChangeMailbox(models.shown)
      audience.withLock { audience in
        audience.readers.removeAll { $0.value == nil }
        audience.readers.append(WeakReader(value: reader))
      }
      return reader
    }
    return AsyncStream { [weak self] in
      while await reader.hasMore() {
        guard let self else { return nil }
        if let change = take(reader), !change.changes.isEmpty { return change }
      }
      return nil
    } onCancel: {
      reader.finish()
    }
  }

  /// Takes a reader's waiting change; its positions and models belong to one moment.
  private func take(_ reader: ChangeMailbox<Model>) -> CollectionChange<Model>? {
    models.withLock { models in reader.take()?.change(models.shownModel(at:)) }
  }

  private var readers: [ChangeMailbox<Model>] {
    audience.withLock { $0.readers.compactMap { $0.value } }
  }

  private func apply(_ edits: [ModelEdit<Model>], silently: Bool = false) {
    var failures: [(String, any Error)] = []
    change(silently: silently) { models in models.apply(edits) { failures.append(($0, $1)) } }
    for (identifier, error) in failures {
      notify { $0.collection(failedWith: error, key: identifier) }
    }
  }

  /// Changes the models and notifies observers and readers.
  private func change(
    silently: Bool, _ body: (inout SortedModels<Model>) -> CollectionChange<Model>
  ) {
    let (change, readers) = models.withLock { models in
      let change = body(&models)
      let readers = self.readers
      for reader in readers { reader.append(change, silently: silently) }
      return (change, readers)
    }
    if silently || change.changes.isEmpty { return }
    audience.withLock { $0.isChanged = true }
    notify { $0.collection(did: change) }
    for reader in readers { reader.wake() }
  }

  /// Reports all changes of a run once, when no more work is waiting.
  private func notifyOfChange() {
    guard work.isLast else { return }
    let isChanged = audience.withLock { audience in
      defer { audience.isChanged = false }
      return audience.isChanged
    }
    if isChanged { notify { $0.collectionDidChange() } }
  }

  private func notify(_ body: (any CollectionObserver<Model>) -> Void) {
    for observer in audience.withLock({ $0.observers.compactMap { $0.value } }) { body(observer) }
  }
}

/// A weak reference to a reader.
private struct WeakReader<Model: CollectionModel> {
  weak var value: ChangeMailbox<Model>?
}

/// A weak reference to an observer.
private struct WeakObserver<Model: CollectionModel> {
  weak var value: (any CollectionObserver<Model>)?
}
