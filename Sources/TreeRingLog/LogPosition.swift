// A place in the log that can be kept elsewhere and believed later: a checkpoint stores the position
// of its commit, and opening then reads the log from there on only.

/// The place behind one commit, with what proves at a later opening that the log still holds that
/// commit there.
package struct LogPosition: Hashable, Sendable {
  /// The segment that holds the commit: the first commit and the generation in its file's name, and
  /// its salt.
  package var segment: CommitNumber
  package var generation: UInt32
  package var salt: UInt64
  /// Where the commit's frame begins in that file; 0, the segment's header, for commit 0.
  package var offset: UInt64
  /// The checksum of the header at `offset`, which the next header refers to.
  package var chain: UInt32
  /// The commit; 0 for the beginning of the log.
  package var commit: CommitNumber
  package var timestamp: Timestamp
  /// `CommitHeader.checksum` of that commit: stays when recovery copies it elsewhere. 0 for commit 0.
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

/// What opening made of the position it was to trust.
package enum LogTrust: Hashable, Sendable {
  /// There was none.
  case none
  /// The log holds that commit; only what follows it has been read, or all of it was.
  case accepted
  /// The log holds another commit of that number, for the reason given; all of it was read.
  case refused(String)
}
