// Keeps a store that is open for reading in step with the process that writes it.
//
// A thread looks at the shared word every millisecond: a load from memory. When the writer has said more,
// the log is read on, each commit is replayed into private pages, and all of them become visible through
// the commit queue, in order, with their change records. So snapshots, waiting, feeds and observers work
// as they do in the writer's process.
//
// Private pages grow and the root begun from keeps pages in the writer's file. So after a while the
// follower moves over to a newer checkpoint: it registers the new root, replays what the log has after
// it, and puts the result in the place of what it shows, which is the same state in other pages. The
// old root is let go of when nothing reads it any more. Who began with the log alone, because there was no
// checkpoint yet, does the same when there is one.
//
// If compaction has passed the follower, or a row was erased that is in what it shows, it moves over to a
// newer checkpoint in the same way, or begins anew with the log's start, and the commits between are never
// shown.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TreeRingLog

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// Follows one store. Any thread may ask it; it works on a thread of its own.
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
    /// What the word said when all of it had been done.
    var said: SharedWord.Value?
    /// The root that the visible version stands on.
    var root: CheckpointReader.Root?
    /// Without a root: what keeps the log from the first state shown on.
    var pin: ReaderPin?
    /// What was moved away from and some version may still stand on.
    var left: [Left] = []
    var pollCount = 0
    var failureCount = 0
    /// The generations of the log's segments, to see that one has been rewritten.
    var generations: [UInt32] = []
    var isClosed = false
  }
  /// A root moved away from, or the log alone.
  private struct Left: Sendable {
    var pin: ReaderPin
    /// Gone when no version stands on it any more.
    weak let use: RootUse?
  }

  /// Held by the thread while it works.
  private let state: Mutex<State>
  private let failed = Mutex<TreeRingError?>(nil)
  /// So that a long replay ends when the store is closed.
  private let isClosing = Atomic<Bool>(false)
  private let thread = DispatchQueue(label: "treering.follower", qos: .userInitiated)

  /// Operations replayed upon a root after which a newer one is looked for.
  static let operationInterval: UInt64 = 5_000
  /// Polls between two looks at what seldom changes.
  private static let rareInterval = 500
  /// Failures in a row that are waited out: what a writer is changing may look damaged for a moment, and
  /// after a compaction it takes a while until there is a checkpoint to move over to.
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
    state = Mutex(State(word: word, said: said ?? word?.value, root: root, pin: pin))
  }

  /// Begins to follow.
  func start() {
    thread.asyncAfter(deadline: .now() + .milliseconds(1)) { [weak self] in
      guard let self, !state.withLock({ $0.isClosed }), !hasStopped else { return }
      poll()
      start()
    }
  }

  /// Throws what ended the following, if anything has.
  func check() throws(TreeRingError) {
    if let error = failed.withLock({ $0 }) { throw error }
  }

  /// The commit of the root that what is visible stands on; nil without one.
  var rootCommit: CommitNumber? { state.withLock { $0.root?.roots.commit } }

  /// The names of the files by which it holds roots.
  var readerNames: Set<String> {
    state.withLock { state in
      let pins = state.left.map(\.pin) + [state.root?.pin, state.pin].compactMap { $0 }
      return Set(pins.map(\.name))
    }
  }

  /// What the writer's page file holds; nil if there is none.
  func pageFileReport(at operationCount: UInt64) throws(TreeRingError) -> Checkpointer.Report? {
    try checkpoints?.report(at: operationCount)
  }

  /// Whether it has ended by an error.
  var hasStopped: Bool { failed.withLock { $0 != nil } }

  /// Stops following and lets go of the page file's roots.
  func close() {
    isClosing.store(true, ordering: .releasing)
    state.withLock { state in
      state.isClosed = true
      state.root?.pin.release()
      state.pin?.release()
      for left in state.left { left.pin.release() }
      state.left = []
    }
  }

  /// A millisecond.
  static func nap() { usleep(1_000) }

  // MARK: The thread

  /// Looks once. Called on the thread; by tests from anywhere.
  func poll() {
    state.withLock { state in
      if state.isClosed || failed.withLock({ $0 != nil }) { return }
      state.pollCount += 1
      do throws(TreeRingError) {
        if state.pollCount % Self.rareInterval == 0 { try lookAround(&state) }
        try follow(&state)
        state.failureCount = 0
      } catch {
        note(error, &state)
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

  private func follow(_ state: inout State) throws(TreeRingError) {
    guard let value = state.word?.value, value != state.said, let durable = value.durable else {
      return
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
  }

  /// Replays what the log has and makes it visible.
  /// - Returns: false if it came to a commit that does not lead on from what is shown, because operations
  ///   were taken out of it.
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
          if isClosing.load(ordering: .acquiring) { throw Store.closedError }
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

  /// What is done twice a second.
  private func lookAround(_ state: inout State) throws(TreeRingError) {
    // The LOCK file may have been made, or another one put in its place.
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
      // What was taken out of the log is not to be found in states kept for quick looks back.
      state.generations = generations
      forgetPast()
    }
    // An old root holds history back, as the log alone does, so it is left as soon as there is a newer one.
    try considerMoving(&state, after: 1)
  }

  /// Moves over if there is a newer checkpoint and so many operations have been replayed, upon the root or
  /// without one.
  private func considerMoving(
    _ state: inout State, after count: UInt64
  ) throws(TreeRingError) {
    let newest = engine.queue.visible.roots
    let begun = state.root?.roots.operationCount ?? 0
    guard newest.operationCount - begun >= count else { return }
    try moveOver(&state, because: newest)
  }

  /// Lets go of states before the visible one that only this process keeps, but for snapshots.
  private func forgetPast() {
    engine.timeTravel.clear()
    engine.reclaimer.drain { engine.queue.forgetRecent() }
  }

  /// Puts a version upon the newest checkpoint in the place of the visible one.
  /// - Parameter visible: what is visible now; nil if the checkpoint must be of a later commit than
  ///   that, because the log does not lead on from it any more. Who reads the log alone replays all of it.
  private func moveOver(
    _ state: inout State, because visible: Roots?
  ) throws(TreeRingError) {
    let queue = engine.queue
    let old = queue.visible
    let shown = old.roots.commit
    let begun = state.root?.roots.commit ?? 0
    guard let root = try newestRoot(after: visible == nil ? shown : begun, state) else {
      if visible != nil { return }
      if state.root == nil { return try beginAnew(&state) }
      throw TreeRingError(
        .beyondHorizon,
        "The log has been rewritten up to commit \(log.horizon), and \(shown) is the newest that "
          + "was read of it. Open the store again.", commit: shown + 1, current: log.horizon)
    }
    guard visible == nil || root.roots.commit <= shown else { return }
    engine.pages.adopt(bound: root.meta.pageBound, free: BitSet())
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

  /// The page file's newest root; nil if it is not of a later commit than one, or not of this log. Who reads
  /// the log alone goes on with that, whatever is wrong with the page file.
  private func newestRoot(
    after commit: CommitNumber, _ state: State
  ) throws(TreeRingError) -> CheckpointReader.Root? {
    guard let checkpoints else { return nil }
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

  /// Makes a version visible that does not follow from the one before, and forgets what came before.
  private func showAlone(_ version: Version) {
    let queue = engine.queue
    queue.append(SequencedCommit(version: version, retired: [], allocated: [], records: [:]))
    engine.reclaimer.drain { queue.publish(through: version.roots.commit) }
    forgetPast()
  }

  private func replay(
    upon base: Version, through commit: CommitNumber
  ) throws(TreeRingError) -> Version {
    try replayer.version(upon: base, through: commit) { isClosing.load(ordering: .acquiring) }
  }

  /// Replays all of the log, for who reads nothing else.
  private func beginAnew(_ state: inout State) throws(TreeRingError) {
    let old = engine.queue.visible
    let empty = try replayer.version(of: Roots())
    let new = try replay(upon: empty, through: log.completed)
    let own = try replayer.ownPages(of: old, bornAfter: 0)
    showAlone(new)
    engine.pins.retire(own, at: new.roots.commit + 1)
    logger.debug("Now upon the whole log, as it is at commit \(new.roots.commit).")
  }
}
