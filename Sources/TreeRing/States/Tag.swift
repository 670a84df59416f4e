// Tags: the names that callers give to commits.

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

extension TreeRingError {
  /// The error for a name that is no tag.
  static func noTag(named name: String) -> TreeRingError {
    TreeRingError(
      .notFound, "There is no tag named \(name). `treering tags` lists those that exist.")
  }
}
