// A lock with conditions to wait for, which the standard library's Mutex lacks.

internal import TreeRingPlatform

/// A mutex. Not recursive, and unfair: an arriving thread may take it before waiting ones. With
/// many threads that is far faster than the standard library's Mutex, which serves threads in
/// order.
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

/// A condition to wait for while holding a monitor.
final class Condition: @unchecked Sendable {
  // A pthread condition may be used from any thread; its memory never moves.
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() { pthread_cond_init(condition, nil) }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  /// Releases the monitor until woken, possibly spuriously, and takes it again.
  func wait(_ monitor: Monitor) { pthread_cond_wait(condition, monitor.mutex) }
  /// The same with a time limit.
  func wait(_ monitor: Monitor, atMost limit: Duration) {
    // A condition uses the system's clock. If that is set during the wait, the wait is shorter or
    // longer, but never longer than a second.
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let nanoseconds = min(max(0, Int64(min(limit, .seconds(1)) / .nanoseconds(1))), 1_000_000_000)
    let sum = Int64(time.tv_nsec) + nanoseconds
    time.tv_sec += time_t(sum / 1_000_000_000)
    time.tv_nsec = Int(sum % 1_000_000_000)
    pthread_cond_timedwait(condition, monitor.mutex, &time)
  }
  /// Wakes one waiting thread.
  func signal() { pthread_cond_signal(condition) }
  /// Wakes all waiting threads.
  func broadcast() { pthread_cond_broadcast(condition) }
}
