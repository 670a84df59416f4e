// Threads for the asynchronous forms of calls that block. Such a call must not run on a thread of
// Swift's cooperative pool: there are as many of these as processors, and work that occupies all of
// them stops every task of the process. Dispatch's global queues may share their threads with that
// pool, so these threads belong to the library.

internal import DequeModule
internal import Dispatch
package import TreeRingLog
internal import TreeRingPlatform

/// Runs blocking calls for asynchronous functions, in the order of their arrival, on at most a
/// number of threads. A thread ends when nothing waits.
package final class WorkerPool: Sendable {
  private struct State {
    var jobs: Deque<@Sendable () -> Void> = []
    var threadCount = 0
  }

  private let state = Mutex(State())
  /// The maximum number of threads.
  private let threadLimit: Int

  init(threadLimit: Int) { self.threadLimit = threadLimit }

  private static let processorCount = max(2, ProcessInfo.processInfo.activeProcessorCount)

  /// For reads of the past. More threads than processors would only use more memory at a time.
  package static let reading = WorkerPool(threadLimit: processorCount)
  /// For the steps of asynchronous sequences. They are mostly short, so they do not wait for reads
  /// of the past.
  package static let stepping = WorkerPool(threadLimit: processorCount)
  /// For work on whole stores. One call may wait for another, so each has a thread of its own.
  package static let upkeep = WorkerPool(threadLimit: .max)

  /// Returns the result of a blocking call, made on a thread of the pool.
  ///
  /// - Parameter body: The call. It gets the stop signal of the calling task, and may ignore it.
  /// - Throws: The error of the call; `cancelled` if the task is cancelled before the call begins.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable (StopSignal) throws(TreeRingError) -> Value
  ) async throws(TreeRingError) -> Value {
    let stop = StopSignal()
    let result: Result<Value, TreeRingError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        add {
          continuation.resume(
            returning: Result { () throws(TreeRingError) in
              try stop.check()
              return try body(stop)
            })
        }
      }
    } onCancel: {
      stop.set()
    }
    return try result.get()
  }

  /// Returns the result of a blocking call that throws errors of other types too; otherwise as
  /// `run`.
  package func runThrowing<Value: Sendable>(
    _ body: @escaping @Sendable (StopSignal) throws -> Value
  ) async throws -> Value {
    try await run { stop in Result { try body(stop) } }.get()
  }

  /// Makes a blocking call on a thread of the pool, also for a task that is cancelled.
  /// - Throws: The error of the call.
  package func runAlways(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
      add { continuation.resume(with: Result { try body() }) }
    }
  }

  private func add(_ job: @escaping @Sendable () -> Void) {
    let mustStart = state.withLock { state in
      state.jobs.append(job)
      guard state.threadCount < threadLimit else { return false }
      state.threadCount += 1
      return true
    }
    guard mustStart else { return }
    do throws(TreeRingError) {
      try WorkerThread.start { [self] in work() }
    } catch {
      // Without a thread of its own, the work has one of the dispatch queue.
      DispatchQueue.global().async { [self] in work() }
    }
  }

  private func work() {
    while let job = next() { job() }
  }

  /// The next job; nil if there is none, and then the thread counts no longer.
  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      if state.jobs.isEmpty { state.threadCount -= 1 }
      return state.jobs.popFirst()
    }
  }
}

/// A value that an asynchronous sequence changes step by step, each on a thread of a pool.
package final class PooledValue<Value: Sendable>: Sendable {
  private let stored: Mutex<Value>

  package init(_ value: Value) { stored = Mutex(value) }

  /// The value between two steps.
  package var value: Value { stored.withLock { $0 } }

  /// Changes the value by a blocking call on a thread of the pool for steps.
  /// - Throws: The error of the call; `cancelled` if the task is cancelled before the call begins.
  package func change<Result: Sendable>(
    _ body: @escaping @Sendable (inout Value) throws(TreeRingError) -> Result
  ) async throws(TreeRingError) -> Result {
    try await WorkerPool.stepping.run { [self] _ throws(TreeRingError) in
      try stored.withLock { (value) throws(TreeRingError) in try body(&value) }
    }
  }

  /// Changes the value by a blocking call that throws errors of other types too; otherwise as
  /// `change`.
  package func changeThrowing<Result: Sendable>(
    _ body: @escaping @Sendable (inout Value) throws -> Result
  ) async throws -> Result {
    try await WorkerPool.stepping.runThrowing { [self] _ in
      try stored.withLock { try body(&$0) }
    }
  }
}

/// The cancellation of a task, for work that another thread does for it.
package final class StopSignal: Sendable {
  private let isRaised = Atomic<Bool>(false)

  /// Whether the task has been cancelled.
  var isSet: Bool { isRaised.load(ordering: .relaxed) }

  /// Notes that the task has been cancelled.
  func set() { isRaised.store(true, ordering: .relaxed) }

  /// Throws `cancelled` if the task has been cancelled.
  package func check() throws(TreeRingError) {
    if isSet {
      throw TreeRingError(.cancelled, "The task was cancelled before its call was done.")
    }
  }
}
