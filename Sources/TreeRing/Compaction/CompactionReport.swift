// The inputs and results of compaction.

public import TreeRingLog

/// The point before which history is to be dropped.
public enum CompactionTarget: Hashable, Sendable {
  /// The point that the store's own policy gives.
  case policy
  /// The point that another policy gives, this once.
  case keeping(Retention)
  /// That commit: the history before it is dropped.
  case before(CommitNumber)
  /// The newest commit: all history before it is dropped.
  case dropHistory
}

/// The progress of a compaction.
public struct CompactionProgress: Hashable, Sendable {
  /// Bytes of the log processed so far.
  public var doneByteCount: UInt64
  /// Bytes of the log to process in all.
  public var totalByteCount: UInt64
  /// The segment being read or rewritten, named by its first commit.
  public var segment: CommitNumber
}

/// A reason why history stays readable that the target would drop.
public struct Holding: Hashable, Sendable, CustomStringConvertible {
  /// The kind of thing that holds history.
  public enum Kind: String, Hashable, Sendable {
    /// A live snapshot.
    case pin
    /// A named commit.
    case tag
    /// A process that follows this store.
    case follower
    /// The retention policy.
    case policy
  }
  /// The kind of this holding.
  public let kind: Kind
  /// The commit that it keeps readable.
  public let commit: CommitNumber
  /// A description for people: a snapshot's creator and age, a tag's name, a policy's words.
  public let description: String
}

/// The effect of a compaction, or of a dry run its estimate.
public struct CompactionReport: Hashable, Sendable {
  /// The oldest commit from which on every commit can be read now.
  public var horizon: CommitNumber
  /// Bytes of the log before the compaction.
  public var bytesBefore: UInt64
  /// Bytes of the log after it; an estimate after a dry run.
  public var bytesAfter: UInt64
  /// The number of segments rewritten.
  public var rewrittenSegments: Int
  /// The holdings that keep more history than was asked for, and the tags kept.
  public var held: [Holding]
  /// Whether the compaction was a dry run, which changes nothing.
  public var isDryRun: Bool
}
