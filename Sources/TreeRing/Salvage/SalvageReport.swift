// What salvage found, lost and left out.

public import TreeRingLog

/// The outcome of `Store.salvage(from:to:)`.
public struct SalvageReport: Hashable, Sendable {
  /// How many commits were readable and are in the new store.
  public var commitCount: UInt64 = 0
  /// The newest commit of the new store.
  public var lastCommit: CommitNumber = 0
  /// The commits that could not be read. In the new store they have no operations and a note.
  public var lostCommits: [ClosedRange<CommitNumber>] = []
  /// Operations of readable commits that could not be taken over as they were.
  public var findings: [SalvageFinding] = []
  /// The damaged places of the log, also those whose commits were found elsewhere.
  public var damage: [LostPart] = []
  /// Files of the log that were passed over, and why.
  public var ignoredFiles: [String: String] = [:]

  /// True if nothing was lost.
  public var isComplete: Bool { lostCommits.isEmpty && findings.isEmpty }

  package init() {}
}

/// An operation that salvage could not take over as it was.
public struct SalvageFinding: Hashable, Sendable {
  /// The commit it belongs to.
  public var commit: CommitNumber
  /// The index of the operation in its commit.
  public var operation: UInt32
  /// The row it writes, if it writes one.
  public var row: RowID?
  /// Whether it was left out. If not, it was applied, to another version of the row than it was made
  /// for.
  public var wasLeftOut: Bool
  /// What was wrong with it, in words.
  public var problem: String
}
