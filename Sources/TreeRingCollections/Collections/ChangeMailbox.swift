// A mailbox for a reader that takes a collection's changes at its own pace. Untaken changes wait as
// one merged change, however many there are.
//
// Changes merge like the digits of a counter: a new one merges with the previous one if that is not
// much longer, and so on. So n waiting changes cost O(n log² n) in total, and take the space of
// one.

internal import TreeRingPlatform

/// The change that waits for a reader.
struct WaitingChange<Model: CollectionModel>: Sendable {
  /// Oldest first; each is more than twice as long as the next one.
  private var parts: [AffectedModels<Model>] = []

  var isEmpty: Bool { parts.isEmpty }
  /// The number of rows kept.
  var rowCount: Int { parts.reduce(0) { $0 + $1.count } }

  /// Adds a change that follows all waiting ones.
  mutating func append(_ change: AffectedModels<Model>) {
    var last = change
    while let before = parts.last, before.count <= 2 * last.count {
      last = before.followed(by: last)
      parts.removeLast()
    }
    parts.append(last)
  }

  /// Takes all of it as one change; nil if nothing waits.
  mutating func take() -> AffectedModels<Model>? {
    defer { parts = [] }
    guard var all = parts.last else { return nil }
    for part in parts.dropLast().reversed() { all = part.followed(by: all) }
    return all
  }
}

/// The mailbox of one reader.
final class ChangeMailbox<Model: CollectionModel>: Sendable {
  private struct State {
    var waiting = WaitingChange<Model>()
    /// The suspended readers, mostly one.
    var readers: [CheckedContinuation<Void, Never>] = []
    var isOver = false
    var isReady: Bool { !waiting.isEmpty || isOver }
  }
  private let state = Mutex(State())

  /// A mailbox that starts with the shown models as inserts.
  init(_ shown: [Model]) {
    if shown.isEmpty { return }
    let rows = shown.enumerated().map { AffectedModels<Model>.Row(new: $0, after: $1) }
    let change = AffectedModels(rows, oldCount: 0, newCount: rows.count)
    state.withLock { $0.waiting.append(change) }
  }

  /// Adds a change; a silent one only if changes already wait.
  func append(_ change: CollectionChange<Model>, silently: Bool) {
    state.withLock { state in
      if change.changes.isEmpty || (silently && state.waiting.isEmpty) { return }
      state.waiting.append(AffectedModels(change))
    }
  }

  /// Takes all waiting changes as one; nil if there are none.
  func take() -> AffectedModels<Model>? { state.withLock { $0.waiting.take() } }

  /// Resumes the readers if a change waits, or none can follow.
  func wake() {
    let readers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      if !state.isReady { return [] }
      defer { state.readers = [] }
      return state.readers
    }
    for reader in readers { reader.resume() }
  }

  /// Marks the mailbox as finished: no change follows.
  func finish() {
    state.withLock { $0.isOver = true }
    wake()
  }

  /// Waits until a change may be available; another reader may take it first. False once no change
  /// can follow.
  func hasMore() async -> Bool {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.isReady { return true }
        state.readers.append(continuation)
        return false
      }
      if isReady { continuation.resume() }
    }
    return state.withLock { !$0.waiting.isEmpty || !$0.isOver }
  }
}
