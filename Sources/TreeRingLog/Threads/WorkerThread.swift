// The library's own threads and delays. They need no descriptors. A dispatch queue's timers do, and
// end the process if none is left.

internal import Dispatch
internal import TreeRingPlatform

/// A thread for work that blocks.
package enum WorkerThread {
  /// Runs `body` on a new thread, which ends with it.
  /// - Throws: `io` if the system allows the process no more threads.
  package static func start(_ body: @escaping @Sendable () -> Void) throws(TreeRingError) {
    let number = Platform.startThread(body)
    guard number != 0 else { return }
    throw TreeRingError(
      .io,
      "Cannot start a thread: \(String(cString: strerror(number))). Raise the limit of threads.",
      errno: number)
  }
}

/// Runs closures after a delay. One thread for the process, started at first use.
package final class Alarm: Sendable {
  /// The alarm that all stores share.
  package static let shared = Alarm()

  private struct Entry: Sendable {
    var deadline: ContinuousClock.Instant
    var body: @Sendable () -> Void
  }
  private struct State: Sendable {
    var entries: [Entry] = []
    var isRunning = false
  }
  private let monitor = Monitor()
  private let changed = Condition()
  // Accessed with the monitor held.
  private let state = Mutex(State())

  /// Calls `body` after a delay, on a thread that serves all stores; `body` must be fast.
  package func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
    let entry = Entry(deadline: .now + delay, body: body)
    monitor.lock()
    defer { monitor.unlock() }
    let mustStart = state.withLock { state in
      state.entries.append(entry)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    changed.signal()
    guard mustStart else { return }
    do throws(TreeRingError) {
      try WorkerThread.start { [self] in run() }
    } catch {
      state.withLock { $0 = State() }
      // Without a thread of its own, the delay runs on one of the dispatch queue.
      DispatchQueue.global().async {
        while ContinuousClock.now < entry.deadline { usleep(1_000) }
        entry.body()
      }
    }
  }

  private func run() {
    monitor.lock()
    while true {
      let now = ContinuousClock.now
      let (due, next) = state.withLock { state in
        let due = state.entries.filter { $0.deadline <= now }
        state.entries.removeAll { $0.deadline <= now }
        return (due, state.entries.map(\.deadline).min())
      }
      if !due.isEmpty {
        monitor.unlock()
        for entry in due { entry.body() }
        monitor.lock()
      } else if let next {
        changed.wait(monitor, atMost: next - now)
      } else {
        changed.wait(monitor)
      }
    }
  }
}
