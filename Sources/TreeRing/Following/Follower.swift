// Keeps a store that is open for reading in step with the process that writes it.
//
// The follower's thread polls the writer's shared word (FollowerPace.swift). When the writer has
// published more, the follower reads on in the log and replays each commit into private pages. All
// of them become visible through the commit queue, in order, with their change records. So
// snapshots, waiting, feeds and observers work as they do in the writer's process.
//
// Private pages grow, and the root that the follower began with keeps pages in the writer's file.
// So after a while the follower moves over to a newer checkpoint. It registers the new root,
// replays the later commits of the log, and replaces the visible version by the result, which is
// the same state in other pages. It releases the old root when nothing reads it any more. A
// follower that began with the log alone, because there was no checkpoint yet, does the same once
// there is one.
//
// When the page file has been rebuilt, the follower leaves the old file for the log alone. It moves
// over to the new file when nothing reads the old one any more, because both number their pages
// alike.
//
// If compaction has passed the follower, or a row in its visible state was erased, it moves over in
// the same way, or begins again with the log's start. It never shows the commits between.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// Follows one store. Any thread may call it; it works on a thread of its own.
final class Follower: Sendable {
  private let lockPath: String
  private let fileSystem: any FileSystem
  private let engine: Engine
  private let log: CommitLog
  private let replayer: PrivateReplay
  private let logger: Logger
  private let checkpoints: CheckpointReader?

  private struct State: Sendable {
    var word: SharedWord?
    /// The value of the word that has been processed completely.
    var said: SharedWord.Value?
    /// The root below the visible version.
    var root: CheckpointReader.Root?
    /// Without a root: registers the first visible commit, so that the log is kept from there on.
    var pin: ReaderPin?
    /// The roots and pins left behind that some version may still need.
    var left: [Left] = []
    var pollCount = 0
    var failureCount = 0
    /// The generations of the log's segments; they show that a segment has been rewritten.
    var generations: [UInt32] = []
    var isClosed = false
  }
  /// A root that the follower has left, or the log alone.
  private struct Left: Sendable {
    var pin: ReaderPin
    /// Gone when no version needs it any more.
    weak let use: RootUse?
  }

  /// Held by the thread while it works.
  private let state: Mutex<State>
  private let failed = Mutex<TreeRingError?>(nil)
  /// Ends a long replay when the store is closed.
  private let isClosing = Atomic<Bool>(false)
  private let pace: FollowerPace

  /// Operations replayed on top of a root before the follower looks for a newer one.
  static let operationInterval: UInt64 = 5_000
  /// Polls between two checks of what seldom changes, when a test polls.
  private static let rareInterval = 500
  /// Consecutive failures that are tolerated. Data that a writer is changing may look damaged for a
  /// moment, and after a compaction it takes a while until there is a checkpoint to move over to.
  private static func failureLimit(_ error: TreeRingError) -> Int {
    error.code == .beyondHorizon ? 30_000 : 200
  }

  init(
    lockPath: String, fileSystem: any FileSystem, engine: Engine, log: CommitLog,
    replayer: PrivateReplay, logger: Logger, checkpoints: CheckpointReader?,
    root: CheckpointReader.Root?, pin: ReaderPin?, word: SharedWord?, said: SharedWord.Value?
  ) {
    self.lockPath = lockPath
    self.fileSystem = fileSystem
    self.engine = engine
    self.log = log
    self.replayer = replayer
    self.logger = logger
    self.checkpoints = checkpoints
    pace = FollowerPace { fileSystem.watch(lockPath) }
    state = Mutex(State(word: word, said: said ?? word?.value, root: root, pin: pin))
  }

  /// Starts following.
  /// - Throws: `io` if no thread can be started.
  func start() throws(TreeRingError) {
    let pace = pace
    try WorkerThread.start { [weak self] in
      repeat { pace.wait() } while self?.step() == true
    }
  }

  /// Polls once; returns false if there is nothing more to follow.
  private func step() -> Bool {
    if isClosing.load(ordering: .acquiring) || hasStopped { return false }
    pace.note(look(isRare: pace.isRareDue()))
    return true
  }

  /// Throws the error that ended the following, if there is one.
  func check() throws(TreeRingError) {
    if let error = failed.withLock({ $0 }) { throw error }
  }

  /// The commit of the root below the visible version; nil without one.
  var rootCommit: CommitNumber? { state.withLock { $0.root?.roots.commit } }

  /// The names of the files by which it holds roots.
  var readerNames: Set<String> {
    state.withLock { state in
      let pins = state.left.map(\.pin) + [state.root?.pin, state.pin].compactMap { $0 }
      return Set(pins.map(\.name))
    }
  }

  /// The contents of the writer's page file; nil if there is none.
  func pageFileReport(at operationCount: UInt64) throws(TreeRingError) -> Checkpointer.Report? {
    try checkpoints?.report(at: operationCount)
  }

  /// Whether an error has ended the following.
  var hasStopped: Bool { failed.withLock { $0 != nil } }

  /// Stops following and releases the page file's roots.
  func close() {
    isClosing.store(true, ordering: .releasing)
    pace.end()
    state.withLock { state in
      state.isClosed = true
      state.root?.pin.release()
      state.pin?.release()
      for left in state.left { left.pin.release() }
      state.left = []
    }
  }

  /// Sleeps for a millisecond.
  static func nap() { usleep(1_000) }

  // MARK: The thread

  /// Polls once, as the thread does. For tests, on any thread.
  func poll() {
    _ = look(isRare: state.withLock { $0.pollCount + 1 } % Self.rareInterval == 0)
  }

  /// - Parameter isRare: Whether to check what seldom changes, too.
  private func look(isRare: Bool) -> FollowerPace.Outcome {
    state.withLock { state in
      if state.isClosed || failed.withLock({ $0 != nil }) { return .nothing }
      state.pollCount += 1
      let before = state.said
      do throws(TreeRingError) {
        if isRare { try lookAround(&state) }
        let isDone = try follow(&state)
        state.failureCount = 0
        if !isDone { return .unfinished }
        return state.said == before ? .nothing : .news
      } catch {
        note(error, &state)
        return .unfinished
      }
    }
  }

  private func note(_ error: TreeRingError, _ state: inout State) {
    state.failureCount += 1
    let isFinal = error.code == .storeRewound || error.code == .closed
    guard isFinal || state.failureCount >= Self.failureLimit(error) else { return }
    failed.withLock { $0 = error }
    if error.code != .closed {
      logger.error("The store is not followed any more; open it again. \(error)")
    }
    engine.queue.wakeAll()
  }

  /// - Returns: False if the writer has published more than the log shows yet.
  private func follow(_ state: inout State) throws(TreeRingError) -> Bool {
    guard let value = state.word?.value, value != state.said, let durable = value.durable else {
      return true
    }
    let hasNewWriter = value.incarnation != state.said?.incarnation
    let reached = try log.follow(through: durable, hasNewWriter: hasNewWriter)
    if log.horizon > engine.queue.newest.roots.commit {
      try moveOver(&state, because: nil)
    }
    if try !show(through: reached) { try moveOver(&state, because: nil) }
    if reached >= durable { state.said = value }
    if state.pollCount % 16 == 0, state.root != nil {
      try considerMoving(&state, after: Self.operationInterval)
    }
    return reached >= durable
  }

  /// Replays the log's new commits and makes them visible.
  /// - Returns: False if it met a commit that cannot be applied to the visible state, because
  ///   operations were removed from it.
  private func show(through reached: CommitNumber) throws(TreeRingError) -> Bool {
    let queue = engine.queue
    defer {
      engine.reclaimer.drain { queue.publish(through: queue.newest.roots.commit) }
    }
    let first = queue.newest.roots.commit + 1
    if first > reached { return true }
    var leadsOn = true
    try typed {
      try engine.pages.withSection {
        try log.replay(from: first, through: reached) { header, payload in
          if isClosing.load(ordering: .acquiring) { throw TreeRingError.storeClosed }
          let base = queue.newest
          guard header.number == base.roots.commit + 1 else {
            throw TreeRingError(
              .beyondHorizon,
              "Commit \(base.roots.commit + 1) was compacted away before it was read here.",
              commit: base.roots.commit + 1, current: log.horizon)
          }
          guard let commit = try replayer.commit(upon: base, header, payload) else {
            leadsOn = false
            return false
          }
          queue.append(commit)
          return true
        }
      }
    }
    return leadsOn
  }

  // MARK: Moving over

  /// Checks what seldom changes: the LOCK file, the log's segments, the page file. Runs twice a
  /// second.
  private func lookAround(_ state: inout State) throws(TreeRingError) {
    // The LOCK file may have been created or replaced.
    if let word = try SharedWord.opened(lockPath, fileSystem),
      state.word == nil || word.value != state.word?.value
    {
      state.word = word
    }
    state.left.removeAll { left in
      guard left.use == nil else { return false }
      left.pin.release()
      return true
    }
    let generations = log.segments.map(\.generation)
    if generations != state.generations {
      // Recent states must not show operations that have been removed from the log.
      state.generations = generations
      forgetPast()
    }
    if state.root != nil, try checkpoints?.isReplaced() == true { try leaveFile(&state) }
    // An old root holds history back, as the log alone does. So it is left as soon as there is a
    // newer one.
    try considerMoving(&state, after: 1)
  }

  /// Moves over if there is a newer checkpoint and `count` operations have been replayed, on top of
  /// the root or without one.
  private func considerMoving(
    _ state: inout State, after count: UInt64
  ) throws(TreeRingError) {
    let newest = engine.queue.visible.roots
    let begun = state.root?.roots.operationCount ?? 0
    guard newest.operationCount - min(begun, newest.operationCount) >= count else { return }
    try moveOver(&state, because: newest)
  }

  /// Evicts the states before the visible one that only this process keeps, except those of
  /// snapshots.
  private func forgetPast() {
    engine.timeTravel.clear()
    engine.reclaimer.drain { engine.queue.forgetRecent() }
  }

  /// Replaces the visible version by one on top of the newest checkpoint.
  /// - Parameter visible: The visible roots; nil if the log no longer leads on from them. Then the
  ///   checkpoint must be of a later commit, and without one a follower of the log alone replays
  ///   all of it.
  private func moveOver(
    _ state: inout State, because visible: Roots?
  ) throws(TreeRingError) {
    let queue = engine.queue
    let old = queue.visible
    let shown = old.roots.commit
    let begun = state.root?.roots.commit ?? 0
    guard let root = try newestRoot(after: visible == nil ? shown : begun, state) else {
      if visible != nil { return }
      if state.root == nil {
        return try standOnLog(through: log.completed, bornAfter: 0, show: showAlone)
      }
      throw TreeRingError(
        .beyondHorizon,
        "The log has been rewritten up to commit \(log.horizon), and \(shown) is the newest that "
          + "was read of it. Open the store again.", commit: shown + 1, current: log.horizon)
    }
    guard visible == nil || root.roots.commit <= shown else { return }
    engine.pages.adopt(bound: root.bound, free: BitSet())
    let base = try replayer.version(of: root.roots)
    let new = try replay(upon: base, through: max(shown, root.roots.commit))
    let own = try replayer.ownPages(of: old, bornAfter: begun)
    if visible == nil {
      showAlone(new)
    } else {
      engine.reclaimer.drain { queue.replaceVisible(by: new) }
    }
    engine.pins.retire(own, at: new.roots.commit + 1)
    if let pin = state.root?.pin ?? state.pin { state.left.append(Left(pin: pin, use: old.use)) }
    (state.root, state.pin) = (root, nil)
    logger.debug("Now upon the checkpoint of commit \(root.roots.commit).")
  }

  /// The page file's newest root; nil if it is not of a later commit than `commit`, or not of this
  /// log. A follower of the log alone ignores every failure of the page file and goes on with the
  /// log.
  private func newestRoot(
    after commit: CommitNumber, _ state: State
  ) throws(TreeRingError) -> CheckpointReader.Root? {
    // While an old file is being left, another one cannot be opened.
    guard let checkpoints, state.root != nil || state.left.isEmpty else { return nil }
    let found: CheckpointReader.Root?
    do throws(TreeRingError) {
      found =
        try state.root == nil
        ? checkpoints.firstRoot(after: commit) : checkpoints.newestRoot(after: commit)
    } catch {
      if state.root != nil { throw error }
      logger.debug("The page file cannot be read, the log is followed on: \(error)")
      return nil
    }
    guard let root = found else { return nil }
    if try ReaderOpening.fits(root.meta, log) { return root }
    // Compaction may have rewritten the checkpoint's commit since the segments were listed.
    try log.refresh()
    return try ReaderOpening.fits(root.meta, log) ? root : nil
  }

  /// Makes a version visible that does not follow from the one before, and evicts the earlier
  /// states.
  private func showAlone(_ version: Version) {
    let queue = engine.queue
    queue.append(
      SequencedCommit(
        version: version, retired: [], allocated: [], changes: CommitChanges()))
    engine.reclaimer.drain { queue.publish(through: version.roots.commit) }
    forgetPast()
  }

  private func replay(
    upon base: Version, through commit: CommitNumber
  ) throws(TreeRingError) -> Version {
    try replayer.version(upon: base, through: commit) { isClosing.load(ordering: .acquiring) }
  }

  /// Leaves a page file that another one has replaced.
  private func leaveFile(_ state: inout State) throws(TreeRingError) {
    guard let root = state.root else { return }
    let visible = engine.queue.visible
    let pin = try checkpoints?.register(visible.roots.commit)
    if log.horizon > visible.roots.commit {
      try standOnLog(through: log.completed, bornAfter: root.roots.commit, show: showAlone)
    } else {
      try standOnLog(through: visible.roots.commit, bornAfter: root.roots.commit) { new in
        engine.reclaimer.drain { engine.queue.replaceVisible(by: new) }
        forgetPast()
      }
    }
    state.left.append(Left(pin: root.pin, use: visible.use))
    (state.root, state.pin) = (nil, pin)
  }

  /// Replays all of the log through a commit and shows the result in place of the visible version.
  /// The pages of that version made after `begun` are this process's own.
  private func standOnLog(
    through commit: CommitNumber, bornAfter begun: CommitNumber, show: (Version) -> Void
  ) throws(TreeRingError) {
    let old = engine.queue.visible
    let new = try replay(upon: try replayer.version(of: Roots()), through: commit)
    let own = try replayer.ownPages(of: old, bornAfter: begun)
    show(new)
    engine.pins.retire(own, at: new.roots.commit + 1)
    logger.debug("Now upon the whole log, as it is at commit \(new.roots.commit).")
  }
}
