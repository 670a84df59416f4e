// The calling thread as a number, for counts and ownership by thread.

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// The calling thread.
enum CurrentThread {
  /// A number that no other running thread has; never 0.
  @inline(__always)
  static var number: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
