// Time and threads under the test's control: jobs run on the test's thread at its request, in a
// random order by a seed. The clock moves at the test's request.

import TestSupport
import TreeRingPlatform

/// Runs jobs on request.
final class TestExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// Runs jobs in a random order until there are none.
  func run(using random: inout SeededGenerator) {
    while step(using: &random) {}
  }

  /// Runs one random job; false if there is none.
  @discardableResult
  func step(using random: inout SeededGenerator) -> Bool {
    let job = take(&random)
    job?.runSynchronously(on: asUnownedTaskExecutor())
    return job != nil
  }

  private func take(_ random: inout SeededGenerator) -> UnownedJob? {
    jobs.withLock { jobs in
      guard let index = jobs.indices.randomElement(using: &random) else { return nil }
      return jobs.remove(at: index)
    }
  }
}

/// Runs a collection's queue on request, like a busy main queue.
final class HeldDeliveries: Sendable {
  private let bodies = Mutex<[@Sendable () -> Void]>([])

  func hold(_ body: @escaping @Sendable () -> Void) { bodies.withLock { $0.append(body) } }

  /// Runs the waiting work; false if there is none.
  func run() -> Bool {
    let waiting = bodies.withLock { bodies in
      defer { bodies = [] }
      return bodies
    }
    for body in waiting { body() }
    return !waiting.isEmpty
  }
}

/// A clock that advances only on request.
final class TestClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
  }

  private struct State {
    var now = Instant(offset: .zero)
    var sleepers: [Int: (Instant, CheckedContinuation<Void, any Error>)] = [:]
    var cancelled: Set<Int> = []
    var next = 0
  }
  private let state = Mutex(State())

  var now: Instant { state.withLock(\.now) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Void, any Error>? = state.withLock { state in
          if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
          if deadline <= state.now { return .success(()) }
          state.sleepers[number] = (deadline, continuation)
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      let sleeper = state.withLock { state in
        let sleeper = state.sleepers.removeValue(forKey: number)
        if sleeper == nil { state.cancelled.insert(number) }
        return sleeper
      }
      sleeper?.1.resume(throwing: CancellationError())
    }
  }

  /// Advances the clock and wakes the tasks whose time has come.
  func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleepers.filter { $0.value.0 <= state.now }
      for number in due.keys { state.sleepers[number] = nil }
      return due.values.map(\.1)
    }
    for continuation in woken { continuation.resume() }
  }
}
