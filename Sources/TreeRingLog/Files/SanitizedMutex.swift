// The thread sanitizer does not see the standard library's Mutex when threads contend for it on Linux,
// and reports what it guards as races. Built with TREERING_SANITIZED in the environment, the package
// uses this one instead, which is made of a lock that the sanitizer knows.

#if THREAD_SANITIZER
  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Musl)
    internal import Musl
  #else
    internal import Glibc
  #endif

  /// A stand-in for `Synchronization.Mutex`.
  package struct SanitizedMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // The value is touched with the lock held only.
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
