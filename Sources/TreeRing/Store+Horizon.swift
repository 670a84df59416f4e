// What can still be read: which commits, and for how long a snapshot holds one.

internal import Synchronization
internal import TreeRingLog

extension Store {
  /// What bounds the readable commits now.
  var bounds: PinRegistry.Bounds {
    // The writer that is followed may have moved the horizon.
    if options.mode == .readOnly { pinRegistry.open(horizon: log.horizon) }
    return pinRegistry.bounds
  }

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
    let bounds = bounds
    let tags = bounds.horizon > 0 ? try tagged(below: bounds.horizon).map(\.commit) : []
    return TimeTravel.Readability(
      epoch: bounds.epoch, points: KeptPoints(horizon: bounds.horizon, tags: tags),
      barrier: bounds.barrier)
  }

  /// The same for a reader of one commit that is pinned here, which does not hold back the writer that is
  /// followed.
  /// - Throws: `beyondHorizon` if the commit cannot be read any more.
  private func readability(
    ofPinned number: CommitNumber
  ) throws(TreeRingError) -> TimeTravel.Readability {
    let readable = try readability()
    if follower != nil, !readable.points.contains(number) {
      throw TreeRingError.beyond(readable.points.horizon, commit: number)
    }
    return readable
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

  /// The version of a commit that is pinned or kept. O(operations replayed).
  /// - Throws: `beyondHorizon` if the writer that is followed has compacted it away meanwhile.
  func version(
    at number: CommitNumber, definitions: Catalog
  ) throws(TreeRingError) -> Version {
    while true {
      let readable = try readability(ofPinned: number)
      let engine = engine
      if let pinned = pinRegistry.version(of: number), pinned.pages === engine.pages {
        return pinned
      }
      let outcome = Result { () throws(TreeRingError) in
        try version(at: number, in: engine, definitions: definitions, readable: readable)
      }
      // If the log began to be rewritten meanwhile, the base may not have fitted what was replayed, nor
      // the engine the log, and an error may be due to that.
      guard try readability(ofPinned: number).epoch == readable.epoch else { continue }
      let found = try outcome.get()
      engine.timeTravel.remember(found)
      return found
    }
  }

  private func version(
    at number: CommitNumber, in engine: Engine, definitions: Catalog,
    readable: TimeTravel.Readability
  ) throws(TreeRingError) -> Version {
    var candidates = engine.queue.readable
    if !candidates.contains(where: { $0.roots.commit == number }),
      let root = try engine.checkpointer?.version(atOrBefore: number)
    {
      candidates.append(root)
    }
    return try engine.timeTravel.version(
      at: number, candidates: candidates, definitions: definitions, code: code.withLock { $0 },
      readable: readable)
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
