// The library's own threads and delays. A dispatch queue's timers need descriptors, and the process
// ends if none is left; these need none.

internal import Dispatch
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// A thread for work that blocks.
package enum WorkerThread {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Runs `body` on a new thread, which ends with it.
  /// - Throws: `io` if the system allows the process no more threads.
  package static func start(_ body: @escaping @Sendable () -> Void) throws(TreeRingError) {
    let number = begin(Unmanaged.passRetained(Work(body)).toOpaque())
    guard number != 0 else { return }
    throw TreeRingError(
      .io, "Cannot begin a thread: \(String(cString: strerror(number))).", errno: number)
  }

  /// Starts the thread.
  /// - Returns: the system's error number; 0 after success.
  private static func begin(_ work: UnsafeMutableRawPointer) -> Int32 {
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let number = pthread_create(
      &thread, nil,
      { work in
        let work: UnsafeMutableRawPointer? = work
        if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
        return nil
      }, work)
    guard number == 0 else {
      Unmanaged<Work>.fromOpaque(work).release()
      return number
    }
    #if canImport(Darwin)
      if let thread { pthread_detach(thread) }
    #else
      pthread_detach(thread)
    #endif
    return 0
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
      // If no thread can be started, uses one of the dispatch queue.
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
