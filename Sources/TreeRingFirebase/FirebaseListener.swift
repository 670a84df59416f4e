// An active listener: one task takes the messages of its streams in order, and sends what follows.

internal import TreeRingCollections
internal import TreeRingPlatform

/// A listener. It ends with its last reference, or when it is cancelled.
final class FirebaseListener: SourceListener {
  private let streams: StreamTasks
  private let inbox: ListenerInbox

  /// - Parameter send: Receives each step that concerns the children, with the state after it, one
  ///   call at a time. While it runs, the streams wait.
  init(
    _ client: FirebaseClient, _ query: FirebaseQuery,
    send: @escaping @Sendable (ListenerStep, ListenerState) -> Void
  ) {
    let inbox = ListenerInbox()
    let streams = StreamTasks()
    self.inbox = inbox
    self.streams = streams
    Task {
      var state = ListenerState(query)
      while let message = await inbox.next() {
        for step in state.take(message) {
          switch step {
          case .open(let number, let parameters):
            streams.add(number, Self.task(client, number, parameters, inbox))
          case .close(let number): streams.end(number)
          case .state, .change, .fail: if !streams.isOver { send(step, state) }
          }
        }
        inbox.pause(state.fullStream)
      }
    }
  }

  deinit { cancel() }

  /// Starts the task that follows a stream.
  private static func task(
    _ client: FirebaseClient, _ number: Int, _ parameters: [RequestParameter],
    _ inbox: ListenerInbox
  ) -> Task<Void, Never> {
    Task {
      let error = await client.follow(parameters) { event in
        switch event {
        case .requested: await inbox.send(.requested(stream: number))
        case .lost: await inbox.send(.lost(stream: number))
        case .opened(let tree): await inbox.send(.opened(stream: number, tree))
        case .changed(let changes): await inbox.send(.changed(stream: number, changes))
        }
      }
      if let error { await inbox.send(.failed(stream: number, error)) }
    }
  }

  func extend(to range: PositionRange) { inbox.extend(to: range) }

  func cancel() {
    inbox.finish()
    streams.endAll()
  }
}

/// The tasks of a listener's streams.
private final class StreamTasks: Sendable {
  private struct State {
    var tasks: [Int: Task<Void, Never>] = [:]
    var isOver = false
  }
  private let state = Mutex(State())

  var isOver: Bool { state.withLock(\.isOver) }

  /// Keeps a task; cancels it at once if the listener has ended.
  func add(_ number: Int, _ task: Task<Void, Never>) {
    let isOver = state.withLock { state in
      if !state.isOver { state.tasks[number] = task }
      return state.isOver
    }
    if isOver { task.cancel() }
  }

  func end(_ number: Int) {
    state.withLock { $0.tasks.removeValue(forKey: number) }?.cancel()
  }

  func endAll() {
    let tasks = state.withLock { state in
      state.isOver = true
      defer { state.tasks = [:] }
      return Array(state.tasks.values)
    }
    for task in tasks { task.cancel() }
  }
}
