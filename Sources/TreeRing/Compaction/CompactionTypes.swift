// What compaction is asked for and what it answers.

public import TreeRingLog

/// Up to where history is to be given up.
public enum CompactionTarget: Hashable, Sendable {
  /// As the store's own policy says.
  case policy
  /// As another policy says, this once.
  case keeping(Retention)
  /// History before this commit.
  case before(CommitNumber)
  /// All but the newest commit.
  case dropHistory
}

/// How far a compaction has come.
public struct CompactionProgress: Hashable, Sendable {
  /// Bytes of the log gone through.
  public var doneByteCount: UInt64
  /// How many there are to go through.
  public var totalByteCount: UInt64
  /// The segment being looked at or rewritten, by its first commit.
  public var segment: CommitNumber
}

/// Something that keeps history readable which the target would give up.
public struct Holding: Hashable, Sendable, CustomStringConvertible {
  /// What kind of thing holds it.
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
  /// What kind of thing this one is.
  public let kind: Kind
  /// The commit it keeps readable.
  public let commit: CommitNumber
  /// Who it is: a snapshot's maker and age, a tag's name, a policy's words.
  public let description: String
}

/// What a compaction did, or would do.
public struct CompactionReport: Hashable, Sendable {
  /// The oldest commit from which on every one can be read now.
  public var horizon: CommitNumber
  /// Bytes of the log before.
  public var bytesBefore: UInt64
  /// Bytes of the log after; after a dry run an estimate.
  public var bytesAfter: UInt64
  /// How many segments were rewritten.
  public var rewrittenSegments: Int
  /// What keeps more history than was asked for, and the tags kept.
  public var held: [Holding]
  /// Whether nothing was changed.
  public var isDryRun: Bool
}
