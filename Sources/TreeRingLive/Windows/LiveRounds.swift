// The newest round, shared by all sessions of a store that advance at the same time.

internal import TreeRing
public import TreeRingLog
internal import TreeRingMappings
internal import TreeRingPlatform

/// A state that sessions advance to together. Hold it while they do, and release it then: it pins
/// the state.
public struct LiveRound: Sendable {
  /// The commit of the state.
  public let commit: CommitNumber
  let round: SharedRound
}

/// The source of rounds. It holds none itself: the snapshot of a round is pinned only while
/// somebody advances to it.
final class LiveRounds: Sendable {
  private struct Current {
    weak var round: SharedRound?
  }

  let store: Store
  private let current = Mutex(Current())

  init(_ store: Store) { self.store = store }

  /// A round that leads to the newest commit, or to a recent one while somebody holds that round.
  ///
  /// - Parameter commit: The commit that the round must not lie before.
  func newest(notBefore commit: CommitNumber = 0) throws(TreeRingError) -> SharedRound {
    // A held round is used although there may be newer commits. Otherwise every commit would begin
    // another, and nothing would be shared. The holder makes the next round soon.
    if let held = current.withLock({ $0.round }), held.round.snapshot.commit >= commit {
      return held
    }
    return try next()
  }

  /// A new round that leads to the newest commit.
  func next() throws(TreeRingError) -> SharedRound {
    let round = SharedRound(ChangeRound(try store.snapshot()))
    return current.withLock { current in
      // Another thread may have made a later one meanwhile.
      let commit = round.round.snapshot.commit
      if let held = current.round, held.round.snapshot.commit > commit { return held }
      current = Current(round: round)
      return round
    }
  }
}
