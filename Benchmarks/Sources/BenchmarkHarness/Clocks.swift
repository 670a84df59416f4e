// Time and counters, in the units that reports use.

internal import CBenchmarkClock

/// Clocks and counters of this process.
public enum Clocks {
  /// Processor time of the calling thread, in nanoseconds.
  public static var threadNanoseconds: UInt64 { benchmark_thread_nanoseconds() }
  /// Wall-clock time from some fixed point, in nanoseconds.
  public static var wallNanoseconds: UInt64 { benchmark_wall_nanoseconds() }
  /// Bytes this process has passed to write calls; 0 where the system does not count them.
  public static var writtenByteCount: UInt64 { benchmark_written_bytes() }

  /// Seconds of wall-clock time that `body` takes.
  public static func wallSeconds(_ body: () throws -> Void) rethrows -> Double {
    let start = wallNanoseconds
    try body()
    return Double(wallNanoseconds - start) / 1e9
  }

  /// Seconds of this thread's processor time that `body` takes.
  public static func threadSeconds(_ body: () throws -> Void) rethrows -> Double {
    let start = threadNanoseconds
    try body()
    return Double(threadNanoseconds - start) / 1e9
  }

  /// Synced appends a second of a bare file, the yardstick of durable commits.
  public static func syncedAppendsPerSecond(in folder: String, size: Int, count: Int) throws
    -> Double
  {
    let seconds = benchmark_sync_loop(folder + "/sync-loop", Int32(size), Int32(count))
    guard seconds > 0 else { throw BenchmarkError("the bare sync loop failed in \(folder)") }
    return Double(count) / seconds
  }
}

/// Something a benchmark cannot go on from, in words.
public struct BenchmarkError: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
