// The range of readable commits, pins within it, and the expiry of pins.

internal import TreeRingLog
internal import TreeRingPlatform

extension Store {
  /// The present bounds of the readable commits.
  var bounds: PinRegistry.Bounds {
    // The followed writer may have moved the horizon.
    if options.mode == .readOnly { pinRegistry.open(horizon: log.horizon) }
    return pinRegistry.bounds
  }

  /// Throws `beyondHorizon` unless the state at a commit can be read.
  func checkReadable(_ number: CommitNumber) throws(TreeRingError) {
    let horizon = horizon
    if number == 0 || number >= horizon { return }
    guard try reader(of: queue.visible).isTagged(number) else {
      throw TreeRingError.beyond(horizon, commit: number)
    }
  }

  /// The commits that can be read now.
  func readability() -> TimeTravel.Readability {
    // Read before the tags: tagged commits that are readable at this epoch stay readable.
    let bounds = bounds
    return TimeTravel.Readability(bounds: bounds, reader: reader(of: queue.visible))
  }

  /// A reader of a version, which it keeps alive.
  func reader(of version: Version) -> StateReader {
    StateReader(
      roots: version.roots, catalog: version.catalog, pages: version.pages,
      values: ValueSource(log: log), version: version)
  }

  /// The same for a commit that is pinned in this process. Such a pin does not hold back a followed
  /// writer.
  /// - Throws: `beyondHorizon` if the commit can no longer be read.
  func readability(
    ofPinned number: CommitNumber
  ) throws(TreeRingError) -> TimeTravel.Readability {
    let readable = readability()
    if follower != nil, try !readable.contains(number) {
      throw TreeRingError.beyond(readable.bounds.horizon, commit: number)
    }
    return readable
  }

  /// Registers a pin before its version is looked up: from here on the horizon cannot pass it.
  func pin(
    _ number: CommitNumber, creator: PinCreator
  ) throws(TreeRingError) -> PinLife {
    while true {
      let readable = readability()
      let life = try pinRegistry.add(
        commit: number, isKept: try readable.contains(number), epoch: readable.bounds.epoch,
        creator: creator)
      if let life { return life }
    }
  }

  /// The version of a commit that is pinned or kept. O(operations replayed).
  /// - Throws: `beyondHorizon` if the followed writer has compacted the commit away.
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
      // If the log began to be rewritten during the replay, the base may not have fitted the
      // replayed commits, nor the engine the log. Then an error too may come from that.
      guard try readability(ofPinned: number).bounds.epoch == readable.bounds.epoch else {
        continue
      }
      let found = try outcome.get()
      engine.timeTravel.keep(found)
      return found
    }
  }

  private func version(
    at number: CommitNumber, in engine: Engine, definitions: Catalog,
    readable: TimeTravel.Readability
  ) throws(TreeRingError) -> Version {
    let timeTravel = engine.timeTravel
    var base = try timeTravel.base(
      for: number, among: engine.queue.readable, readable: readable)
    if base?.roots.commit != number {
      let last = base?.roots.commit ?? 0
      let root =
        try engine.checkpointer?.version(atOrBefore: number, after: last)
        ?? follower?.pastRoots?.version(atOrBefore: number, after: last)
      if let root, try readable.isBase(root.roots.commit) { base = root }
    }
    return try timeTravel.version(
      at: number, on: base, definitions: definitions, code: code.withLock { $0 })
  }

  /// Drops the pins that have passed the limit. Their next reads throw. Their pages are freed when
  /// the reads under way have ended.
  func expirePins() {
    guard let limit = options.pinLimit else { return }
    let expired = pinRegistry.expire(limit, newest: newestCommit)
    if expired.isEmpty { return }
    maintenance.later { [reclaimer] in
      for life in expired { life.releaseVersion() }
      reclaimer.drain()
    }
  }
}
