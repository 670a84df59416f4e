// The promise of a write that has returned, and the handling of a damaged log by an opening.

/// The failures that a returned commit survives.
public enum Durability: Hashable, Sendable {
  /// The commit is on the device before the call returns (fdatasync; F_FULLFSYNC on Darwin).
  case full
  /// Ordered before every later write, but perhaps not on the device yet (F_BARRIERFSYNC on
  /// Darwin; the same as `full` elsewhere).
  case barrier
  /// Written before the call returns, and synced at most this long afterwards.
  case relaxed(within: Duration)
  /// Written before the call returns, and synced only by the operating system or `close`.
  case none
}

/// The treatment of a log that does not end cleanly.
public enum RecoveryMode: Hashable, Sendable {
  /// Drops a torn tail and throws on corruption. The default.
  case tail
  /// Throws on any flaw.
  case exact
  /// Ignores everything from the first flaw on, regardless of its position.
  case prefix
}
