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
  private let monitor = Monitor(State())
  private let changed = Condition()

  /// Calls `body` after a delay, on a thread that serves all stores; `body` must be fast.
  package func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
    let entry = Entry(deadline: .now + delay, body: body)
    let mustStart = monitor.withLock { state in
      state.entries.append(entry)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    changed.signal()
    guard mustStart else { return }
    do throws(TreeRingError) {
      try WorkerThread.start { [self] in run() }
    } catch {
      // Without a thread of its own, each delay runs on one of the dispatch queue.
      let waiting = monitor.withLock { state in
        defer { state = State() }
        return state.entries
      }
      for entry in waiting {
        DispatchQueue.global().async {
          while ContinuousClock.now < entry.deadline { usleep(1_000) }
          entry.body()
        }
      }
    }
  }

  private func run() {
    monitor.enter { held in
      while true {
        let now = ContinuousClock.now
        let due = held.state.entries.filter { $0.deadline <= now }
        held.state.entries.removeAll { $0.deadline <= now }
        if !due.isEmpty {
          held.released { for entry in due { entry.body() } }
        } else if let next = held.state.entries.map(\.deadline).min() {
          held.wait(for: changed, atMost: next - now)
        } else {
          held.wait(for: changed)
        }
      }
    }
  }
}
