// The few words every layer shares: commit numbers, timestamps, durability, recovery.

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

/// What a returned commit has survived.
public enum Durability: Hashable, Sendable {
  /// The commit is on the device before the call returns (fdatasync; F_FULLFSYNC on Darwin).
  case full
  /// Ordered before every later write, but perhaps not on the device yet (F_BARRIERFSYNC on
  /// Darwin; the same as `full` elsewhere).
  case barrier
  /// Written before the call returns, synced at the latest this long afterwards.
  case relaxed(within: Duration)
  /// Written before the call returns; synced when the operating system or `close` does it.
  case none
}

/// What opening does about a log that does not end cleanly.
public enum RecoveryMode: Hashable, Sendable {
  /// A torn tail is dropped, corruption is thrown. The default.
  case tail
  /// Any flaw is thrown.
  case exact
  /// Everything from the first flaw on is ignored, wherever it is.
  case prefix
}
