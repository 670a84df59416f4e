// The report of a salvage: the commits found, lost and left out.

public import TreeRingLog

/// The outcome of `Store.salvage(from:to:)`.
public struct SalvageReport: Hashable, Sendable {
  /// The number of commits that were readable and are in the new store.
  public var commitCount: UInt64 = 0
  /// The newest commit of the new store.
  public var lastCommit: CommitNumber = 0
  /// The commits that the log is known to have held and that could not be read, in order. In the
  /// new store they have no operations and a note, or lie before its horizon, or after its last
  /// commit.
  public var lostCommits: [ClosedRange<CommitNumber>] = []
  /// The reasons why more may be missing than `lostCommits` states: the end of a log that was not
  /// closed, or whose end is damaged, is not known.
  public var doubts: [LogDoubt] = []
  /// The operations of readable commits that could not be copied as they were.
  public var findings: [SalvageFinding] = []
  /// The damaged parts of the log, including those whose commits were found elsewhere.
  public var damage: [DamagedRange] = []
  /// The files of the log that were skipped, and why.
  public var ignoredFiles: [String: String] = [:]

  /// The oldest commit at which the new store can be read; 0 if all can.
  public var horizon: CommitNumber = 0

  /// True if nothing was lost, and that is certain.
  public var isComplete: Bool { lostCommits.isEmpty && doubts.isEmpty && findings.isEmpty }

  /// The number of commits known to be lost.
  public var lostCommitCount: UInt64 {
    lostCommits.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) }
  }

  package init() {}
}

/// An operation that salvage could not copy as it was.
public struct SalvageFinding: Hashable, Sendable {
  /// The commit of the operation.
  public var commit: CommitNumber
  /// The index of the operation in its commit.
  public var operation: UInt32
  /// The row that the operation writes, if it writes one row.
  public var row: RowID?
  /// Whether the operation was left out. If not, it was applied to another version of the row than
  /// at first.
  public var wasLeftOut: Bool
  /// A description of the problem, for people.
  public var problem: String
}
