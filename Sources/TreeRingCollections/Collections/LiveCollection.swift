// A live, loadable, sorted collection.
//
// Data flows one way: source → loader (what is known, what is being prepared, what is loaded) → sorted models
// → observers. Everything that happens goes through one serial queue, `work`, so observers are told of it in
// that order; reads only take a short lock and may come from any thread.

internal import Synchronization

/// Models in order, kept in step with a source.
///
///     let arrivals = LiveCollection(
///       source: StoreSource(store, bucket: flights, index: "arrivals", group: "LAX"),
///       options: CollectionOptions(order: .source, mode: .paged(batchSize: 20))
///     ) { row in
///       Arrival(identifier: row.key.description, flight: try flights.decode(row))
///     }
///
/// <doc:DriveACollection> shows the whole of it.
public final class LiveCollection<Model: CollectionModel>: Sendable {
  private struct Audience {
    var observers: [WeakObserver<Model>] = []
    var readers: [WeakReader<Model>] = []
    /// Whether something was told of since the last `collectionDidChange`.
    var isChanged = false
  }

  private let models: Mutex<SortedModels<Model>>
  private let audience = Mutex(Audience())
  private let work: SerialWork
  private let loader: any CollectionLoading

  /// A collection that shows nothing until something is loaded.
  ///
  /// - Parameters:
  ///   - source: Where children come from.
  ///   - dataSource: What makes models of them. Two children may not make models of one identifier.
  ///   - options: How it works.
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
        started: { [weak self] in self?.tell { $0.collectionDidStartLoad() } },
        ended: { [weak self] outcome in self?.tell { $0.collectionDidEndLoad(outcome) } },
        failed: { [weak self] error, key in
          self?.tell { $0.collection(failedWith: error, key: key) }
        },
        finished: { [weak self] in self?.tellOfChange() }))
  }

  /// A collection whose models a closure makes; it shows nothing until something is loaded.
  ///
  /// - Parameters:
  ///   - source: Where children come from.
  ///   - options: How it works.
  ///   - prepare: Makes a model of a child's data, see ``CollectionDataSource/prepare(_:)``.
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

  /// Loads what the mode says: begins to listen, loads all, or loads the next page. Joins a load that is
  /// running already, of whichever direction. At the end, where listening has ended, by ``stop()`` or an
  /// error, it listens again and brings what was missed.
  ///
  /// - Returns: What it came to; at the end, while listening, nothing more and no rows.
  @discardableResult
  public func load(_ direction: LoadDirection = .forward) async -> LoadOutcome {
    await withCheckedContinuation { continuation in
      _ = loader.begin(direction) { continuation.resume(returning: $0) }
    }
  }

  /// The same without waiting.
  @discardableResult
  public func startLoading(_ direction: LoadDirection = .forward) -> LoadStart {
    loader.begin(direction, whenEnded: nil)
  }

  /// Ends a running load with the error `cancelled`; what it would have brought is left out. A load begun after this
  /// call is another one; observers are told of the end in their turn.
  public func cancelLoad() { loader.cancelLoad() }

  /// Ends a running load, listening and every prepare. What is shown stays. Loading again, also right after this
  /// call, goes on from there, and listens again. Observers are told in their turn.
  public func stop() { loader.stop() }

  /// Whether it is loading.
  public var loadingState: LoadingState { loader.state }

  // MARK: - Reads

  /// How many models are shown. O(1).
  public var count: Int { models.withLock { $0.shownCount } }
  /// The model shown at an index; nil if there is none. O(log n).
  public func model(at index: Int) -> Model? {
    models.withLock { $0.shownCount > index && index >= 0 ? $0.shownModel(at: index) : nil }
  }
  /// A model by its identifier, shown or not. O(1).
  public func model(_ identifier: String) -> Model? { models.withLock { $0.model(identifier) } }
  /// Where a model is shown; nil if it is not. O(log n).
  public func index(of identifier: String) -> Int? {
    models.withLock { $0.shownIndex(of: identifier) }
  }
  /// The models shown, in order. O(n).
  public var shown: [Model] { models.withLock { $0.shown } }
  /// All models, in order, also those that the filter hides. O(n).
  public var all: [Model] { models.withLock { $0.all } }

  // MARK: - Edits by hand

  /// Shows only models that fit; nil shows all. Tells observers what comes and goes. O(n).
  ///
  /// The closure must depend on nothing but the model: it is called while the collection cannot be read, by
  /// itself neither.
  public func setFilter(_ filter: (@Sendable (Model) -> Bool)?) {
    work.post {
      self.change(silently: false) { $0.setFilter(filter) }
      self.tellOfChange()
    }
  }

  /// Adds a model, or makes the one of its identifier equal to it, in its place of the order.
  ///
  /// - Parameters:
  ///   - model: The model; of one that is there already it is what that becomes equal to.
  ///   - silently: Whether observers are not told.
  public func set(_ model: Model, silently: Bool = false) {
    edit(.set(model, position: nil), silently)
  }
  /// Takes over properties of a model; null clears one. Does nothing without such a model.
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
      self.tellOfChange()
    }
  }

  // MARK: - Observers

  /// Tells an observer, which is not kept alive, of everything from now on.
  public func add(_ observer: any CollectionObserver<Model>) {
    audience.withLock { $0.observers.append(WeakObserver(value: observer)) }
  }

  /// Tells an observer nothing more.
  public func remove(_ observer: any CollectionObserver<Model>) {
    // Whoever is looked at must not end under the lock.
    let kept = audience.withLock { $0.observers.map { $0.value } }
    audience.withLock { audience in
      audience.observers.removeAll { $0.value == nil || $0.value === observer }
    }
    withExtendedLifetime(kept) {}
  }

  /// What is shown now, as models that come, and every change from then on. A slow reader gets one merged
  /// change, never a backlog; silent edits are part of one that waits already. Ends when the collection
  /// does, or the task is cancelled.
  ///
  /// Positions count in the list that the changes taken so far amount to; the collection may be ahead of it.
  ///
  ///     for await change in arrivals.changes {  // what is shown, then what happens to it
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

  /// Takes what waits for a reader; positions and models are those of one moment.
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
      tell { $0.collection(failedWith: error, key: identifier) }
    }
  }

  /// Changes the models and tells of it.
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
    tell { $0.collection(did: change) }
    for reader in readers { reader.wake() }
  }

  /// Tells once of all changes dealt with in a row, when nothing more is waiting.
  private func tellOfChange() {
    guard work.isLast else { return }
    let isChanged = audience.withLock { audience in
      defer { audience.isChanged = false }
      return audience.isChanged
    }
    if isChanged { tell { $0.collectionDidChange() } }
  }

  private func tell(_ body: (any CollectionObserver<Model>) -> Void) {
    for observer in audience.withLock({ $0.observers.compactMap { $0.value } }) { body(observer) }
  }
}

/// A reader that is not kept alive.
private struct WeakReader<Model: CollectionModel> {
  weak var value: ChangeMailbox<Model>?
}

/// An observer that is not kept alive.
private struct WeakObserver<Model: CollectionModel> {
  weak var value: (any CollectionObserver<Model>)?
}
