// The standard library's `Synchronization`. The thread sanitizer does not recognize its Mutex under
// contention on Linux, and reports accesses to the guarded state as races. So in a build with
// TREERING_SANITIZED in its environment, a mutex that the sanitizer recognizes shadows it. Modules
// import this module, never `Synchronization` itself.

@_exported public import Synchronization

#if THREAD_SANITIZER
  /// A replacement for `Synchronization.Mutex`.
  package struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
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
#endif
