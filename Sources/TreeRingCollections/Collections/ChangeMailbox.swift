// A reader of a collection's changes that takes them at its own pace: what it has not taken waits as one
// change, however much happens meanwhile.
//
// Changes are put together like the digits of a counter: a new one with the one before it if that is not much
// longer, and so on. So n changes that wait cost O(n log² n) in all, and take the room of one.

internal import Synchronization

/// What waits for a reader.
struct WaitingChange<Model: CollectionModel>: Sendable {
  /// Oldest first; each is more than twice as long as the next one.
  private var parts: [TouchedModels<Model>] = []

  var isEmpty: Bool { parts.isEmpty }
  /// How many rows are kept.
  var rowCount: Int { parts.reduce(0) { $0 + $1.count } }

  /// Adds what happened after all that waits already.
  mutating func append(_ change: TouchedModels<Model>) {
    var last = change
    while let before = parts.last, before.count <= 2 * last.count {
      last = before.followed(by: last)
      parts.removeLast()
    }
    parts.append(last)
  }

  /// Takes all of it as one.
  mutating func take() -> TouchedModels<Model>? {
    defer { parts = [] }
    guard var all = parts.last else { return nil }
    for part in parts.dropLast().reversed() { all = part.followed(by: all) }
    return all
  }
}

/// Where one reader's changes wait.
final class ChangeMailbox<Model: CollectionModel>: Sendable {
  private struct State {
    var waiting = WaitingChange<Model>()
    /// Mostly one.
    var readers: [CheckedContinuation<Void, Never>] = []
    var isOver = false
  }
  private let state = Mutex(State())

  /// Begins with what is shown already, as models that have come.
  init(_ shown: [Model]) {
    if shown.isEmpty { return }
    let rows = shown.enumerated().map { TouchedModels<Model>.Row(new: $0, after: $1) }
    let change = TouchedModels(rows, oldCount: 0, newCount: rows.count)
    state.withLock { $0.waiting.append(change) }
  }

  /// Adds a change; one that is told to nobody only to what waits already.
  func append(_ change: CollectionChange<Model>, silently: Bool) {
    state.withLock { state in
      if change.changes.isEmpty || (silently && state.waiting.isEmpty) { return }
      state.waiting.append(TouchedModels(change))
    }
  }

  /// Takes all that waits as one change; nil if there is nothing.
  func take() -> TouchedModels<Model>? { state.withLock { $0.waiting.take() } }

  /// Lets the reader look.
  func wake() {
    let readers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      if state.waiting.isEmpty { return [] }
      defer { state.readers = [] }
      return state.readers
    }
    for reader in readers { reader.resume() }
  }

  /// Nothing more will come.
  func finish() {
    let readers = state.withLock { state in
      state.isOver = true
      defer { state.readers = [] }
      return state.readers
    }
    for reader in readers { reader.resume() }
  }

  /// Waits until there may be something to take, if nobody else is quicker; false once nothing more will
  /// come.
  func hasMore() async -> Bool {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if !state.waiting.isEmpty || state.isOver { return true }
        state.readers.append(continuation)
        return false
      }
      if isReady { continuation.resume() }
    }
    return state.withLock { !$0.waiting.isEmpty || !$0.isOver }
  }
}
