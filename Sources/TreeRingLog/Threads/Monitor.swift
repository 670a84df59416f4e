// A lock that owns the state it guards, with conditions to wait for. The standard library's Mutex
// has none, and it serves threads in order: with many threads this unfair lock is far faster.

public import TreeRingPlatform

/// A state that one thread at a time may use. Not recursive. An arriving thread may take the lock
/// before sleeping ones.
@usableFromInline
package final class Monitor<State: ~Copyable>: @unchecked Sendable {
  // Any thread may use a pthread mutex; its memory never moves. `withLock` and `enter` alone access
  // the state, with the mutex locked.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline let state: UnsafeMutablePointer<State>

  package init(_ state: consuming State) {
    mutex = .allocate(capacity: 1)
    Platform.initialize(mutex)
    self.state = .allocate(capacity: 1)
    self.state.initialize(to: state)
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs `body` exclusively.
  @inlinable @inline(__always)
  package func withLock<R: ~Copyable, E: Error>(
    _ body: (inout State) throws(E) -> R
  ) throws(E) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&state.pointee)
  }

  /// Runs `body` exclusively. It may release the lock for a while, so the state is accessed through
  /// the argument, anew each time.
  @inline(__always)
  package func enter<R: ~Copyable, E: Error>(
    _ body: (borrowing Held) throws(E) -> R
  ) throws(E) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(Held(mutex: mutex, pointer: state))
  }

  /// A monitor that the calling thread has entered. Valid inside the closure of `enter` only.
  package struct Held: ~Copyable {
    fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>
    fileprivate let pointer: UnsafeMutablePointer<State>

    /// The state. Other threads change it while this one waits.
    package var state: State {
      @inline(__always) unsafeAddress { UnsafePointer(pointer) }
      @inline(__always) nonmutating unsafeMutableAddress { pointer }
    }

    /// Releases the monitor until the condition wakes this thread, possibly spuriously, and takes
    /// it again.
    package func wait(for condition: Condition) { pthread_cond_wait(condition.pointer, mutex) }

    /// The same with a time limit.
    package func wait(for condition: Condition, atMost limit: Duration) {
      // A condition uses the system's clock. If that is set during the wait, the wait is shorter or
      // longer, but never longer than a second.
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      let nanoseconds = min(max(0, Int64(min(limit, .seconds(1)) / .nanoseconds(1))), 1_000_000_000)
      let sum = Int64(time.tv_nsec) + nanoseconds
      time.tv_sec += time_t(sum / 1_000_000_000)
      time.tv_nsec = Int(sum % 1_000_000_000)
      pthread_cond_timedwait(condition.pointer, mutex, &time)
    }

    /// Runs `body` with the monitor released.
    package func released<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
      pthread_mutex_unlock(mutex)
      defer { pthread_mutex_lock(mutex) }
      return try body()
    }
  }
}

/// A condition that threads inside a monitor wait for.
package final class Condition: @unchecked Sendable {
  // Any thread may use a pthread condition; its memory never moves.
  fileprivate let pointer = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() { pthread_cond_init(pointer, nil) }

  deinit {
    pthread_cond_destroy(pointer)
    pointer.deallocate()
  }

  /// Wakes one waiting thread.
  package func signal() { pthread_cond_signal(pointer) }
  /// Wakes all waiting threads.
  package func broadcast() { pthread_cond_broadcast(pointer) }
}
