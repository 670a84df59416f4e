// One piece of work after the other, in the order they were given, wherever they come from. What is given
// while a piece runs, also by that piece itself, runs after it. So observers never see calls nested, and
// nothing needs a lock held while code of others runs.

internal import DequeModule
internal import Synchronization

/// A queue of work without a thread of its own.
final class SerialWork: Sendable {
  private struct State {
    var waiting: Deque<@Sendable () -> Void> = []
    var isRunning = false
  }

  private let state = Mutex(State())
  private let deliver: @Sendable (_ body: @escaping @Sendable () -> Void) -> Void

  /// - Parameter deliver: Runs what is waiting; called again only after that has returned.
  init(deliver: @escaping @Sendable (_ body: @escaping @Sendable () -> Void) -> Void) {
    self.deliver = deliver
  }

  /// Runs `body` in its turn.
  func post(_ body: @escaping @Sendable () -> Void) {
    if append(body) { begin() }
  }

  /// Gives `body` its turn. May be called while a lock is held, as it runs nothing.
  ///
  /// - Returns: Whether nothing runs yet, so that the caller has to `begin`.
  func append(_ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      state.waiting.append(body)
      defer { state.isRunning = true }
      return !state.isRunning
    }
  }

  /// Runs what is waiting.
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

  /// Whether nothing waits behind the piece that runs.
  var isLast: Bool { state.withLock(\.waiting.isEmpty) }
}
