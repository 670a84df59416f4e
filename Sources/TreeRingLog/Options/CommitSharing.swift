// The place of a log that several replicas share within group commit: a batch of commits becomes
// part of that log first, and of this machine's log afterwards. The shared log makes commits
// durable, so this machine's log is synced only for checkpoints and at its end.

/// Shares the commits of a store with its other replicas.
package protocol CommitSharing: AnyObject, Sendable {
  /// Throws `notLeader` if another replica writes the store.
  func checkLeading() throws(TreeRingError)

  /// Returns once the frames are durable in the shared log. Called by one thread at a time, in the
  /// order of commits.
  /// - Throws: `notLeader`, `unavailable` if none of them is in the shared log or ever will be.
  ///   After any other error they may be.
  func share(
    _ frames: UnsafeRawBufferPointer, of commits: ClosedRange<CommitNumber>
  ) throws(TreeRingError)
}
