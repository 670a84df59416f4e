// A lock that threads can wait at. The standard library's Mutex has no condition to wait for.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// A mutex. Not recursive. Whoever comes may have it before those who sleep for it: with many threads
/// that is far faster than the standard library's Mutex, which hands over in turn.
package final class Monitor: @unchecked Sendable {
  // A pthread mutex may be used from any thread; its memory never moves.
  fileprivate let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  package init() { pthread_mutex_init(mutex, nil) }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  package func lock() { pthread_mutex_lock(mutex) }
  package func unlock() { pthread_mutex_unlock(mutex) }
}

/// Something to wait for while holding a monitor.
final class Condition: @unchecked Sendable {
  // A pthread condition may be used from any thread; its memory never moves.
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() { pthread_cond_init(condition, nil) }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  /// Gives the monitor up until woken, or for no reason, and takes it again.
  func wait(_ monitor: Monitor) { pthread_cond_wait(condition, monitor.mutex) }
  /// Wakes one that waits.
  func signal() { pthread_cond_signal(condition) }
  /// Wakes all that wait.
  func broadcast() { pthread_cond_broadcast(condition) }
}
