// Numbers that a store can have written. Others are damage, however well their checksums fit; no
// arithmetic on credible numbers overflows.

extension SegmentHeader {
  /// The largest commit number that a store accepts: pages have no room for more (docs/pages.md).
  static let largestCommit: CommitNumber = (1 << 47) - 1

  /// True if a store can have written a segment with these numbers.
  var isCredible: Bool {
    guard firstCommit > 0, firstCommit <= Self.largestCommit, horizon <= Self.largestCommit else {
      return false
    }
    return isCompacted
      ? lastCommit >= firstCommit && lastCommit <= Self.largestCommit : horizon == 0
  }
}

extension LogPosition {
  /// True if a store can have a commit of this number.
  package var isCredible: Bool { max(commit, segment) <= SegmentHeader.largestCommit }
}
