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
    /// Commits that have been read, the next one last.
    private var pending: [CommitInfo] = []

    init(store: Store, next: CommitNumber) {
      self.store = store
      self.next = next
    }

    /// Returns the next commit as soon as it is visible; nil once the task is cancelled.
    /// - Throws: `beyondHorizon` if the position is older than the oldest readable commit; `closed`
    ///   if the store is closed.
    public mutating func next() async throws -> CommitInfo? {
      if Task.isCancelled { return nil }
      try Self.check(next, in: store)
      if pending.isEmpty {
        guard try await store.waitUntilVisible(next) else { return nil }
        do throws(TreeRingError) {
          pending = try await store.visibleCommits(from: next)
        } catch {
          if error.code == .cancelled { return nil }
          throw error
        }
      }
      // The horizon may have passed the commit before the read, even if a tag keeps the commit's
      // state.
      try Self.check(next, in: store)
      next += 1
      return pending.popLast()
    }

    private static func check(_ next: CommitNumber, in store: Store) throws(TreeRingError) {
      let horizon = store.horizon
      guard next >= horizon else { throw TreeRingError.beyond(horizon, commit: next) }
    }
  }
}

extension Store {
  /// At most 64 of the commits that are visible from one on, the first ones last; those before one
  /// that cannot be read, if that is not the first.
  fileprivate func visibleCommits(
    from first: CommitNumber
  ) async throws(TreeRingError) -> [CommitInfo] {
    try await WorkerPool.stepping.run { [self] _ throws(TreeRingError) in
      let last = max(first, min(newestCommit, first + 63))
      var commits: [CommitInfo] = []
      for number in first...last {
        do throws(TreeRingError) {
          commits.append(try commit(number))
        } catch {
          if commits.isEmpty { throw error }
          break
        }
      }
      return commits.reversed()
    }
  }
}
