// Writes checkpoints, and keeps the roots of the page file. Four parts, each with its own state:
//
// - The checkpointer makes one checkpoint at a time and knows the meta in force: its roots, and the
//   pages that only it or the meta before it needs.
// - The schedule queues checkpoints and evictions.
// - The evictor keeps the heap within its share of the memory budget.
// - The throttle delays writers that are faster than checkpoints.
//
// The checkpointer calls the others, and the throttle asks the evictor and the schedule. None of
// them knows the checkpointer.
//
// Invariants:
//
// - Only the thread that holds `running` writes metas and changes the ledger, the sequence number,
//   the blobs and the leaving roots.
// - Every root in the ledger and every leaving root is pinned.
// - A page of a blob is free only when two metas later than its last have been written.
// - After a failure no meta is written: it is unknown which one is in force.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// Keeps the page file. Any thread.
final class Checkpointer: Sendable {
  let file: PageFile
  let pages: PageStore
  let budget: MemoryBudget
  let pins: PinTable
  let reclaimer: Reclaimer
  let log: CommitLog
  let logger: Logger
  let path: String
  let fileSystem: any FileSystem
  let readers: ReaderRegistry

  struct State: Sendable {
    var ledger = RootLedger()
    /// The sequence number of the meta in force; 0 before the first.
    var sequence: UInt64 = 0
    /// The pages of blobs, and the last meta that refers to them.
    var blobs: [(sequence: UInt64, pages: [PageNumber])] = []
    /// Roots that the newest meta has dropped and the one before it keeps. They stay pinned until
    /// the older meta has been overwritten, because the device may have lost the newest one. Also
    /// those dropped earlier that a follower reads.
    var leaving: [RootLedger.Entry] = []
    /// The roots that followers read, as of the last time that roots were dropped.
    var followed: Set<CommitNumber> = []
    /// Roots before this commit are to be dropped, unless a tag keeps them.
    var horizon: CommitNumber = 0
    var tagged: Set<CommitNumber> = []
    /// Roots that the next checkpoint drops, because they keep pages that packing has replaced.
    var unwanted: Set<StateID> = []
    var packing = PackingState()
    /// The commit that a root must be younger than before withheld free numbers become available.
    var withholdsThrough: CommitNumber?
    /// The reason why no more checkpoints are made.
    var failure: TreeRingError?
    var checkpointCount = 0
    /// The total duration of these checkpoints.
    var checkpointTime: Duration = .zero

    /// The pages, pins and numbers that nothing needs any more.
    struct Released: Sendable {
      var pages: [PageNumber]
      var roots: [RootLedger.Entry]
      var withheldNumbers = false
    }

    /// The leaving roots that the next checkpoint frees: those that no follower reads.
    var ending: [RootLedger.Entry] { leaving.filter { !isFollowed($0) } }

    /// Whether a follower read a root when roots were last dropped.
    func isFollowed(_ entry: RootLedger.Entry) -> Bool { followed.contains(entry.commit) }

    /// Takes over the consequences of a checkpoint whose meta is durable. A root that an earlier
    /// checkpoint dropped stays pinned as long as a follower reads it: the follower may have
    /// registered it between the beginning of that checkpoint and its end.
    mutating func adopt(_ outcome: CheckpointWriter.Outcome) -> Released {
      sequence = outcome.meta.sequence
      // The meta before the previous one has been overwritten.
      let isOld = { [sequence] (blob: (sequence: UInt64, pages: [PageNumber])) in
        blob.sequence + 2 <= sequence
      }
      blobs.append((sequence: sequence - 1, pages: outcome.replacedBlobPages))
      blobs.append((sequence: sequence, pages: outcome.ownBlobPages))
      var released = Released(pages: blobs.filter(isOld).flatMap(\.pages), roots: ending)
      blobs.removeAll(where: isOld)
      leaving = leaving.filter(isFollowed)
      leaving += ledger.entries.filter { outcome.dropped[$0.state] != nil }
      unwanted.subtract(outcome.dropped.keys)
      ledger = outcome.ledger
      if let commit = withholdsThrough, outcome.meta.position.commit > commit {
        withholdsThrough = nil
        released.withheldNumbers = true
      }
      checkpointCount += 1
      return released
    }
  }
  let state: Mutex<State>
  /// Held throughout a checkpoint.
  private let running = Mutex(())
  let schedule: CheckpointSchedule
  let evictor: Evictor
  let throttle: WriterThrottle
  private let earlySync: EarlySync
  /// The source of the visible version, once the store is open.
  let source = Mutex<Source?>(nil)
  // Read after every commit, without the lock.
  /// The newest root's `Roots.replayByteCount`. An estimate, so no order is needed.
  let rootReplay = Atomic<UInt64>(0)
  /// Whether `state.failure` is set. Stored after it and loaded before it, so that a thread that
  /// loads true finds the error.
  private let hasFailed = Atomic<Bool>(false)

  /// Runs a closure while no transaction runs, so that no commit is sequenced meanwhile.
  typealias WithoutWriter = @Sendable (_ body: () -> Void) throws(TreeRingError) -> Void

  struct Source: Sendable {
    var queue: CommitQueue
    var withoutWriter: WithoutWriter
    /// The number of pages of its first visible version.
    var firstPageCount: Int

    /// The number of pages of the visible version.
    var pageCount: Int { firstPageCount + queue.visiblePageGrowth }
  }

  init(
    file: PageFile, path: String, fileSystem: any FileSystem, pages: PageStore, pins: PinTable,
    reclaimer: Reclaimer, log: CommitLog, budget: MemoryBudget, logger: Logger, state: State
  ) {
    self.file = file
    self.path = path
    self.fileSystem = fileSystem
    readers = ReaderRegistry(
      folder: String(path.dropLast("/pages".utf8.count)), fileSystem: fileSystem)
    self.pages = pages
    self.pins = pins
    self.reclaimer = reclaimer
    self.log = log
    self.budget = budget
    self.logger = logger
    schedule = CheckpointSchedule()
    evictor = Evictor(pages: pages, budget: budget)
    throttle = WriterThrottle(evictor: evictor, pins: pins, schedule: schedule)
    earlySync = EarlySync(file: file, evictor: evictor)
    rootReplay.store(state.ledger.newest?.roots.replayByteCount ?? 0, ordering: .relaxed)
    self.state = Mutex(state)
  }

  /// Connects the queue whose visible version later checkpoints write. Nothing is sequenced yet.
  func attach(_ queue: CommitQueue, withoutWriter: @escaping WithoutWriter) {
    let count = pageUse.live
    source.withLock {
      $0 = Source(queue: queue, withoutWriter: withoutWriter, firstPageCount: count)
    }
    file.limitNeed(to: pages.pageNumberBound)
    updateRoom()
    queueRelease()
  }

  /// The heap's share of the budget.
  var share: HeapShare { evictor.share }

  /// The reason why no more checkpoints are made and the store takes no more writes; nil if there
  /// is none.
  var failure: TreeRingError? {
    hasFailed.load(ordering: .acquiring) ? state.withLock { $0.failure } : nil
  }

  // MARK: A checkpoint

  /// Makes a checkpoint of the visible version, or of a given one while the store is being opened.
  /// Does nothing if the newest root is of that state, unless the meta must be written again:
  /// because roots are to be dropped, or because `isForced` says that the log has changed under it.
  func run(_ version: Version? = nil, isForced: Bool = false) throws(TreeRingError) {
    try running.withLock { (_) throws(TreeRingError) in
      try runAlone(version, isForced: isForced)
    }
  }

  /// Runs `body` while no checkpoint runs.
  func withoutCheckpoint<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    try running.withLock { _ throws(E) in try body() }
  }

  private func runAlone(_ given: Version?, isForced: Bool) throws(TreeRingError) {
    let (ledger, sequence, blobs, problem) = state.withLock {
      ($0.ledger, $0.sequence + 1, $0.blobs, $0.failure)
    }
    if let problem { throw problem }
    if schedule.isClosed { return }
    try checkPages()
    let start = ContinuousClock.now
    let dropped = try condemning { () throws(TreeRingError) in try loadSurplus(of: ledger) }
    let mustWrite = isForced || !dropped.isEmpty
    guard let begun = try begin(given, after: ledger, dropping: dropped, mustWrite: mustWrite)
    else { return }
    let written = begun.version.roots.state
    var checkpoint = CheckpointWriter(file: file, pages: pages, pins: pins, log: log)
    let young: [RetiredPage]
    do throws(TreeRingError) {
      young = try condemning { () throws(TreeRingError) in
        try checkpoint.youngPages(of: begun.version, bornAfter: ledger.newest?.state ?? StateID(0))
      }
    } catch {
      pins.unpin(written)
      throw error
    }
    let outcome: CheckpointWriter.Outcome
    do throws(TreeRingError) {
      // The root stays pinned while its pages are made durable.
      defer { earlySync.finish() }
      outcome = try checkpoint.write(
        begun, young, after: ledger, sequence: sequence, dropping: dropped,
        replacing: blobs.flatMap(\.pages), betweenSlices: relieve)
    } catch {
      pages.free(checkpoint.reserved)
      pins.unpin(written)
      if file.isDamaged(error) {
        condemn(error)
      } else if ![.noSpace, .tooLarge].contains(error.code) {
        // Without room, on the device or among the numbers, the previous meta stays in force.
        fail(error)
      }
      throw error
    }
    do throws(TreeRingError) {
      try file.writeMeta(outcome.meta)
      try file.sync()
    } catch {
      // It is unknown now which meta is in force.
      throw fail(error)
    }
    if written == ledger.newest?.state {
      pins.unpin(written)
    } else {
      pins.keep(written)
    }
    settle(outcome, duration: ContinuousClock.now - start)
    withExtendedLifetime(begun) {}
  }

  /// Step 1; nil if there is nothing to do.
  private func begin(
    _ given: Version?, after ledger: RootLedger,
    dropping dropped: [StateID: [RetiredPage]], mustWrite: Bool
  ) throws(TreeRingError) -> CheckpointWriter.Begun? {
    func begun(_ version: Version, _ unpublished: [PageNumber]) -> CheckpointWriter.Begun? {
      let state = version.roots.state
      if state.commit == 0 || state == ledger.newest?.state && !mustWrite { return nil }
      pins.pin(state)
      return CheckpointWriter.Begun(
        version: version, unpublished: unpublished,
        image: pins.image(at: state, dropping: dropped))
    }
    if let given { return begun(given, []) }
    guard let source = source.withLock({ $0 }) else { return nil }
    var result: CheckpointWriter.Begun?
    try source.withoutWriter {
      let (visible, unpublished) = source.queue.checkpointState
      result = begun(visible, unpublished)
    }
    return result
  }

  /// Pauses between two slices. If writers are short of memory, the written pages are made durable
  /// meanwhile, so that they can be evicted and writers need not wait for the checkpoint's end.
  private func relieve(_ written: inout ArraySlice<RetiredPage>) throws(TreeRingError) {
    guard evictor.heldFrameCount > share.slowPages else {
      return Platform.sleep(.microseconds(200))
    }
    // A sync cannot free frames that a reader still holds.
    if pages.heapPageCounts.dirty > share.dirtyPages {
      if share.pages >= Self.leastShare {
        if earlySync.begin(written) { written = written.suffix(0) }
      } else {
        try file.sync()
        evictor.noteDurable(written)
        written = written.suffix(0)
      }
    }
    // It does not wait for those frames either: writers may be waiting for the next slice.
    evict(napLimit: 10)
  }

  /// The least pages of a heap whose slices are synced beside the next ones. A smaller one has
  /// hardly any next ones; and without a second thread tests can fail each call of a checkpoint.
  private static let leastShare = 8 * CheckpointWriter.slicePageCount

  private func settle(_ outcome: CheckpointWriter.Outcome, duration: Duration) {
    evictor.noteDurable(outcome.written)
    let released = state.withLock { state in
      // In one critical section, so that every page is on one list whenever pages are counted.
      for (root, count) in outcome.saved { pins.removeSaved(count, of: root) }
      for (root, list) in outcome.dropped { pins.unkeep(root, saved: list) }
      state.checkpointTime += duration
      return state.adopt(outcome)
    }
    rootReplay.store(outcome.ledger.newest?.roots.replayByteCount ?? 0, ordering: .relaxed)
    schedule.checkpointEnded(after: duration)
    pages.free(released.pages)
    if released.withheldNumbers { pages.releaseWithheld() }
    for root in released.roots { pins.unpin(root.state) }
    evictor.trim()
    evictor.updateShare()
    updateRoom()
    queueRelease()
  }

  // MARK: Failure and the end

  /// Condemns the file if a page of a tree is lost.
  private func checkPages() throws(TreeRingError) {
    guard pages.fetchFailureCount > 0, let error = pages.lastFetchFailure, file.isDamaged(error)
    else { return }
    condemn(error)
    throw error
  }

  /// Runs a part that reads only the file, and condemns the file if it is damaged.
  private func condemning<R>(_ body: () throws(TreeRingError) -> R) throws(TreeRingError) -> R {
    do throws(TreeRingError) {
      return try body()
    } catch {
      if error.code == .corruption || file.isDamaged(error) { condemn(error) }
      throw error
    }
  }

  /// Removes the file, of which a part is lost: the next opening makes a new one from the log.
  private func condemn(_ error: TreeRingError) {
    fail(error)
    do throws(TreeRingError) {
      try log.checkFolder()
      try fileSystem.unlink(path)
    } catch {
      logger.error("The damaged page file could not be removed: \(error)")
    }
  }

  /// Ends checkpoints, and with them writing.
  /// - Returns: the error as later calls report it.
  @discardableResult
  func fail(_ error: TreeRingError) -> TreeRingError {
    var failure = error
    // A sync on a full device fails like any other: making room does not help.
    if failure.code == .noSpace { failure.code = .io }
    state.withLock { $0.failure = $0.failure ?? failure }
    hasFailed.store(true, ordering: .releasing)
    logger.error(
      "The page file can not be written any more; reopen the store to go on writing. \(error)")
    return failure
  }

  /// Ends checkpoints, because another page file replaces this one. Waits for a running one. The
  /// file's content stays readable as long as somebody holds it.
  func abandon() {
    source.withLock { $0 = nil }
    withoutCheckpoint {}
  }

  /// Makes a last checkpoint if anything was written since the newest one, then ends checkpoints.
  /// `closeFile` closes the file.
  func close() {
    if failure == nil {
      do throws(TreeRingError) {
        try run()
      } catch {
        logger.warning("Closing made no checkpoint, so the next opening replays more: \(error)")
      }
    }
    source.withLock { $0 = nil }
    withoutCheckpoint { schedule.close() }
    // Queued work has ended then, or finds the schedule closed.
    schedule.settle()
    _ = pages.sections.wait(for: pages.sections.ticket(), atMost: 1_000)
  }

  /// Closes the file of a closed checkpointer. Under the writer's lock, since a transaction may
  /// write pages early.
  func closeFile() { file.close() }
}
