// Points in history: a commit number, a date, or a tag.

public import TreeRingLog
public import TreeRingPlatform

/// A point in history to read at.
public enum ReadPoint: Hashable, Sendable {
  /// The commit of that number; 0 is the empty store before the first commit.
  case commit(CommitNumber)
  /// The last commit not later than that date.
  case date(Timestamp)
  /// The commit that the tag names.
  case tag(String)
}

extension ReadPoint {
  /// The last commit not later than a date.
  public static func date(_ date: Date) -> ReadPoint { .date(Timestamp(date)) }
}
