// One at a time, and a clear error instead of a deadlock for who comes again from within: a write inside
// the closure of a write, a compaction in the progress closure of another.

internal import Synchronization
internal import TreeRingLog

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// A lock that knows which thread holds it, while code of the caller's runs under it.
final class OwnedLock: Sendable {
  private let monitor = Monitor()
  /// The thread inside, as a number; 0 without one.
  private let owner = Atomic<UInt>(0)
  /// What is told to who comes again.
  private let refusal: String

  /// - Parameter refusal: what is told to a thread that is inside and comes again.
  init(refusal: String) { self.refusal = refusal }

  /// Runs `body` alone.
  /// - Throws: `notAllowed` if this thread is already inside.
  func withLock<R>(_ body: () throws -> R) throws -> R {
    let thread = Self.currentThread
    try checkOutside()
    monitor.lock()
    owner.store(thread, ordering: .relaxed)
    defer {
      owner.store(0, ordering: .relaxed)
      monitor.unlock()
    }
    return try body()
  }

  /// Throws `notAllowed` if this thread is inside.
  func checkOutside() throws(TreeRingError) {
    guard owner.load(ordering: .relaxed) != Self.currentThread else {
      throw TreeRingError(.notAllowed, refusal)
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
