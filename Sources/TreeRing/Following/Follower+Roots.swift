// Moving over: a follower replaces the root that its visible version was built on.
//
// The private pages grow in number, and the root that the follower was built on keeps pages in the
// writer's file. So from time to time the follower *moves over* to a newer checkpoint. It registers
// the new root, replays the later commits of the log, and replaces the visible version by the
// result: the same state in other pages. It releases the old root when no version needs it any
// more. A follower of the log alone does the same once there is a checkpoint.
//
// When the writer has rebuilt the page file, the follower first replays the whole log into private
// pages. It moves over to the new file when no version needs the old one any more, because the two
// files use the same page numbers.
//
// Compaction may have dropped commits that the follower had not read, or a row in its visible state
// may have been erased. Then it moves over in the same way, or replays the whole log, and does not
// show the commits in between.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

extension Follower {
  /// The slow checks, twice a second, of what seldom changes: the LOCK file, the log's segments,
  /// the page file.
  func checkFiles(_ state: inout State) throws(TreeRingError) {
    // The LOCK file may have been created or replaced.
    if let word = try SharedWord.opened(lockPath, fileSystem),
      state.word == nil || word.value != state.word?.value
    {
      state.word = word
    }
    state.formerRoots.removeAll { root in
      guard root.use == nil else { return false }
      root.pin.release()
      return true
    }
    engine.timeTravel.evict(unusedFor: Self.pastStateTime)
    pastRoots?.releaseUnused()
    let generations = log.segments.map(\.generation)
    if generations != state.generations {
      // Recent states must not show operations that have been removed from the log.
      state.generations = generations
      evictPastStates()
    }
    if state.root != nil, try checkpoints?.isReplaced() == true { try leaveFile(&state) }
    // The pin on an old root, or on the log alone, holds history. So move over as soon as there is
    // a newer root.
    try moveOverIfDue(&state, after: 1)
  }

  /// The time for which an earlier state is kept that nobody uses: its root holds back the writer's
  /// horizon, and keeps pages in its file.
  private static let pastStateTime = Duration.seconds(10)

  /// Moves over if there is a newer checkpoint and `count` operations have been replayed, on top of
  /// the root or without one.
  func moveOverIfDue(
    _ state: inout State, after count: UInt64
  ) throws(TreeRingError) {
    let newest = engine.queue.visible.roots
    let begun = state.root?.roots.operationCount ?? 0
    guard newest.operationCount - min(begun, newest.operationCount) >= count else { return }
    try moveOver(&state, because: newest)
  }

  /// Evicts the states before the visible one that only this process keeps, except those of
  /// snapshots.
  private func evictPastStates() {
    engine.timeTravel.evictAll()
    engine.reclaimer.drain { engine.queue.evictRecentVersions() }
  }

  /// Replaces the visible version by one that is built on the newest checkpoint.
  /// - Parameter visible: The visible roots; nil if the log can no longer be replayed on top of
  ///   them. Then the checkpoint must be of a later commit, and without one a follower of the log
  ///   alone replays all of it.
  func moveOver(
    _ state: inout State, because visible: Roots?
  ) throws(TreeRingError) {
    let queue = engine.queue
    let old = queue.visible
    let shown = old.roots.commit
    let begun = state.root?.roots.commit ?? 0
    guard let root = try newestRoot(after: visible == nil ? shown : begun, state) else {
      if visible != nil { return }
      if state.root == nil {
        return try replayWholeLog(through: log.completed, bornAfter: 0, show: jump(to:))
      }
      throw TreeRingError(
        .beyondHorizon,
        "Compaction has rewritten the log up to commit \(log.horizon), but this process has read "
          + "it up to \(shown) only. Open the store again.", commit: shown + 1, current: log.horizon
      )
    }
    guard visible == nil || root.roots.commit <= shown else { return }
    engine.pages.adopt(bound: root.bound, free: BitSet())
    let base = try replayer.version(of: root.roots)
    let new = try replay(on: base, through: max(shown, root.roots.commit))
    let own = try replayer.ownPages(of: old, bornAfter: begun)
    if visible == nil {
      jump(to: new)
    } else {
      engine.reclaimer.drain { queue.replaceVisible(by: new) }
    }
    engine.pins.retire(own, at: StateID(new.roots.commit + 1))
    if let pin = state.root?.pin ?? state.pin {
      state.formerRoots.append(FormerRoot(pin: pin, use: old.use))
    }
    (state.root, state.pin) = (root, nil)
    pastRoots?.open()
    logger.debug("Moved over to the checkpoint of commit \(root.roots.commit).")
  }

  /// The page file's newest root; nil if it is not of a later commit than `commit`, or not of this
  /// log. A follower of the log alone ignores every failure of the page file.
  private func newestRoot(
    after commit: CommitNumber, _ state: State
  ) throws(TreeRingError) -> CheckpointReader.Root? {
    // A version may still need the old file; until it does not, no other one can be opened.
    let isFileFree = state.formerRoots.isEmpty && pastRoots?.isInUse != true
    guard let checkpoints, state.root != nil || isFileFree else { return nil }
    let found: CheckpointReader.Root?
    do throws(TreeRingError) {
      found =
        try state.root == nil
        ? checkpoints.firstRoot(after: commit) : checkpoints.newestRoot(after: commit)
    } catch {
      if state.root != nil { throw error }
      logger.debug(
        "The page file cannot be read; the follower continues with the log alone: \(error)")
      return nil
    }
    guard let root = found else { return nil }
    if try root.meta.fits(log) { return root }
    // Compaction may have rewritten the checkpoint's commit since the segments were listed.
    try log.refresh()
    return try root.meta.fits(log) ? root : nil
  }

  /// Makes a version visible that does not follow from the one before, and evicts the earlier
  /// states.
  private func jump(to version: Version) {
    let queue = engine.queue
    queue.append(
      SequencedCommit(
        version: version, retired: [], allocated: [], changes: nil))
    engine.reclaimer.drain { queue.publish(through: version.roots.commit) }
    evictPastStates()
  }

  private func replay(
    on base: Version, through commit: CommitNumber
  ) throws(TreeRingError) -> Version {
    try replayer.version(on: base, through: commit) { isClosing.load(ordering: .acquiring) }
  }

  /// Moves over from a page file that the writer has replaced to the log alone.
  private func leaveFile(_ state: inout State) throws(TreeRingError) {
    guard let root = state.root else { return }
    pastRoots?.close()
    let visible = engine.queue.visible
    let pin = try checkpoints?.register(visible.roots.commit)
    if log.horizon > visible.roots.commit {
      try replayWholeLog(through: log.completed, bornAfter: root.roots.commit, show: jump(to:))
    } else {
      try replayWholeLog(through: visible.roots.commit, bornAfter: root.roots.commit) { new in
        engine.reclaimer.drain { engine.queue.replaceVisible(by: new) }
        evictPastStates()
      }
    }
    state.formerRoots.append(FormerRoot(pin: root.pin, use: visible.use))
    (state.root, state.pin) = (nil, pin)
  }

  /// Replays the whole log through a commit, and passes the result to `show`, which makes it
  /// visible. The old version's pages born after `begun` are this process's own.
  private func replayWholeLog(
    through commit: CommitNumber, bornAfter begun: CommitNumber, show: (Version) -> Void
  ) throws(TreeRingError) {
    let old = engine.queue.visible
    let new = try replay(on: try replayer.version(of: Roots()), through: commit)
    let own = try replayer.ownPages(of: old, bornAfter: begun)
    show(new)
    engine.pins.retire(own, at: StateID(new.roots.commit + 1))
    logger.debug("Replayed the whole log through commit \(new.roots.commit).")
  }
}
