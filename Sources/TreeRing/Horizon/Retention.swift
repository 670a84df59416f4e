// The retention policy: the amount of history that a store keeps.

internal import TreeRingLog

/// The amount of history that a store keeps. Compaction may drop the history before it, except at
/// tags.
///
/// Automatic compaction works on sealed segments of the log, when one is sealed: after 64 MiB, or
/// the store's `segmentSize`. The history of an unsealed segment stays until then, or until
/// `compact` is called.
public struct Retention: Hashable, Sendable, CustomStringConvertible {
  /// The number of newest commits kept, at least 1; nil if the policy has no such rule.
  public let commits: Int?
  /// The span for which commits are kept, counted back from the newest commit that is not dated
  /// ahead of the clock; nil if the policy has no such rule.
  public let age: Duration?

  private init(commits: Int?, age: Duration?) {
    self.commits = commits.map { max(1, $0) }
    self.age = age.map { max(.zero, $0) }
  }

  /// All history. The default.
  public static let everything = Retention(commits: nil, age: nil)

  /// The newest commits, at least one.
  public static func last(commits: Int) -> Retention { Retention(commits: commits, age: nil) }

  /// Every state that was in force during that time.
  ///
  /// The time is counted back from the newest commit that is not dated ahead of the clock. So a
  /// store without writes loses nothing, and commits dated ahead are kept. The time between one
  /// commit and the next counts as a tenth of the age at most, so that a jump of the clock drops
  /// nothing. A store whose pauses are often longer therefore keeps more.
  public static func since(_ age: Duration) -> Retention { Retention(commits: nil, age: age) }

  /// The newest commits and those of a time, whichever is more.
  public static func last(commits: Int, orSince age: Duration) -> Retention {
    Retention(commits: commits, age: age)
  }

  /// Whether no history is ever dropped.
  public var keepsEverything: Bool { commits == nil && age == nil }

  public var description: String {
    switch (commits, age) {
    case (nil, nil): "everything"
    case (let commits?, nil): "the last \(commits) commits"
    case (nil, let age?): "the last \(age)"
    case (let commits?, let age?): "the last \(commits) commits or \(age), whichever is more"
    }
  }

  /// The oldest commit that this policy keeps.
  ///
  /// - Parameters:
  ///   - newest: The newest commit.
  ///   - oldest: The horizon in force. A result below it has no effect.
  ///   - clock: The time of the clock.
  ///   - dates: The dates of the commits.
  func horizon(
    newest: CommitNumber, oldest: CommitNumber, clock: Timestamp, dates: some CommitDates
  ) throws(TreeRingError) -> CommitNumber {
    var horizon: CommitNumber?
    if let commits {
      let count = CommitNumber(commits)
      horizon = newest >= count ? newest - count + 1 : 0
    }
    if let age {
      let start = min(newest, try dates.newest(atOrBefore: clock))
      let kept = try dates.commit(age.microseconds, before: start, oldest: oldest)
      horizon = min(horizon ?? kept, kept)
    }
    return min(horizon ?? 0, newest)
  }
}

/// The dates of commits.
protocol CommitDates {
  /// The last commit not later than a moment; 0 if there is none.
  func newest(atOrBefore moment: Timestamp) throws(TreeRingError) -> CommitNumber
  /// The date of a commit at or after the horizon.
  func date(of commit: CommitNumber) throws(TreeRingError) -> Timestamp
}

extension CommitLog: CommitDates {
  func date(of commit: CommitNumber) throws(TreeRingError) -> Timestamp {
    try header(of: commit).timestamp
  }
}

extension CommitDates {
  /// The last commit not later than an age before another commit, where the time between one commit
  /// and the next counts as a tenth of the age at most.
  ///
  /// A longer pause may be a clock that jumped. The commits before the pause are dropped only when
  /// as much time has passed in shorter steps since. So a jump shortens the kept time by a tenth of
  /// the age at most. O(log commits), in at most eleven steps.
  fileprivate func commit(
    _ age: Int64, before last: CommitNumber, oldest: CommitNumber
  ) throws(TreeRingError) -> CommitNumber {
    let step = max(1, age / 10)
    var (commit, left) = (last, age)
    while commit > oldest {
      let date = try date(of: commit)
      // A pause within the last step is no longer than a step, so it counts in full.
      let isLast = left <= step
      let before = try newest(atOrBefore: date.earlier(by: isLast ? left : step))
      if isLast || before <= oldest { return before }
      let next = try self.date(of: before + 1).microseconds
      let pause = next.subtractingReportingOverflow(try self.date(of: before).microseconds)
      let passed =
        date.microseconds - next + (pause.overflow ? step : min(pause.partialValue, step))
      if passed >= left { return before }
      (commit, left) = (before, left - passed)
    }
    return commit
  }
}

extension Timestamp {
  /// The moment that many microseconds earlier, or the first possible one.
  fileprivate func earlier(by microseconds: Int64) -> Timestamp {
    let (moment, overflow) = self.microseconds.subtractingReportingOverflow(microseconds)
    return Timestamp(microseconds: overflow ? .min : moment)
  }
}

extension Duration {
  /// Whole microseconds, clamped to the range of the type.
  var microseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000_000)
  }
}
