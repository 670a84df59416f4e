// The thread sanitizer does not recognize contended use of the standard library's Mutex on Linux,
// and reports the guarded state as races. If TREERING_SANITIZED is in the environment of the build,
// the package uses this replacement, whose lock the sanitizer recognizes.

#if THREAD_SANITIZER
  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Musl)
    internal import Musl
  #else
    internal import Glibc
  #endif

  /// A replacement for `Synchronization.Mutex`.
  package struct SanitizedMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // The value is accessed only with the lock held.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    package init(_ initial: consuming sending Value) {
      lock = .allocate(capacity: 1)
      pthread_mutex_init(lock, nil)
      value = .allocate(capacity: 1)
      value.initialize(to: initial)
    }

    deinit {
      value.deinitialize(count: 1)
      value.deallocate()
      pthread_mutex_destroy(lock)
      lock.deallocate()
    }

    package borrowing func withLock<R: ~Copyable, E: Error>(
      _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
      pthread_mutex_lock(lock)
      defer { pthread_mutex_unlock(lock) }
      return try body(&value.pointee)
    }
  }

  typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
