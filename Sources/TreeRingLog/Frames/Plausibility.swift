// The ranges of commit numbers that a store can have written. Numbers outside are damage, even with
// correct checksums. Within them no arithmetic overflows.

extension SegmentHeader {
  /// The largest commit number that a store accepts: pages have no room for more (docs/pages.md).
  static let largestCommit: CommitNumber = (1 << 47) - 1

  /// True if a store can have written a segment with these numbers.
  var isPlausible: Bool {
    guard firstCommit > 0, firstCommit <= Self.largestCommit, horizon <= Self.largestCommit else {
      return false
    }
    return isCompacted
      ? lastCommit >= firstCommit && lastCommit <= Self.largestCommit : horizon == 0
  }
}

extension LogPosition {
  /// True if a store can have a commit of this number.
  package var isPlausible: Bool { max(commit, segment) <= SegmentHeader.largestCommit }
}
