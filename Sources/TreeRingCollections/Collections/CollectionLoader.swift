// The loader: a source's known children, the prepares in progress, and the loaded range.
//
// These rules ensure that no row is lost and no removed row returns:
//   1. Each child being prepared has a token. A later event for its key invalidates the token, so
//      the earlier result is dropped; a removal does the same. Results come in any order.
//   2. The rows of a page wait until each of its children is settled: prepared, failed, timed out,
//      superseded or removed. Then they are applied as one batch, the loaded range grows, the
//      listener is extended over it, and the load ends. No part of a page has an effect before.
//   3. The listener sends the full state of every part it newly covers. This repairs the changes
//      missed in between.
//   4. The listener's events about a child, including its removal, are newer than any page read at
//      the same time. A removed child that the page still has returns, if at all, with the state
//      that the listener sends of the part it newly covers.
//   5. Begin, cancel and stop take effect before their calls return, from any thread and whatever
//      waits in the queue: the ledger records them in their order. The notifications and the
//      cancellations that follow run in the queue's order.
// Every other step runs on the collection's serial queue. A step that runs after a stop finds that
// its load, listener or token is no longer valid.

internal import TreeRingLog
internal import TreeRingPlatform

/// The loader's calls to its collection, in order.
struct LoaderOutput<Model: CollectionModel>: Sendable {
  let apply: @Sendable ([ModelEdit<Model>]) -> Void
  let started: @Sendable () -> Void
  let ended: @Sendable (LoadOutcome) -> Void
  let failed: @Sendable (any Error, String?) -> Void
  /// A piece of work has finished.
  let finished: @Sendable () -> Void
}

/// The collection's interface to its loader.
protocol CollectionLoading: Sendable {
  var state: LoadingState { get }
  func begin(
    _ direction: LoadDirection, whenEnded: (@Sendable (LoadOutcome) -> Void)?
  ) -> LoadStart
  func cancelLoad()
  func stop()
}

final class CollectionLoader<Source: CollectionSource, DataSource: CollectionDataSource>:
  CollectionLoading
where DataSource.Data == Source.Data {
  typealias Child = SourceChild<Source.Data>
  typealias Model = DataSource.Model

  private let source: Source
  private let dataSource: DataSource
  private let options: CollectionOptions<Model>
  private let work: SerialWork
  private let output = Mutex<LoaderOutput<Model>?>(nil)
  private let ledger = Mutex(LoaderLedger<Source.Data, Model>())

  init(
    source: Source, dataSource: DataSource, options: CollectionOptions<Model>, work: SerialWork
  ) {
    self.source = source
    self.dataSource = dataSource
    self.options = options
    self.work = work
  }

  /// Sets the receiver of the loader's calls.
  func setOutput(_ output: LoaderOutput<Model>) { self.output.withLock { $0 = output } }

  var state: LoadingState { ledger.withLock { $0.state } }

  // MARK: - Loads

  func begin(
    _ direction: LoadDirection, whenEnded: (@Sendable (LoadOutcome) -> Void)?
  ) -> LoadStart {
    let (start, number) = ledger.withLock { ledger in
      ledger.begin(direction, mode: options.mode, listens: listens, whenEnded: whenEnded)
    }
    switch start {
    case .joined: break
    case .atEnd: whenEnded?(LoadOutcome(rows: 0, hasMore: false, error: nil))
    case .started: post { $0.run(load: number) }
    }
    return start
  }

  private func run(load number: Int) {
    // A load that ended before this one began is reported first.
    reportEarlyEnds()
    guard let request = ledger.withLock({ $0.start(load: number, mode: options.mode) }) else {
      return
    }
    notify { $0.started() }
    switch request {
    case .listen(let range): listen(to: range)
    case .page(let request): read(request, for: number)
    }
  }

  private func read(_ request: PageRequest, for number: Int) {
    let source = source
    let task = spawn({ try await source.page(request) }, then: { $0.receive($1, of: number) })
    let isWanted = ledger.withLock { $0.hold(task, load: number) }
    if !isWanted { task.cancel() }
  }

  private func receive(_ result: Result<SourcePage<Source.Data>, any Error>, of number: Int) {
    switch result {
    case .failure(let error): end(number, error: error)
    case .success(let page):
      let children = ledger.withLock { $0.take(page, load: number) }
      for child in children { prepare(child, from: .page(load: number)) }
      finishIfSettled()
    }
  }

  /// Ends the load once each of its children is settled.
  private func finishIfSettled() {
    guard let finished = ledger.withLock({ $0.finishIfSettled(listens: listens) }) else { return }
    if !finished.edits.isEmpty { notify { $0.apply(finished.edits) } }
    if let range = finished.range { listen(to: range) }
    finish(finished.outcome, finished.whenEnded)
  }

  private func end(_ number: Int, error: any Error) {
    ledger.withLock { $0.end(load: number, error: error) }
    reportEarlyEnds()
  }

  /// Cancels the work that ended early, and reports the loads among it.
  private func reportEarlyEnds() {
    while let early = ledger.withLock({ $0.takeEarlyEnd() }) {
      early.listener?.cancel()
      for task in early.tasks { task.cancel() }
      guard let outcome = early.outcome else { continue }
      // The load may have ended before its turn came.
      if !early.wasStarted { notify { $0.started() } }
      finish(outcome, early.whenEnded)
    }
  }

  private func finish(
    _ outcome: LoadOutcome, _ whenEnded: [@Sendable (LoadOutcome) -> Void]
  ) {
    notify { $0.ended(outcome) }
    for body in whenEnded { body(outcome) }
  }

  func cancelLoad() {
    ledger.withLock { $0.cancelLoad(Self.cancelled) }
    post { $0.reportEarlyEnds() }
  }

  /// Whether the loader listens to the loaded range.
  private var listens: Bool { options.mode == .live || options.listens }

  private static var cancelled: TreeRingError {
    TreeRingError(.cancelled, "The load was cancelled; loading again goes on from where it began.")
  }

  func stop() {
    ledger.withLock { $0.stop(Self.cancelled) }
    // Keeps the loader alive until this has run, even after its collection ends.
    work.post {
      self.reportEarlyEnds()
      self.notify { $0.finished() }
    }
  }

  // MARK: - Listening

  private func listen(to range: PositionRange) {
    if let listener = ledger.withLock({ $0.listener }) {
      listener.extend(to: range)
      return
    }
    guard let number = ledger.withLock({ $0.beginListening() }) else { return }
    let listener = source.listen(to: range) { [weak self] event in
      self?.post { $0.receive(event, from: number) }
    }
    let isWanted = ledger.withLock { $0.hold(listener, number: number) }
    if !isWanted { listener.cancel() }
  }

  private func receive(_ event: SourceEvent<Source.Data>, from listener: Int) {
    guard ledger.withLock({ $0.isListening(listener) }) else { return }
    switch event {
    case .set(let child): set(child, from: .listener(listener))
    case .removed(let key): remove(key, from: .listener(listener))
    case .state(let range, let children):
      let load = ledger.withLock { $0.stateArrived() }
      let origin = ChildOrigin.listener(listener, load: load)
      // A child that failed as part of a page is not retried merely because the page is now
      // listened to.
      for child in children where load != nil || !ledger.withLock({ $0.hasFailed(child) }) {
        set(child, from: origin)
      }
      for key in ledger.withLock({ $0.missing(from: children, in: range) }) {
        remove(key, from: origin)
      }
    case .failed(let error):
      let endedNoLoad = ledger.withLock { $0.end(listener: listener, error: error) }
      reportEarlyEnds()
      if endedNoLoad { notify { $0.failed(error, nil) } }
    }
    finishIfSettled()
  }

  private func set(_ child: Child, from origin: ChildOrigin) {
    if ledger.withLock({ $0.isCurrent(child) }) { return }
    prepare(child, from: origin)
  }

  private func remove(_ key: String, from origin: ChildOrigin) {
    guard let removed = ledger.withLock({ $0.remove(key, from: origin) }) else { return }
    for task in removed.tasks { task.cancel() }
    if !removed.edits.isEmpty { notify { $0.apply(removed.edits) } }
  }

  // MARK: - Preparing

  private func prepare(_ child: Child, from origin: ChildOrigin) {
    guard let (token, superseded) = ledger.withLock({ $0.supersede(child, from: origin) }) else {
      return
    }
    for task in superseded { task.cancel() }
    let dataSource = dataSource
    var tasks = [
      spawn({ try await dataSource.prepare(child.data) }, then: { $0.settle(child.key, token, $1) })
    ]
    if let timeout = options.prepareTimeout {
      let clock = options.clock
      tasks.append(
        Task(executorPreference: options.executor) { [weak self] in
          guard (try? await clock.sleep(for: timeout)) != nil else { return }
          let error = TreeRingError(
            .cancelled,
            "Preparing the child \(child.key) took longer than \(timeout). Its row stays as it "
              + "was until the source sends the child again or it is loaded again. "
              + "CollectionOptions.prepareTimeout sets the limit.")
          self?.post { $0.settle(child.key, token, .failure(error)) }
        })
    }
    let isWanted = ledger.withLock { $0.hold(tasks, key: child.key, token: token) }
    if !isWanted { for task in tasks { task.cancel() } }
  }

  private func settle(_ key: String, _ token: UInt64, _ result: Result<Model?, any Error>) {
    guard let settled = ledger.withLock({ $0.settle(key, token, result) }) else { return }
    for task in settled.tasks { task.cancel() }
    if let error = settled.error { notify { $0.failed(error, key) } }
    if !settled.edits.isEmpty { notify { $0.apply(settled.edits) } }
    finishIfSettled()
  }

  // MARK: - Running

  /// Starts a task whose result is received in its turn.
  private func spawn<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value,
    then receive: @escaping @Sendable (CollectionLoader, Result<Value, any Error>) -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: options.executor) { [weak self] in
      let result: Result<Value, any Error>
      do {
        result = .success(try await body())
      } catch {
        result = .failure(error)
      }
      self?.post { receive($0, result) }
    }
  }

  /// Runs a piece of work in its turn, unless the loader has been released by then.
  private func post(_ body: @escaping @Sendable (CollectionLoader) -> Void) {
    work.post { [weak self] in
      guard let self else { return }
      body(self)
      notify { $0.finished() }
    }
  }

  private func notify(_ body: (LoaderOutput<Model>) -> Void) {
    if let output = output.withLock({ $0 }) { body(output) }
  }
}
