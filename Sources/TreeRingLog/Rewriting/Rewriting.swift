// The treatment of one commit in a rewriting, and the description of a segment.

/// The treatment of one commit when its segment is rewritten.
package enum Rewriting: Sendable {
  /// Keeps the commit, byte for byte.
  case keep
  /// Removes the commit; reading it then throws `beyondHorizon`. Allowed only below the horizon.
  case drop
  /// Replaces the payload and keeps only these logged values, in their stored form. Number,
  /// timestamp and operation count stay; the commit's `CommitHeader.checksum` changes.
  case replace(payload: [UInt8], keptValues: [(operation: UInt32, part: ValuePart)])
}

/// One segment of a log.
package struct SegmentInfo: Hashable, Sendable {
  package var firstCommit: CommitNumber
  /// The last commit it covers, present or removed by compaction; `firstCommit - 1` if there is
  /// none.
  package var lastCommit: CommitNumber
  package var generation: UInt32
  /// The horizon for which it was compacted; 0 if it was not compacted.
  package var horizon: CommitNumber
  /// The bytes up to the end of its last frame.
  package var byteCount: UInt64
  package var path: String
  /// True if the segment is no longer written.
  package var isSealed: Bool
}
