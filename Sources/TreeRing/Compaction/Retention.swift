// How much history a store keeps, and how long a snapshot may hold it.

internal import TreeRingLog

/// How much history a store keeps. What lies before may be given up by compaction, except at tags.
public struct Retention: Hashable, Sendable, CustomStringConvertible {
  /// The newest commits kept, at least 1; nil if their number keeps nothing.
  public let commits: Int?
  /// How far back from the newest commit's timestamp commits are kept; nil if age keeps nothing.
  public let age: Duration?

  private init(commits: Int?, age: Duration?) {
    self.commits = commits.map { max(1, $0) }
    self.age = age.map { max(.zero, $0) }
  }

  /// All of it. The default.
  public static let everything = Retention(commits: nil, age: nil)

  /// The newest commits, at least one.
  public static func last(commits: Int) -> Retention { Retention(commits: commits, age: nil) }

  /// Every state that was in force in this time, counted back from the newest commit's timestamp:
  /// a store that nobody writes to loses nothing.
  public static func since(_ age: Duration) -> Retention { Retention(commits: nil, age: age) }

  /// The newest commits and those of a time, whichever is more.
  public static func last(commits: Int, orSince age: Duration) -> Retention {
    Retention(commits: commits, age: age)
  }

  /// Whether nothing is ever given up.
  public var keepsEverything: Bool { commits == nil && age == nil }

  public var description: String {
    switch (commits, age) {
    case (nil, nil): "everything"
    case (let commits?, nil): "the last \(commits) commits"
    case (nil, let age?): "the last \(age)"
    case (let commits?, let age?): "the last \(commits) commits or \(age), whichever is more"
    }
  }

  /// The oldest commit this policy keeps.
  ///
  /// - Parameter newestBefore: the last commit not later than a moment; 0 if there is none.
  func horizon(
    newest: CommitNumber, at timestamp: Timestamp,
    newestBefore: (Timestamp) throws(TreeRingError) -> CommitNumber
  ) throws(TreeRingError) -> CommitNumber {
    var horizon: CommitNumber?
    if let commits {
      let count = CommitNumber(commits)
      horizon = newest >= count ? newest - count + 1 : 0
    }
    if let age {
      let (start, overflow) = timestamp.microseconds
        .subtractingReportingOverflow(age.microseconds)
      let kept = overflow ? 0 : try newestBefore(Timestamp(microseconds: start))
      horizon = min(horizon ?? kept, kept)
    }
    return min(horizon ?? 0, newest)
  }
}

/// How long a snapshot may keep its commit readable. Over the limit, compaction no longer waits for
/// it, and its next read throws `snapshotExpired`.
public struct PinLimit: Hashable, Sendable {
  /// How old it may be.
  public var age: Duration?
  /// How many commits it may lie behind the newest.
  public var commits: Int?

  /// A limit of age, of commits behind the newest, or both: reaching one is enough.
  public init(age: Duration? = nil, commits: Int? = nil) {
    self.age = age
    self.commits = commits
  }

  /// Whether a pin has passed it.
  func isPassed(age: Duration, behind: CommitNumber) -> Bool {
    if let limit = self.age, age > limit { return true }
    if let commits, behind > CommitNumber(max(0, commits)) { return true }
    return false
  }
}

extension Duration {
  /// Whole microseconds, cut at what fits.
  var microseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, more) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000)
    return more ? (seconds < 0 ? .min : .max) : sum
  }
}
