// Clocks and counters, in the units of the reports.

internal import CBenchmarkClock

/// Clocks and counters of this process.
public enum Clocks {
  /// Processor time of the calling thread, in nanoseconds.
  public static var threadNanoseconds: UInt64 { benchmark_thread_nanoseconds() }
  /// Wall-clock time since a fixed point, in nanoseconds.
  public static var wallNanoseconds: UInt64 { benchmark_wall_nanoseconds() }
  /// Bytes that this process has passed to write calls; 0 if the system does not count them.
  public static var writtenByteCount: UInt64 { benchmark_written_bytes() }

  /// The wall-clock time of `body`, in seconds.
  public static func wallSeconds(_ body: () throws -> Void) rethrows -> Double {
    let start = wallNanoseconds
    try body()
    return Double(wallNanoseconds - start) / 1e9
  }

  /// The processor time of this thread during `body`, in seconds.
  public static func threadSeconds(_ body: () throws -> Void) rethrows -> Double {
    let start = threadNanoseconds
    try body()
    return Double(threadNanoseconds - start) / 1e9
  }

  /// The rate of synced writes over zeros, one after the other, in a bare file, per second: the
  /// limit of durable commits. Several threads share syncs, as the writers of a log with group
  /// commit do.
  public static func syncedWritesPerSecond(
    in folder: String, size: Int, count: Int, threads: Int = 1
  ) throws -> Double {
    let path = folder + "/sync-loop"
    let seconds =
      threads == 1
      ? benchmark_sync_loop(path, Int32(size), Int32(count))
      : benchmark_shared_sync_loop(path, Int32(size), Int32(count), Int32(threads))
    guard seconds > 0 else { throw BenchmarkError("the bare sync loop failed in \(folder)") }
    return Double(count) / seconds
  }
}
