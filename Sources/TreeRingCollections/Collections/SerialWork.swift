// A serial queue: pieces of work run one after the other, in the order they were added, from any
// thread. Work added while a piece runs, even by that piece itself, runs after it. So observers
// never see nested calls, and no lock is held while foreign code runs.

internal import DequeModule
internal import TreeRingPlatform

/// A work queue without a thread of its own.
final class SerialWork: Sendable {
  private struct State {
    var waiting: Deque<@Sendable () -> Void> = []
    var isRunning = false
  }

  private let state = Mutex(State())
  private let deliver: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void

  /// - Parameter deliver: Runs the waiting work; called again only after that work has returned.
  init(deliver: @escaping @Sendable (_ body: @escaping @Sendable () -> Void) -> Void) {
    self.deliver = deliver
  }

  /// Runs `body` in its turn.
  func post(_ body: @escaping @Sendable () -> Void) {
    if append(body) { begin() }
  }

  /// Adds `body` to the queue. May be called under a lock, because it runs nothing.
  ///
  /// - Returns: Whether the queue was idle, so that the caller must call `begin`.
  func append(_ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      state.waiting.append(body)
      defer { state.isRunning = true }
      return !state.isRunning
    }
  }

  /// Runs the waiting work.
  func begin() { deliver { self.run() } }

  private func run() {
    while let body = next() { body() }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      let body = state.waiting.popFirst()
      state.isRunning = body != nil
      return body
    }
  }

  /// Whether no work waits behind the running piece.
  var isLast: Bool { state.withLock(\.waiting.isEmpty) }
}
