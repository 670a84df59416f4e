// The sharing of a batch with other replicas, before its write.

extension GroupCommit {
  /// The time after which commits that are durable in the shared log are synced here too. Other
  /// processes on this machine read only what is.
  static let sharedSyncDelay = Duration.milliseconds(10)

  /// Shares a batch, unless it came from the shared log.
  /// - Returns: the failure, if there is one; then the batch must not be written.
  func share(_ batch: Batch) -> Outcome? {
    guard let sharing = options.sharing, let first = batch.frames.first,
      let last = batch.frames.last, batch.frames.contains(where: { !$0.isAdopted })
    else { return nil }
    do throws(TreeRingError) {
      try sharing.share(batch.buffer.bytes, of: first.number...last.number)
      return nil
    } catch {
      return error.code == .notLeader || error.code == .unavailable
        ? .undone(error) : .failed(error)
    }
  }
}
