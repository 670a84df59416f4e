// The loader's ledger: a plain value, so every rule can be read and tested without tasks or locks.

/// A child being prepared.
private struct PendingChild<Data: Sendable & Equatable> {
  let child: SourceChild<Data>
  let token: UInt64
  /// The load that waits for this child; nil if none does.
  let load: Int?
  var tasks: [Task<Void, Never>] = []
}

/// A load's request to its source.
enum LoadRequest {
  case page(PageRequest)
  case listen(to: PositionRange)
}

/// A load that is running.
private struct RunningLoad<Data: Sendable & Equatable, Model: CollectionModel> {
  let number: Int
  let direction: LoadDirection
  /// Whether it reads a page and holds its rows back until all are settled. Else it listens and
  /// applies each row at once.
  let readsPage: Bool
  var whenEnded: [@Sendable (LoadOutcome) -> Void]
  /// Whether its turn has come.
  var isStarted = false
  var task: Task<Void, Never>?
  /// The page read; nil before it arrives.
  var page: SourcePage<Data>?
  var hasState = false
  /// The keys that the listener removed since the page was requested.
  var gone: Set<String> = []
  /// The keys not settled yet.
  var waiting: Set<String> = []
  /// The rows held back.
  var ready: [String: (child: SourceChild<Data>, model: Model?)] = [:]
  var rowCount = 0
}

/// The origin of an event about a child.
enum ChildOrigin {
  /// A page that a load read.
  case page(load: Int)
  /// A listener; the first state that a load waits for also names that load.
  case listener(Int, load: Int? = nil)

  var load: Int? {
    switch self {
    case .page(let load): load
    case .listener(_, let load): load
    }
  }
}

/// Work that ended early and has not been reported yet.
struct EarlyEnd: Sendable {
  /// The listener to cancel.
  var listener: (any SourceListener)?
  /// The tasks to cancel.
  var tasks: [Task<Void, Never>] = []
  /// The outcome of the load that ended; nil if none did.
  var outcome: LoadOutcome?
  /// Whether the load's turn had come.
  var wasStarted = false
  var whenEnded: [@Sendable (LoadOutcome) -> Void] = []
}

/// The state of a loader.
struct LoaderLedger<Data: Sendable & Equatable, Model: CollectionModel>: Sendable {
  typealias Child = SourceChild<Data>

  private var pending: [String: PendingChild<Data>] = [:]
  /// The children as last prepared, and the identifiers of their rows.
  private var known = KnownChildren<Data>()
  private var identifiers: [String: String] = [:]
  /// The children whose last prepare failed.
  private var failed: [String: Child] = [:]
  private var nextToken: UInt64 = 0
  private var load: RunningLoad<Data, Model>?
  private var nextLoad = 0
  /// The loaded part of the order; nil before the first load.
  private var range: PositionRange?
  private(set) var listener: (any SourceListener)?
  private var listening = 0
  /// Whether the loader listens, or is about to.
  private var isListening = false
  /// The early ends, oldest first.
  private var earlyEnds: [EarlyEnd] = []
  private(set) var state = LoadingState.idle

  // MARK: - Loads

  /// Begins a load: of a page, or of the missed changes if all is loaded and listening has ended.
  ///
  /// - Parameter listens: Whether to listen to the loaded range.
  mutating func begin(
    _ direction: LoadDirection, mode: LoadingMode, listens: Bool,
    whenEnded: (@Sendable (LoadOutcome) -> Void)?
  ) -> (LoadStart, number: Int) {
    if load != nil {
      if let whenEnded { load?.whenEnded.append(whenEnded) }
      return (.joined, 0)
    }
    let isAtEnd = isAtEnd(direction)
    if isAtEnd, isListening || !listens { return (.atEnd, 0) }
    nextLoad += 1
    load = RunningLoad(
      number: nextLoad, direction: direction, readsPage: mode != .live && !isAtEnd,
      whenEnded: whenEnded.map { [$0] } ?? [])
    state = .loading
    return (.started, nextLoad)
  }

  private func isAtEnd(_ direction: LoadDirection) -> Bool {
    guard let range else { return false }
    return direction == .forward ? range.last == nil : range.first == nil
  }

  /// The source request of a load that starts now; nil if the load has already ended.
  mutating func start(load number: Int, mode: LoadingMode) -> LoadRequest? {
    guard let load, load.number == number else { return nil }
    self.load?.isStarted = true
    guard load.readsPage else {
      isListening = true
      return .listen(to: range ?? PositionRange())
    }
    let cursor = load.direction == .forward ? range?.last : range?.first
    var limit: Int?
    if case .paged(let size) = mode { limit = size }
    return .page(PageRequest(direction: load.direction, cursor: cursor, limit: limit))
  }

  /// Keeps the task that reads a page, for cancellation; false if the load has ended.
  mutating func hold(_ task: Task<Void, Never>, load number: Int) -> Bool {
    guard load?.number == number else { return false }
    load?.task = task
    return true
  }

  /// Takes a page; returns the children to prepare.
  mutating func take(_ page: SourcePage<Data>, load number: Int) -> [Child] {
    guard let load, load.number == number else { return [] }
    self.load?.page = page
    return page.children.filter { child in
      guard isListening else { return !isCurrent(child) }
      return known[child.key] == nil && pending[child.key] == nil && !load.gone.contains(child.key)
    }
  }

  /// Ends the load if all its children are settled. Returns the rows held back, in the source's
  /// order, and the range to listen to from now on, if it grows.
  mutating func finishIfSettled(listens: Bool) -> (
    edits: [ModelEdit<Model>], range: PositionRange?, outcome: LoadOutcome,
    whenEnded: [@Sendable (LoadOutcome) -> Void]
  )? {
    guard let load, load.waiting.isEmpty, load.page != nil || load.hasState else { return nil }
    let children = load.page?.children ?? []
    let sorted = children.sorted { $0.position < $1.position }
    let edits = sorted.flatMap { child in
      load.ready[child.key].map { rowEdits(for: $0.child, $0.model) } ?? []
    }
    for (child, model) in load.ready.values { note(child, model) }
    let hasMore = load.page?.hasMore ?? false
    var range = range ?? PositionRange()
    if let page = load.page, load.direction == .forward {
      range.last = hasMore ? page.children.last?.position ?? range.last : nil
      if self.range == nil { range.first = nil }
    } else if let page = load.page {
      range.first = hasMore ? page.children.last?.position ?? range.first : nil
    }
    self.range = range
    let rows = load.readsPage ? load.ready.values.count { $0.model != nil } : load.rowCount
    self.load = nil
    state = .loaded(hasMore: hasMore)
    let isToListen = load.readsPage && listens
    if isToListen { isListening = true }
    return (
      edits, isToListen ? range : nil,
      LoadOutcome(rows: rows, hasMore: hasMore, error: nil), load.whenEnded
    )
  }

  // MARK: - Early ends

  /// Ends a load, if it runs, and drops the rows it held back.
  mutating func end(load number: Int, error: any Error) {
    guard let load, load.number == number else { return }
    var tasks = load.task.map { [$0] } ?? []
    for (key, child) in pending where child.load == number {
      tasks += child.tasks
      pending[key] = nil
    }
    self.load = nil
    state = .failed
    let outcome = LoadOutcome(rows: 0, hasMore: !isAtEnd(load.direction), error: error)
    earlyEnds.append(
      EarlyEnd(
        tasks: tasks, outcome: outcome, wasStarted: load.isStarted, whenEnded: load.whenEnded))
  }

  /// Ends the running load. If it waits for a listener's first state, listening ends too.
  mutating func cancelLoad(_ error: any Error) {
    guard let load else { return }
    if !load.readsPage { endListening() }
    end(load: load.number, error: error)
  }

  /// Ends the running load, listening, and every prepare.
  mutating func stop(_ error: any Error) {
    endListening()
    if let load { end(load: load.number, error: error) }
    earlyEnds.append(EarlyEnd(tasks: pending.values.flatMap { $0.tasks }))
    pending = [:]
  }

  /// Records that a listener failed; returns whether no load ended with it, so that the caller must
  /// report the error.
  mutating func end(listener number: Int, error: any Error) -> Bool {
    guard isListening(number) else { return false }
    endListening()
    guard let load, !load.readsPage else { return true }
    end(load: load.number, error: error)
    return false
  }

  private mutating func endListening() {
    isListening = false
    if let listener { earlyEnds.append(EarlyEnd(listener: listener)) }
    listener = nil
  }

  /// Takes the oldest unreported early end; nil if there is none.
  mutating func takeEarlyEnd() -> EarlyEnd? {
    earlyEnds.isEmpty ? nil : earlyEnds.removeFirst()
  }

  // MARK: - Listening

  /// Begins to listen; nil if listening was stopped since.
  mutating func beginListening() -> Int? {
    guard isListening else { return nil }
    listening += 1
    return listening
  }

  /// Keeps a listener; false if it is no longer valid.
  mutating func hold(_ listener: any SourceListener, number: Int) -> Bool {
    guard isListening(number) else { return false }
    self.listener = listener
    return true
  }

  func isListening(_ number: Int) -> Bool { isListening && listening == number }

  /// Records a state; returns the load that waited for it, which the state's children then belong
  /// to.
  mutating func stateArrived() -> Int? {
    guard let load, !load.readsPage, !load.hasState else { return nil }
    self.load?.hasState = true
    return load.number
  }

  /// The children known or being prepared in a range, and missing from a state. O(children of the
  /// range and children being prepared).
  func missing(from children: [Child], in range: PositionRange) -> [String] {
    let stated = Set(children.map { $0.key })
    // A child known in the range whose latest event has a position elsewhere was not removed.
    let here = known.keys(in: range).filter { key in
      (pending[key]?.child ?? failed[key]).map { range.contains($0.position) } ?? true
    }
    // A page is not listened to yet.
    let page = load.flatMap { $0.readsPage ? $0.number : nil }
    let coming = pending.values.filter {
      ($0.load == nil || $0.load != page) && range.contains($0.child.position)
    }.map { $0.child.key }
    return Set(here + coming).subtracting(stated).sorted()
  }

  // MARK: - Children

  /// Whether a child equals its known, prepared or pending version.
  func isCurrent(_ child: Child) -> Bool {
    if let pending = pending[child.key] { return pending.child == child }
    if let ready = load?.ready[child.key] { return ready.child == child }
    return known[child.key] == child
  }

  /// Whether the last prepare of a child failed for exactly this version.
  func hasFailed(_ child: Child) -> Bool { failed[child.key] == child }

  /// Whether events of this origin are still valid.
  private func isWanted(_ origin: ChildOrigin) -> Bool {
    switch origin {
    case .page(let number): load?.number == number
    case .listener(let number, _): isListening(number)
    }
  }

  /// Registers a child to prepare and invalidates the earlier work for its key; nil if its origin
  /// is no longer valid.
  mutating func supersede(
    _ child: Child, from origin: ChildOrigin
  ) -> (token: UInt64, superseded: [Task<Void, Never>])? {
    guard isWanted(origin) else { return nil }
    let superseded = forget(child.key)
    nextToken += 1
    pending[child.key] = PendingChild(child: child, token: nextToken, load: origin.load)
    if load?.number == origin.load { load?.waiting.insert(child.key) }
    return (nextToken, superseded)
  }

  /// Keeps the tasks that prepare a child; false if it is already settled or superseded.
  mutating func hold(_ tasks: [Task<Void, Never>], key: String, token: UInt64) -> Bool {
    guard pending[key]?.token == token else { return false }
    pending[key]?.tasks = tasks
    return true
  }

  /// Invalidates the token of the work for a key.
  private mutating func forget(_ key: String) -> [Task<Void, Never>] {
    load?.waiting.remove(key)
    load?.ready[key] = nil
    failed[key] = nil
    return pending.removeValue(forKey: key)?.tasks ?? []
  }

  /// Settles a child by the result of its prepare; nil if the token is no longer valid.
  mutating func settle(
    _ key: String, _ token: UInt64, _ result: Result<Model?, any Error>
  ) -> (edits: [ModelEdit<Model>], error: (any Error)?, tasks: [Task<Void, Never>])? {
    guard let child = pending[key], child.token == token else { return nil }
    pending[key] = nil
    load?.waiting.remove(key)
    switch result {
    case .failure(let error):
      failed[key] = child.child
      return ([], error, child.tasks)
    case .success(let model):
      if let load, load.number == child.load {
        if load.readsPage {
          self.load?.ready[key] = (child.child, model)
          return ([], nil, child.tasks)
        }
        if model != nil { self.load?.rowCount += 1 }
      }
      let edits = rowEdits(for: child.child, model)
      note(child.child, model)
      return (edits, nil, child.tasks)
    }
  }

  /// Removes a child; nil if its origin is no longer valid.
  mutating func remove(
    _ key: String, from origin: ChildOrigin
  ) -> (edits: [ModelEdit<Model>], tasks: [Task<Void, Never>])? {
    guard isWanted(origin) else { return nil }
    let tasks = forget(key)
    known.remove(key)
    if load?.readsPage == true, load?.page == nil { load?.gone.insert(key) }
    let identifier = identifiers.removeValue(forKey: key)
    return (identifier.map { [.remove(identifier: $0)] } ?? [], tasks)
  }

  /// The edits of the models that follow from a prepared child.
  private func rowEdits(for child: Child, _ model: Model?) -> [ModelEdit<Model>] {
    let old = identifiers[child.key]
    let gone = old != nil && old != model?.identifier
    let removal = gone ? old.map { [ModelEdit<Model>.remove(identifier: $0)] } ?? [] : []
    return removal + (model.map { [.set($0, position: child.position)] } ?? [])
  }

  private mutating func note(_ child: Child, _ model: Model?) {
    known.set(child)
    identifiers[child.key] = model?.identifier
  }
}
