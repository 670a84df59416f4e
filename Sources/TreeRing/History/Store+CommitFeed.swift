// The log as an ordered feed. The position of a feed is a commit number, so a feed can resume
// anywhere, even after a restart of the program.

public import TreeRingLog

/// The commits of a store in order, without end.
public struct CommitFeed: AsyncSequence, Sendable {
  /// A commit.
  public typealias Element = CommitInfo
  let store: Store
  let next: CommitNumber

  public func makeAsyncIterator() -> Iterator { Iterator(store: store, next: next) }

  /// A position in the feed.
  public struct Iterator: AsyncIteratorProtocol {
    let store: Store
    /// The number of the next commit.
    public private(set) var next: CommitNumber

    /// Returns the next commit as soon as it is visible; nil once the task is cancelled.
    /// - Throws: `beyondHorizon` if the position is older than the oldest readable commit; `closed`
    ///   if the store is closed.
    public mutating func next() async throws -> CommitInfo? {
      if Task.isCancelled { return nil }
      try checkPosition()
      guard try await store.waitUntilVisible(next) else { return nil }
      let info = try store.commit(next)
      // The horizon may have passed the commit before the read, even if a tag keeps the commit's
      // state.
      try checkPosition()
      next += 1
      return info
    }

    private func checkPosition() throws(TreeRingError) {
      let horizon = store.horizon
      guard next >= horizon else { throw TreeRingError.beyond(horizon, commit: next) }
    }
  }
}
