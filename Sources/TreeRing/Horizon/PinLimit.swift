// The limit on the history that snapshots may hold.

internal import TreeRingLog

/// A limit on how long a snapshot may keep its commit readable. Compaction no longer waits for a
/// snapshot over the limit, and the snapshot's next read throws `snapshotExpired`.
public struct PinLimit: Hashable, Sendable {
  /// The maximum age of a snapshot; nil for no limit.
  public var age: Duration?
  /// The maximum number of commits by which a snapshot may be behind the newest one; nil for no
  /// limit.
  public var commits: Int?

  /// Creates a limit of age, of commits behind the newest, or of both. A snapshot has passed it
  /// once it has passed either.
  public init(age: Duration? = nil, commits: Int? = nil) {
    self.age = age
    self.commits = commits
  }

  /// Whether a pin has passed the limit.
  func isPassed(age: Duration, behind: CommitNumber) -> Bool {
    if let limit = self.age, age > limit { return true }
    if let commits, behind > CommitNumber(max(0, commits)) { return true }
    return false
  }
}
