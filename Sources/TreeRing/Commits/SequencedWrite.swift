// The outcome of a write's closure, before its commit is complete.

public import TreeRingLog

/// A commit that has its position in the log but is not complete yet; or the earlier commit that
/// the write reports in its place.
package struct SequencedWrite {
  package var commit: CommitNumber
  /// The date of the new commit; nil if the write made none.
  var date: CommitDate?
  /// The ticket that completes the commit.
  package var ticket: CommitTicket
  /// The number of pages that the commit has allocated.
  var pageCount = 0
}

/// An error that reports the newest state, and the ticket that completes the commit that was then
/// the newest.
struct RefusedWrite: Error {
  var error: TreeRingError
  var ticket: CommitTicket
}

extension TreeRingError {
  @usableFromInline
  static var closedBeforeWrite: TreeRingError {
    TreeRingError(
      .closed, "The store was closed before the write ran. Open it again, and repeat the write.")
  }
}
