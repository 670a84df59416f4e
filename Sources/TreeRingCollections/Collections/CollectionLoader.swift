// What is known of a source's children, what is being prepared, and what is loaded.
//
// Rules, by which rows are neither lost nor brought back:
//   1. Each child being prepared has a token. A later event for its key takes the token away, so that the
//      earlier result is nobody's; a removal does too. Results come in any order.
//   2. The rows of a page wait until each child of it is settled: prepared, failed, timed out, superseded
//      or removed. Then they are applied as one batch, the loaded range grows, the listener is extended
//      over it, and the load ends. Nothing of a page counts before.
//   3. Whatever the listener newly covers it states in full, which mends what happened meanwhile.
//   4. What the listener said of a child is newer than any page that was read at the same time.
//   5. Beginning, cancelling and stopping count once their calls have returned, whichever thread they come
//      from and whatever waits in the queue: the ledger takes note of them, in their order. What is told of
//      them, and what is cancelled, follows in the queue's turn.
// Every other step runs on the collection's serial queue; one that goes on after it was stopped finds that
// its load, its listener or its token is nobody's any more.

internal import Synchronization
internal import TreeRingLog

/// What a loader tells its collection, in order.
struct LoaderOutput<Model: CollectionModel>: Sendable {
  let apply: @Sendable ([ModelEdit<Model>]) -> Void
  let started: @Sendable () -> Void
  let ended: @Sendable (LoadOutcome) -> Void
  let failed: @Sendable (any Error, String?) -> Void
  /// A piece of work is done.
  let finished: @Sendable () -> Void
}

/// A loader as its collection sees it.
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

  /// Says who is told.
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
    // One that ended before this one began is told of before it.
    tellOfEarlyEnds()
    guard let request = ledger.withLock({ $0.start(load: number, mode: options.mode) }) else {
      return
    }
    tell { $0.started() }
    switch request {
    case .listen(let range): listen(to: range)
    case .page(let request): read(request, for: number)
    }
  }

  private func read(_ request: PageRequest, for number: Int) {
    let source = source
    let task = spawn { [weak self] in
      let result: Result<SourcePage<Source.Data>, any Error>
      do {
        result = .success(try await source.page(request))
      } catch {
        result = .failure(error)
      }
      self?.post { $0.receive(result, of: number) }
    }
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
    if !finished.edits.isEmpty { tell { $0.apply(finished.edits) } }
    if let range = finished.range { listen(to: range) }
    finish(finished.outcome, finished.whenEnded)
  }

  private func end(_ number: Int, error: any Error) {
    ledger.withLock { $0.end(load: number, error: error) }
    tellOfEarlyEnds()
  }

  /// Cancels what ended early, and tells of loads that did.
  private func tellOfEarlyEnds() {
    while let early = ledger.withLock({ $0.takeEarlyEnd() }) {
      early.listener?.cancel()
      for task in early.tasks { task.cancel() }
      guard let load = early.load else { continue }
      // It may have ended before its turn came.
      if !load.wasStarted { tell { $0.started() } }
      finish(load.outcome, load.whenEnded)
    }
  }

  private func finish(
    _ outcome: LoadOutcome, _ whenEnded: [@Sendable (LoadOutcome) -> Void]
  ) {
    tell { $0.ended(outcome) }
    for body in whenEnded { body(outcome) }
  }

  func cancelLoad() {
    ledger.withLock { $0.cancelLoad(Self.cancelled) }
    post { $0.tellOfEarlyEnds() }
  }

  /// Whether what is loaded is listened to.
  private var listens: Bool { options.mode == .live || options.listens }

  private static var cancelled: TreeRingError {
    TreeRingError(.cancelled, "The load was cancelled; loading again goes on from where it began.")
  }

  func stop() {
    ledger.withLock { $0.stop(Self.cancelled) }
    // Kept alive until it is done, also when its collection ends.
    work.post {
      self.tellOfEarlyEnds()
      self.tell { $0.finished() }
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
      // What failed as part of a page is not tried again only because the page is listened to now.
      for child in children where load != nil || !ledger.withLock({ $0.hasFailed(child) }) {
        set(child, from: origin)
      }
      for key in ledger.withLock({ $0.missing(from: children, in: range) }) {
        remove(key, from: origin)
      }
    case .failed(let error):
      let endedNoLoad = ledger.withLock { $0.end(listener: listener, error: error) }
      tellOfEarlyEnds()
      if endedNoLoad { tell { $0.failed(error, nil) } }
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
    if !removed.edits.isEmpty { tell { $0.apply(removed.edits) } }
  }

  // MARK: - Preparing

  private func prepare(_ child: Child, from origin: ChildOrigin) {
    guard let (token, superseded) = ledger.withLock({ $0.supersede(child, from: origin) }) else {
      return
    }
    for task in superseded { task.cancel() }
    let dataSource = dataSource
    var tasks = [
      spawn { [weak self] in
        let result: Result<Model?, any Error>
        do {
          result = .success(try await dataSource.prepare(child.data))
        } catch {
          result = .failure(error)
        }
        self?.post { $0.settle(child.key, token, result) }
      }
    ]
    if let timeout = options.prepareTimeout {
      let clock = options.clock
      tasks.append(
        spawn { [weak self] in
          guard (try? await clock.sleep(for: timeout)) != nil else { return }
          let error = TreeRingError(
            .cancelled,
            "Preparing the child \(child.key) took longer than \(timeout); its row stays as it was until it "
              + "is heard of or loaded again. CollectionOptions.prepareTimeout sets how long it may take."
          )
          self?.post { $0.settle(child.key, token, .failure(error)) }
        })
    }
    let isWanted = ledger.withLock { $0.hold(tasks, key: child.key, token: token) }
    if !isWanted { for task in tasks { task.cancel() } }
  }

  private func settle(_ key: String, _ token: UInt64, _ result: Result<Model?, any Error>) {
    guard let settled = ledger.withLock({ $0.settle(key, token, result) }) else { return }
    for task in settled.tasks { task.cancel() }
    if let error = settled.error { tell { $0.failed(error, key) } }
    if !settled.edits.isEmpty { tell { $0.apply(settled.edits) } }
    finishIfSettled()
  }

  // MARK: - Running

  private func spawn(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: options.executor) { await body() }
  }

  /// Runs a piece of work in its turn, unless the loader is gone by then.
  private func post(_ body: @escaping @Sendable (CollectionLoader) -> Void) {
    work.post { [weak self] in
      guard let self else { return }
      body(self)
      tell { $0.finished() }
    }
  }

  private func tell(_ body: (LoaderOutput<Model>) -> Void) {
    if let output = output.withLock({ $0 }) { body(output) }
  }
}
