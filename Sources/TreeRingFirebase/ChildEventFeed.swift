// The child events of one reader, at a position and without a queue. The feed keeps the newest
// state of the children, and the keys of those that an event concerned since the reader's last one.
// When the reader asks, it gets the differences from the state that it knows. So a reader that does
// not ask costs one tree and some keys, however many events pass, and then gets each child once.

internal import TreeRingCollections
internal import TreeRingPlatform

/// The child events of one reader.
final class ChildEventFeed: Sendable {
  private struct State {
    /// The children that the reader knows, once it has taken `ready`.
    var shown: ChildWindow
    /// Events that lead there, in order.
    var ready: ArraySlice<FirebaseChildEvent> = []
    /// The newest children, unless the reader knows them.
    var newest: ChildWindow?
    /// The keys of children that may differ from `shown`; nil if all may.
    var affected: Set<FirebaseKey>? = []
    /// The end, after all events: with an error, or without one.
    var end: Result<Void, any Error>?
    /// The reader, while it waits.
    var waiter: CheckedContinuation<Void, Never>?

    /// Whether the reader need not wait. Compares the children if it has taken all events.
    mutating func prepare() -> Bool {
      if ready.isEmpty, let newest {
        ready = shown.advance(to: newest, affected).events[...]
        (self.newest, affected) = (nil, [])
      }
      return !ready.isEmpty || end != nil
    }

    /// The next step of the reader; nil if it must wait.
    mutating func next() -> Result<FirebaseChildEvent?, any Error>? {
      guard prepare() else { return nil }
      if let event = ready.popFirst() { return .success(event) }
      return end?.map { nil as FirebaseChildEvent? }
    }
  }

  private let state: Mutex<State>

  init(_ query: FirebaseQuery) {
    state = Mutex(State(shown: ChildWindow(query.order, OrderInterval(query))))
  }

  /// Takes a step of a listener, and the children after it.
  func take(_ step: ListenerStep, _ children: ChildWindow) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      switch step {
      case .open, .close: return nil
      case .fail(let error): state.end = state.end ?? .failure(error)
      case .state: (state.newest, state.affected) = (children, nil)
      case .change(let change):
        state.newest = children
        state.affected?.formUnion(change.keys)
      }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Whether an event or the end is due, so that the reader need not wait.
  var isDue: Bool { state.withLock { $0.prepare() } }

  /// The next event; nil after the end. For one reader at a time.
  /// - Throws: The error that ended the listener.
  func next() async throws -> FirebaseChildEvent? {
    while !Task.isCancelled {
      if let next = state.withLock({ $0.next() }) { return try next.get() }
      await withTaskCancellationHandler {
        await withCheckedContinuation { waiter in
          let isDue = state.withLock { state in
            if Task.isCancelled || state.prepare() { return true }
            state.waiter = waiter
            return false
          }
          if isDue { waiter.resume() }
        }
      } onCancel: {
        let waiter = state.withLock { state in
          defer { state.waiter = nil }
          return state.waiter
        }
        waiter?.resume()
      }
    }
    return nil
  }
}
