// The durability of a commit, and the treatment of a log that does not end cleanly.

/// The failures that a commit survives once the call that made it has returned.
///
/// In every case the commit survives the end of the process. Only a synced commit survives a power
/// failure. Concurrent commits share one sync.
public enum Durability: Hashable, Sendable {
  /// The commit is on the device before the call returns (fdatasync; F_FULLFSYNC on Darwin). It
  /// survives a power failure.
  case full
  /// The commit reaches the device before every later write, but perhaps after the call returns
  /// (F_BARRIERFSYNC on Darwin; the same as `full` elsewhere).
  case barrier
  /// The commit is written before the call returns, and synced at most this long afterwards. One
  /// sync serves all commits of that time.
  case relaxed(within: Duration)
  /// The commit is written before the call returns. A later sync, the operating system or `close`
  /// makes it durable.
  case unsynced
}

/// The treatment of a log that does not end cleanly.
public enum RecoveryMode: Hashable, Sendable {
  /// Drops a torn tail and throws on corruption. The default.
  case tail
  /// Throws `corruption` on any flaw, a torn tail included.
  case exact
  /// Ignores everything from the first flaw on, even durable commits. An opening for writing sets
  /// the ignored files aside.
  case prefix
}
