// A shared log in the memory of one process.

internal import TreeRingLog

/// A shared log in memory, for tests and previews. It lasts as long as the object, and serves the
/// replicas of one process.
///
/// It is always available, so no call throws `unavailable` or `refused`, and no append ends with
/// `unknown`. A call takes the time of its own entries; a trim, that of all entries.
public final class MemoryLog: SharedLog, Sendable {
  private struct State: Sendable {
    /// The number of the oldest entry.
    var first: UInt64 = 1
    var entries: [[UInt8]] = []

    var last: UInt64 { first + UInt64(entries.count) - 1 }
  }

  public let entryByteLimit: Int
  private let monitor = Monitor(State())
  private let appended = Condition()

  /// Creates an empty log.
  /// - Parameter entryByteLimit: The maximum size of an entry in bytes; at least 65,536.
  public init(entryByteLimit: Int = 1 << 20) {
    precondition(entryByteLimit >= 65_536, "a shared log allows entries of 65,536 bytes")
    self.entryByteLimit = entryByteLimit
  }

  public func ends(within limit: Duration) throws(SharedLogError) -> SharedLogEnds {
    monitor.withLock { SharedLogEnds(first: $0.first, last: $0.last) }
  }

  /// Appends entries if `expected` is the number of the newest one, and ends with `conflict`
  /// otherwise.
  public func append(
    _ entries: [[UInt8]], after expected: UInt64, within limit: Duration
  ) throws(SharedLogError) -> AppendOutcome {
    precondition(!entries.isEmpty, "an append has at least one entry")
    precondition(
      entries.allSatisfy { $0.count <= entryByteLimit }, "an entry is larger than the limit")
    return monitor.withLock { state in
      guard state.last == expected else { return .conflict }
      state.entries += entries
      appended.broadcast()
      return .appended
    }
  }

  public func read(
    from first: UInt64, byteLimit: Int, within limit: Duration
  ) throws(SharedLogError) -> [[UInt8]] {
    precondition(first > 0, "the entries of a shared log are numbered from 1")
    let deadline = ContinuousClock.now + limit
    return try monitor.enter { held throws(SharedLogError) in
      while held.state.last < first {
        let rest = deadline - .now
        guard rest > .zero else { return [] }
        held.wait(for: appended, atMost: rest)
      }
      let oldest = held.state.first
      guard first >= oldest else { throw .trimmed(first: oldest) }
      var (result, byteCount): ([[UInt8]], Int) = ([], 0)
      for entry in held.state.entries[Int(first - oldest)...] {
        result.append(entry)
        byteCount += entry.count
        if byteCount >= byteLimit { break }
      }
      return result
    }
  }

  public func trim(before first: UInt64, within limit: Duration) throws(SharedLogError) {
    monitor.withLock { state in
      // Without an entry the newest number is below the oldest.
      let kept = min(first, state.last)
      guard kept > state.first else { return }
      state.entries.removeFirst(Int(kept - state.first))
      state.first = kept
    }
  }
}
