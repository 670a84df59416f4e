// Shows the commits of the process that writes a store in another one, which has it open for
// reading.
//
// The follower's thread polls the writer's shared word (FollowerPace.swift). When the writer has
// published later commits, the follower reads them from the log and replays each into private
// pages. They become visible through the commit queue, in order, with their change records. So
// snapshots, waiting, feeds and observers work as they do in the writer's process.
//
// From time to time the follower moves over to a newer checkpoint (Follower+Roots.swift).

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// Follows the writer of one store. Any thread may call it; it works on a thread of its own.
final class Follower: Sendable {
  let lockPath: String
  let fileSystem: any FileSystem
  let engine: Engine
  let log: CommitLog
  let replayer: PrivateReplay
  let logger: Logger
  let checkpoints: CheckpointReader?
  /// The page file's earlier roots; nil for a follower that never reads the page file.
  let pastRoots: PastRoots?

  struct State: Sendable {
    var word: SharedWord?
    /// The value of the shared word whose commits are all visible.
    var processed: SharedWord.Value?
    /// The root that the visible version was built on; nil without one.
    var root: CheckpointReader.Root?
    /// Without a root: the pin on the first visible commit, so that the writer keeps the log from
    /// there on.
    var pin: ReaderPin?
    /// The roots and pins left behind that some version may still need.
    var formerRoots: [FormerRoot] = []
    var pollCount = 0
    var failureCount = 0
    /// The generations of the log's segments. A change shows that a segment has been rewritten.
    var generations: [UInt32] = []
    var isClosed = false
  }
  /// A root, or a position in the log, that the follower has moved over from.
  struct FormerRoot: Sendable {
    var pin: ReaderPin
    /// Nil once no version needs it any more.
    weak let use: RootUse?
  }

  /// Held by the thread while it works, also throughout a long replay. What follows can be read
  /// meanwhile.
  private let state: Mutex<State>
  private let names: ReaderNames
  private let failed = Mutex<TreeRingError?>(nil)
  private struct Lag {
    /// The newest commit that the writer has published, as of the last poll that found it.
    var published: CommitNumber
    /// The moment since which a published commit is not visible; nil if all are.
    var since: ContinuousClock.Instant?
  }
  private let lag: Mutex<Lag>
  /// Ends a long replay when the store is closed.
  let isClosing = Atomic<Bool>(false)
  private let pace: FollowerPace

  /// The number of operations replayed on top of a root before the follower checks for a newer one.
  static let operationInterval: UInt64 = 5_000
  /// For tests: the number of polls from one slow check to the next.
  private static let slowCheckInterval = 500
  /// The number of consecutive failures tolerated. Data that a writer is changing may seem damaged
  /// for a moment, and after a compaction the next checkpoint takes some time.
  private static func failureLimit(_ error: TreeRingError) -> Int {
    error.code == .beyondHorizon ? 30_000 : 200
  }

  init(
    lockPath: String, fileSystem: any FileSystem, engine: Engine, log: CommitLog,
    replayer: PrivateReplay, logger: Logger, checkpoints: CheckpointReader?,
    root: CheckpointReader.Root?, pin: ReaderPin?, word: SharedWord?, processed: SharedWord.Value?,
    names: ReaderNames
  ) {
    self.lockPath = lockPath
    self.fileSystem = fileSystem
    self.engine = engine
    self.log = log
    self.replayer = replayer
    self.logger = logger
    self.checkpoints = checkpoints
    pastRoots = checkpoints.map {
      PastRoots($0, replayer, isOpen: root != nil, logger: logger)
    }
    pace = FollowerPace { fileSystem.watch(lockPath) }
    let known = processed ?? word?.value
    state = Mutex(State(word: word, processed: known, root: root, pin: pin))
    self.names = names
    lag = Mutex(Lag(published: known?.durable ?? 0))
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
    pace.record(poll(includesSlowChecks: pace.isSlowCheckDue()))
    return true
  }

  /// Throws the error that ended the following, if there is one.
  func check() throws(TreeRingError) {
    if let error = failed.withLock({ $0 }) { throw error }
  }

  /// The commit of the root below the visible version; nil without one.
  var rootCommit: CommitNumber? { state.withLock { $0.root?.roots.commit } }

  /// The names of its files in `readers/`. Does not wait for a replay.
  var readerNames: Set<String> { names.all }

  /// The statistics of the writer's page file; nil if there is none.
  func pageFileReport(at operationCount: UInt64) throws(TreeRingError) -> Checkpointer.Report? {
    try checkpoints?.report(at: operationCount)
  }

  /// The number of published commits that are not visible yet, and the time since the follower
  /// has found the first of them. Both as of its last poll. O(1).
  func lag(behind visible: CommitNumber) -> (commits: UInt64, time: Duration) {
    let lag = lag.withLock { $0 }
    guard let since = lag.since, lag.published > visible else { return (0, .zero) }
    return (lag.published - visible, ContinuousClock.now - since)
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
      for root in state.formerRoots { root.pin.release() }
      state.formerRoots = []
    }
    pastRoots?.releaseAll()
  }

  /// Sleeps for a millisecond.
  static func nap() { usleep(1_000) }

  // MARK: The thread

  /// Polls once, as the thread does. For tests, on any thread.
  func poll() {
    _ = poll(includesSlowChecks: state.withLock { $0.pollCount + 1 } % Self.slowCheckInterval == 0)
  }

  /// - Parameter includesSlowChecks: Whether to run `checkFiles` too.
  private func poll(includesSlowChecks: Bool) -> FollowerPace.Outcome {
    state.withLock { state in
      if state.isClosed || failed.withLock({ $0 != nil }) { return .nothing }
      state.pollCount += 1
      let before = state.processed
      do throws(TreeRingError) {
        if includesSlowChecks { try checkFiles(&state) }
        let isDone = try follow(&state)
        state.failureCount = 0
        if !isDone { return .unfinished }
        return state.processed == before ? .nothing : .news
      } catch {
        record(error, &state)
        return .unfinished
      }
    }
  }

  private func record(_ error: TreeRingError, _ state: inout State) {
    state.failureCount += 1
    let isFinal = error.code == .storeRewound || error.code == .closed
    guard isFinal || state.failureCount >= Self.failureLimit(error) else { return }
    failed.withLock { $0 = error }
    if error.code != .closed {
      logger.error("This store no longer follows its writer; open it again. \(error)")
    }
    engine.queue.wakeAll()
  }

  /// - Returns: False if the writer has published commits that cannot be read from the log yet.
  private func follow(_ state: inout State) throws(TreeRingError) -> Bool {
    guard let value = state.word?.value, value != state.processed, let durable = value.durable
    else {
      return true
    }
    lag.withLock { lag in
      lag.published = durable
      lag.since = lag.since ?? .now
    }
    let hasNewWriter = value.incarnation != state.processed?.incarnation
    let reached = try log.follow(through: durable, hasNewWriter: hasNewWriter)
    if log.horizon > engine.queue.newest.roots.commit {
      try moveOver(&state, because: nil)
    }
    if try !show(through: reached) { try moveOver(&state, because: nil) }
    if reached >= durable {
      state.processed = value
      lag.withLock { $0.since = nil }
    }
    if state.pollCount % 16 == 0, state.root != nil {
      try moveOverIfDue(&state, after: Self.operationInterval)
    }
    return reached >= durable
  }

  /// Replays the log's new commits and makes them visible.
  /// - Returns: False if a commit cannot be applied to the visible state, because operations were
  ///   removed from it.
  private func show(through reached: CommitNumber) throws(TreeRingError) -> Bool {
    let queue = engine.queue
    defer {
      engine.reclaimer.drain { queue.publish(through: queue.newest.roots.commit) }
    }
    let first = queue.newest.roots.commit + 1
    if first > reached { return true }
    var canContinue = true
    try engine.pages.withSection { () throws(TreeRingError) in
      try log.replay(from: first, through: reached) { (header, payload) throws(TreeRingError) in
        if isClosing.load(ordering: .acquiring) { throw TreeRingError.storeClosed }
        let base = queue.newest
        guard header.number == base.roots.commit + 1 else {
          throw TreeRingError(
            .beyondHorizon,
            "Compaction removed commit \(base.roots.commit + 1) before this process read it.",
            commit: base.roots.commit + 1, current: log.horizon)
        }
        guard let commit = try replayer.commit(on: base, header, payload) else {
          canContinue = false
          return false
        }
        queue.append(commit)
        return true
      }
    }
    return canContinue
  }
}
