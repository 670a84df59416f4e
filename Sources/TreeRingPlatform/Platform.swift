// The C library of each platform, and every call that differs between them. All modules import this
// one instead of a C library. The call of a function named as a method is written with the module's
// name: `TreeRingPlatform.close(descriptor)`.

#if canImport(Darwin)
  @_exported public import Darwin
#elseif canImport(Musl)
  @_exported public import Musl
#else
  @_exported public import Glibc
#endif

/// The calls that differ between platforms.
package enum Platform {
  /// A number of the calling thread that no other running thread has; never 0.
  @inlinable @inline(__always)
  package static var currentThread: UInt {
    #if canImport(Glibc)
      UInt(pthread_self())
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// Initializes a mutex. Where the system has adaptive ones, a thread tries for about a
  /// microsecond before it sleeps: most owners leave sooner than a thread wakes.
  package static func initialize(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
    #if canImport(Glibc)
      var attributes = pthread_mutexattr_t()
      pthread_mutexattr_init(&attributes)
      pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
      pthread_mutex_init(mutex, &attributes)
      pthread_mutexattr_destroy(&attributes)
    #else
      pthread_mutex_init(mutex, nil)
    #endif
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Runs `body` on a new thread, which ends with it.
  /// - Returns: the system's error number; 0 after success.
  package static func startThread(_ body: @escaping @Sendable () -> Void) -> Int32 {
    #if canImport(Glibc)
      var thread = pthread_t()
    #else
      var thread: pthread_t?
    #endif
    let work = Unmanaged.passRetained(Work(body))
    let number = pthread_create(
      &thread, nil,
      { work in
        let work: UnsafeMutableRawPointer? = work
        if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
        return nil
      }, work.toOpaque())
    guard number == 0 else {
      work.release()
      return number
    }
    #if canImport(Glibc)
      pthread_detach(thread)
    #else
      if let thread { pthread_detach(thread) }
    #endif
    return 0
  }

  /// Suspends the calling thread.
  package static func sleep(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec(
      tv_sec: numericCast(seconds), tv_nsec: numericCast(attoseconds / 1_000_000_000))
    nanosleep(&time, nil)
  }

  /// The time since the system started, asleep or not, in microseconds. The same for all processes.
  package static var uptime: Int64 {
    var time = timespec()
    #if canImport(Darwin)
      clock_gettime(CLOCK_MONOTONIC, &time)
    #else
      clock_gettime(CLOCK_BOOTTIME, &time)
    #endif
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }

  /// Handles a signal. Unlike with `signal`, a blocked read does not resume after it.
  package static func handle(
    _ signal: Int32, with handler: @escaping @convention(c) (Int32) -> Void
  ) {
    var action = sigaction()
    #if canImport(Darwin)
      action.__sigaction_u.__sa_handler = handler
    #elseif canImport(Musl)
      action.__sa_handler.sa_handler = handler
    #else
      action.__sigaction_handler.sa_handler = handler
    #endif
    sigaction(signal, &action, nil)
  }

  /// Suggests huge pages for memory. A hint: everything works without them, somewhat slower.
  package static func adviseHugePages(_ memory: UnsafeMutableRawPointer, byteCount: Int) {
    #if !canImport(Darwin)
      _ = madvise(memory, byteCount, MADV_HUGEPAGE)
    #endif
  }

  // MARK: Syncing

  /// True if `syncBarrier` also makes the data durable.
  package static var isBarrierDurable: Bool {
    #if canImport(Darwin)
      false
    #else
      true
    #endif
  }

  /// Orders a file's data before later writes.
  /// - Parameter isUnsupported: Whether an error number means that the file system lacks the call.
  /// - Returns: 0, or -1 with the system's error number set.
  package static func syncBarrier(
    _ descriptor: Int32, isUnsupported: (Int32) -> Bool
  ) -> Int32 {
    #if canImport(Darwin)
      let result = fcntl(descriptor, F_BARRIERFSYNC)
      return result != 0 && isUnsupported(errno) ? fsync(descriptor) : result
    #else
      return fdatasync(descriptor)
    #endif
  }

  /// Makes a file's data durable, and all of its length that reads of the data need: POSIX allows
  /// a shorter length to be omitted. Parameters and result as those of `syncBarrier`.
  package static func syncData(_ descriptor: Int32, isUnsupported: (Int32) -> Bool) -> Int32 {
    #if canImport(Darwin)
      syncWhole(descriptor, isUnsupported: isUnsupported)
    #else
      fdatasync(descriptor)
    #endif
  }

  /// Makes a file's data and length durable. Parameters and result as those of `syncBarrier`.
  package static func syncWhole(_ descriptor: Int32, isUnsupported: (Int32) -> Bool) -> Int32 {
    #if canImport(Darwin)
      let result = fcntl(descriptor, F_FULLFSYNC)
      return result != 0 && isUnsupported(errno) ? fsync(descriptor) : result
    #else
      return fsync(descriptor)
    #endif
  }
}
