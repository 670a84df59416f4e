// The basic types of all layers: commit numbers, timestamps, durability, recovery.

/// The number of a commit: dense and monotonic. The first commit is 1; 0 means "before everything".
public typealias CommitNumber = UInt64

/// A moment in UTC, in microseconds since 1970-01-01T00:00:00Z.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Microseconds since 1970-01-01T00:00:00Z; negative before.
  public var microseconds: Int64

  /// A timestamp from microseconds since 1970-01-01T00:00:00Z.
  public init(microseconds: Int64) { self.microseconds = microseconds }

  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }
}

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
