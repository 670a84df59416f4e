// A lock that admits one thread at a time. A thread that takes it again gets an error instead of a
// deadlock: for a write inside the closure of a write, or a compaction inside the progress closure
// of another.

internal import TreeRingLog
internal import TreeRingPlatform

/// A lock that knows its owning thread, because code of the caller runs under it.
final class OwnedLock: Sendable {
  private let monitor = Monitor(())
  /// The number of the owning thread; 0 without one.
  private let owner = Atomic<UInt>(0)
  /// The message thrown when the owning thread re-enters.
  private let refusal: String

  /// - Parameter refusal: The message thrown when the owning thread re-enters.
  init(refusal: String) { self.refusal = refusal }

  /// Runs `body` exclusively. Waits for another thread that holds the lock.
  /// - Throws: `notAllowed` if this thread holds the lock already; the errors of `body`.
  func withLock<R>(_ body: () throws -> R) throws -> R {
    try checkOutside()
    return try locked(body)
  }

  /// Runs a body that throws only errors of this library; otherwise as `withLock`.
  func hold<R>(_ body: () throws(TreeRingError) -> R) throws(TreeRingError) -> R {
    try checkOutside()
    return try locked(body)
  }

  private func locked<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    try monitor.withLock { _ throws(E) in
      owner.store(Platform.currentThread, ordering: .relaxed)
      defer { owner.store(0, ordering: .relaxed) }
      return try body()
    }
  }

  /// Throws `notAllowed` if this thread holds the lock.
  func checkOutside() throws(TreeRingError) {
    guard owner.load(ordering: .relaxed) != Platform.currentThread else {
      throw TreeRingError(.notAllowed, refusal)
    }
  }
}
