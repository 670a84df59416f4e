// A position in the log that a checkpoint stores. A later opening reads the log only from there on.

/// The position of one commit, and the values by which a later opening checks that the log still
/// holds that commit there.
package struct LogPosition: Hashable, Sendable {
  /// The segment that holds the commit: the first commit and the generation in its file's name, and
  /// its salt.
  package var segment: CommitNumber
  package var generation: UInt32
  package var salt: UInt64
  /// The offset of the commit's frame in that file; 0, the segment's header, for commit 0.
  package var offset: UInt64
  /// The checksum of the header at `offset`, which the next header refers to.
  package var chain: UInt32
  /// The commit; 0 for the beginning of the log.
  package var commit: CommitNumber
  package var timestamp: Timestamp
  /// The `CommitHeader.checksum` of that commit, which recovery's copies keep. 0 for commit 0.
  package var identity: UInt32

  package init(
    segment: CommitNumber, generation: UInt32, salt: UInt64, offset: UInt64, chain: UInt32,
    commit: CommitNumber, timestamp: Timestamp, identity: UInt32
  ) {
    self.segment = segment
    self.generation = generation
    self.salt = salt
    self.offset = offset
    self.chain = chain
    self.commit = commit
    self.timestamp = timestamp
    self.identity = identity
  }
}

/// The result of checking the position to trust at opening.
package enum LogTrust: Hashable, Sendable {
  /// No position was given.
  case none
  /// The log holds that commit. The opening has read either all of the log or the part after it.
  case accepted
  /// The log does not hold that commit, for the given reason. The opening has read all of it.
  case refused(String)
}
