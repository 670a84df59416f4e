// A window, its readers and its connection: everything that several threads share.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings
internal import TreeRingPlatform

/// The shared state of a window.
final class WindowCore: Sendable {
  private typealias Watchers<Value> = [Int: AsyncStream<Value>.Continuation]

  private struct State {
    var mirror: WindowMirror
    /// Increases with each state of the rows.
    var version = 0
    var readers: [Int: WindowReader] = [:]
    var readerCount = 0
    var status = RemoteState.connecting
    var isClosed = false
    /// The connection or the wait under way, and the number of the connection.
    var work: Task<Void, Never>?
    var turn = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
    var watchers: Watchers<RemoteState> = [:]
    var totalWatchers: Watchers<[RemoteTotal]> = [:]
    /// The totals that those who watch them know.
    var knownTotals: [RemoteTotal] = []
  }

  private let state: Mutex<State>

  init(_ request: RemoteRequest) { state = Mutex(State(mirror: WindowMirror(request))) }

  /// The window's state now.
  var mirror: WindowMirror { state.withLock { $0.mirror } }
  var status: RemoteState { state.withLock { $0.status } }

  // MARK: - Requests

  /// Changes what is wanted. A request under way is first answered, so that a slider which moves
  /// faster than the server answers still shows states on its way.
  func change(
    _ body: (inout WindowMirror) throws(RemoteError) -> Void
  ) throws(RemoteError) {
    let cancelled = try state.withLock { state throws(RemoteError) -> Task<Void, Never>? in
      if state.isClosed { throw RemoteError(.closed, "The window has been closed.") }
      try body(&state.mirror)
      guard state.mirror.wantsMore, !state.mirror.awaitsAnswer, case .current = state.status else {
        return nil
      }
      state.turn += 1
      return state.work
    }
    cancelled?.cancel()
  }

  /// Closes the window.
  func close(_ error: RemoteError? = nil) {
    let ended = state.withLock { state -> State? in
      if state.isClosed { return nil }
      state.isClosed = true
      state.status = .closed(error)
      defer {
        (state.waiters, state.work) = ([], nil)
        (state.watchers, state.totalWatchers) = ([:], [:])
      }
      return state
    }
    guard let ended else { return }
    ended.work?.cancel()
    for waiter in ended.waiters { waiter.resume() }
    for watcher in ended.watchers.values {
      watcher.yield(.closed(error))
      watcher.finish()
    }
    for watcher in ended.totalWatchers.values { watcher.finish() }
  }

  // MARK: - The connection

  /// The next request, with its number; nil once the window is closed.
  func begin() -> (body: [UInt8], turn: Int)? {
    state.withLock { state in
      if state.isClosed { return nil }
      state.turn += 1
      return (state.mirror.begin(), state.turn)
    }
  }

  /// Keeps the connection, or a wait, so that a change or the end can cancel it.
  func hold(_ work: Task<Void, Never>, turn: Int) {
    let isLate = state.withLock { state in
      if state.isClosed || state.turn != turn { return true }
      state.work = work
      return false
    }
    if isLate { work.cancel() }
  }

  /// Takes a message of a connection.
  ///
  /// - Returns: Whether the connection is to go on.
  func take(_ message: [UInt8], turn: Int) throws -> Bool {
    var waiters: [CheckedContinuation<Void, Never>] = []
    defer { for waiter in waiters { waiter.resume() } }
    let (result, isCurrent) = try state.withLock { state -> (Bool, Bool) in
      if state.isClosed || state.turn != turn { return (false, false) }
      switch try state.mirror.take(message) {
      case .nothing: return (true, false)
      case .wait(let error): throw FailedRequest(error: error, remedy: .wait)
      case .dropped(let error):
        for reader in state.readers.keys { state.readers[reader]?.refusal = error }
        swap(&waiters, &state.waiters)
        return (false, false)
      case .shown(let changed):
        state.version += 1
        for reader in state.readers.keys {
          state.readers[reader]?.add(changed, to: state.mirror.rows)
        }
        if state.mirror.request.givesTotals {
          let totals = state.mirror.totals
          if totals != state.knownTotals {
            state.knownTotals = totals
            for watcher in state.totalWatchers.values { watcher.yield(totals) }
          }
        }
        swap(&waiters, &state.waiters)
        return (!state.mirror.wantsMore, true)
      }
    }
    if isCurrent { set(.current) }
    return result
  }

  /// Changes the status, and tells those who watch it.
  func set(_ status: RemoteState) {
    let watchers = state.withLock { state in
      if state.isClosed || state.status == status { return [:] as Watchers<RemoteState> }
      state.status = status
      return state.watchers
    }
    for watcher in watchers.values { watcher.yield(status) }
  }

  /// The status now and from now on; a slow reader gets the newest one.
  var statuses: AsyncStream<RemoteState> { values(\.status, to: \.watchers) }

  /// The totals now and after each message with other ones; a slow reader gets the newest.
  var totals: AsyncStream<[RemoteTotal]> { values(\.mirror.totals, to: \.totalWatchers) }

  private func values<Value: Sendable>(
    _ value: @Sendable (State) -> Value,
    to watchers: sending WritableKeyPath<State, Watchers<Value>>
  ) -> AsyncStream<Value> {
    let (stream, watcher) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state -> Int? in
      watcher.yield(value(state))
      if state.isClosed { return nil }
      state.readerCount += 1
      state[keyPath: watchers][state.readerCount] = watcher
      return state.readerCount
    }
    guard let number else {
      watcher.finish()
      return stream
    }
    watcher.onTermination = { [weak self] _ in
      self?.state.withLock { state in
        state.watchers[number] = nil
        state.totalWatchers[number] = nil
      }
    }
    return stream
  }

  // MARK: - Readers

  /// The news of a reader.
  enum News {
    case rows(ListedRows, [RowReference: Parts], index: String, CommitNumber)
    case refusal(RemoteError)
    case end(RemoteError?)
    /// Nothing, as of a state of which `wait` is told.
    case none
  }

  /// Adds a reader that shows nothing; returns its number.
  func addReader() -> Int {
    state.withLock { state in
      state.readerCount += 1
      state.readers[state.readerCount] = WindowReader()
      return state.readerCount
    }
  }

  func removeReader(_ number: Int) { state.withLock { $0.readers[number] = nil } }

  /// Takes a reader's news.
  func news(of number: Int) -> News {
    state.withLock { state in
      guard var reader = state.readers[number] else { return .end(nil) }
      defer { state.readers[number] = reader }
      if let refusal = reader.refusal {
        reader.refusal = nil
        return .refusal(refusal)
      }
      if reader.version < state.version, let commit = state.mirror.commit {
        let rows = state.mirror.rows
        let changed = reader.take(rows, version: state.version)
        return .rows(rows, changed, index: state.mirror.request.index, commit)
      }
      guard case .closed(let error) = state.status else { return .none }
      defer { reader.knowsEnd = true }
      return .end(reader.knowsEnd ? nil : error)
    }
  }

  /// Waits until there may be news of a reader, or the task is cancelled.
  func wait(for number: Int) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard let reader = state.readers[number], !state.isClosed, reader.refusal == nil,
            reader.version == state.version, !Task.isCancelled
          else { return true }
          state.waiters.append(continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      let waiters = state.withLock { state in
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.resume() }
    }
  }
}
