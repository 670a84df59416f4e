// A name for a commit.

public import TreeRingLog

/// A name for a commit.
public struct Tag: Hashable, Sendable {
  /// The name.
  public let name: String
  /// The commit that the tag names.
  public let commit: CommitNumber

  public static func == (a: Tag, b: Tag) -> Bool {
    a.commit == b.commit && a.name.isSameName(as: b.name)
  }
  public func hash(into hasher: inout Hasher) {
    name.hashName(into: &hasher)
    hasher.combine(commit)
  }
}
