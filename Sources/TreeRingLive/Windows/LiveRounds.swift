// The newest round, shared by all sessions of a store that advance at the same time.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings
internal import TreeRingPlatform

/// The source of rounds. It holds none itself: the snapshot of a round is pinned only while
/// somebody advances to it.
final class LiveRounds: Sendable {
  private struct Current {
    weak var round: ChangeRound?
  }

  let store: Store
  private let current = Mutex(Current())

  init(_ store: Store) { self.store = store }

  /// A round that leads to the newest commit.
  func newest() throws(TreeRingError) -> ChangeRound {
    let newest = store.newestCommit
    if let round = current.withLock({ $0.round }), round.snapshot.commit >= newest { return round }
    let round = ChangeRound(try store.snapshot())
    current.withLock { $0.round = round }
    return round
  }
}
