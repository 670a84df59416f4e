// What can still be read: which commits, and for how long a snapshot holds one.

internal import Synchronization
internal import TreeRingLog

extension Store {
  /// Throws `beyondHorizon` unless the state at a commit can be read.
  func checkReadable(_ number: CommitNumber) throws(TreeRingError) {
    let horizon = horizon
    if number == 0 || number >= horizon { return }
    guard try tagged(below: horizon).contains(where: { $0.commit == number }) else {
      throw TreeRingError.beyond(horizon, commit: number)
    }
  }

  /// What can be read now.
  func readability() throws(TreeRingError) -> TimeTravel.Readability {
    let horizon = horizon
    let epoch = pinRegistry.epoch
    let tags = horizon > 0 ? try tagged(below: horizon).map(\.commit) : []
    return TimeTravel.Readability(
      epoch: epoch, points: KeptPoints(horizon: horizon, tags: tags))
  }

  /// Registers a pin, before its version is looked for: from here on the horizon cannot pass it.
  func pin(
    _ number: CommitNumber, creator: PinCreator
  ) throws(TreeRingError) -> PinRegistry.Registration {
    while true {
      let readable = try readability()
      let registration = try pinRegistry.add(
        commit: number, isKept: readable.points.contains(number), epoch: readable.epoch,
        creator: creator)
      if let registration { return registration }
    }
  }

  /// The version of a commit that is pinned or kept.
  func version(
    at number: CommitNumber, definitions: Catalog
  ) throws(TreeRingError) -> Version {
    let engine = engine
    if let pinned = pinRegistry.version(of: number), pinned.pages === engine.pages {
      return pinned
    }
    var candidates = engine.queue.readable
    if !candidates.contains(where: { $0.roots.commit == number }),
      let root = try engine.checkpointer?.version(atOrBefore: number)
    {
      candidates.append(root)
    }
    return try engine.timeTravel.version(
      at: number, candidates: candidates, definitions: definitions, code: code.withLock { $0 },
      readability: { () throws(TreeRingError) in try readability() })
  }

  /// Drops the pins that are over the limit. Their next reads throw; their pages are given back when
  /// the reads going on have ended.
  func expirePins() {
    guard let limit = options.pinLimit else { return }
    let expired = pinRegistry.expire(limit, newest: newestCommit)
    if expired.isEmpty { return }
    maintenance.later { [reclaimer] in
      for life in expired { life.letGo() }
      reclaimer.drain()
    }
  }
}
