// The report of an opening of the log.

/// The findings and changes of an opening.
package struct RecoveryReport: Hashable, Sendable {
  /// True if the log ended in a mark or a directory: it was closed or sealed.
  package var wasClosedCleanly = false
  /// The bytes dropped from a torn tail, with their file and offset.
  package var droppedByteCount: UInt64 = 0
  package var droppedFile: String?
  package var droppedOffset: UInt64?
  /// The number of commits copied to a new segment because no later sync vouches for them.
  package var copiedCommitCount: UInt64 = 0
  /// The paths of segments removed because a newer generation holds their commits.
  package var removedFiles: [String] = []
  /// In mode `prefix`: segments set aside because they lie at or after the first flaw.
  package var ignoredFiles: [String] = []
  /// In mode `prefix`: the flaw at which the log was cut.
  package var flaw: TreeRingError?
  /// One sentence for each finding above, in order.
  package var notes: [String] = []
}
