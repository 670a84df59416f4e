// One writer at a time, and a clear error instead of a deadlock when a write is opened inside a write.

internal import Synchronization
internal import TreeRingLog

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// The lock that writers hold while they build and sequence a commit.
final class WriterLock: Sendable {
  private let monitor = Monitor()
  /// The thread inside, as a number; 0 without one.
  private let owner = Atomic<UInt>(0)

  /// Runs `body` alone.
  /// - Throws: `notAllowed` if this thread is already inside.
  func withLock(_ body: () throws -> Void) throws {
    let thread = Self.currentThread
    try checkOutside()
    monitor.lock()
    owner.store(thread, ordering: .relaxed)
    defer {
      owner.store(0, ordering: .relaxed)
      monitor.unlock()
    }
    try body()
  }

  /// Throws `notAllowed` if this thread is inside.
  func checkOutside() throws(TreeRingError) {
    guard owner.load(ordering: .relaxed) != Self.currentThread else {
      throw TreeRingError(
        .notAllowed,
        "A write was opened, or the store closed, inside the closure of a write. Use the "
          + "transaction at hand instead, and close the store after it.")
    }
  }

  private static var currentThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
