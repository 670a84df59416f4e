// Makes checkpoints in the background, keeps the roots of the page file, and keeps the heap within its
// share of the memory budget.
//
// When: after so many operations that replaying them would take a while, and when dirty pages fill
// their share of the heap. Between two checkpoints there is a pause in proportion to the time the last
// one took, unless memory is short. Writers are slowed down, little by little, when dirty pages become
// too many all the same; `stats` says by how much.
//
// A page that the file holds may live on in the heap as long as there is room: it is quicker there.
// When room is short the pages written longest ago are moved out: the mapped file is their home again.

internal import DequeModule
internal import Dispatch
internal import Logging
internal import Synchronization
internal import TreeRingLog

/// The page file's keeper. Any thread.
final class Checkpointer: Sendable {
  /// After how many operations a checkpoint is due.
  static let operationInterval: UInt64 = 5_000

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
    /// Pages of blobs, and the last meta that refers to them.
    var blobs: [(sequence: UInt64, pages: [PageNumber])] = []
    /// Roots that the newest meta has dropped and the one before it keeps. They stay pinned until that has
    /// been overwritten: the device may have lost the newest one.
    var leaving: [RootLedger.Entry] = []
    /// Roots that followers read, as far as was known when roots were dropped last.
    var followed: Set<CommitNumber> = []
    /// Pages that the file holds too, those written first first; some have been freed since.
    var clean: Deque<RetiredPage> = []
    /// Roots before this commit are to go, if no tag keeps them.
    var horizon: CommitNumber = 0
    var tagged: Set<CommitNumber> = []
    /// Free numbers that the inspection refused are withheld until a root is younger than this commit.
    var withholdsThrough: CommitNumber?
    /// Why no more checkpoints are made.
    var failure: TreeRingError?
    var isClosed = false
    var lastDuration: Duration = .zero
    var lastEnd = ContinuousClock.now
    var statistics = CheckpointStatistics()
  }
  let state: Mutex<State>
  /// Frames whose pages were moved out of the heap, and that a reader may still be looking at: those moved
  /// out first first.
  let parked = Mutex<Deque<ParkedFrames>>([])
  /// How many they are.
  let parkedCount = Atomic<Int>(0)
  /// Held throughout a checkpoint.
  let running = Mutex<Void>(())
  let thread = DispatchQueue(label: "treering.checkpoints", qos: .utility)
  /// Where the visible version comes from, once the store is open.
  let source = Mutex<Source?>(nil)
  let isScheduled = Atomic<Bool>(false)
  let isUrgent = Atomic<Bool>(false)
  let isEvicting = Atomic<Bool>(false)
  /// How many scheduled checkpoints have been made, or have failed.
  let attempts = Atomic<Int>(0)
  /// How many writers wait for one.
  let waiting = Atomic<Int>(0)
  /// The operation count of the newest root.
  let rootOperations = Atomic<UInt64>(0)
  /// How many dead pages there were after the last checkpoint, and how many more there may be before the
  /// next one has ended; see `updateRoom`.
  let deadBase = Atomic<Int>(0)
  let deadRoom = Atomic<Int>(.max)
  private let heapPages = Atomic<Int>(0)
  private let hasFailed = Atomic<Bool>(false)

  /// Frames that can be released when every section begun before has ended.
  struct ParkedFrames: Sendable {
    let addresses: [UInt]
    let ticket: ReadSections.Ticket
  }

  struct Source: Sendable {
    var queue: CommitQueue
    var writerLock: OwnedLock
    /// How many pages its first visible version had.
    var firstPageCount: Int

    /// How many pages the visible version has.
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
    rootOperations.store(
      state.ledger.newest?.roots.operationCount ?? 0, ordering: .relaxed)
    self.state = Mutex(state)
    updateShare()
  }

  /// From now on checkpoints are of what is visible there. Nothing is sequenced yet.
  func attach(_ queue: CommitQueue, _ writerLock: OwnedLock) {
    let count = pageUse.live
    source.withLock {
      $0 = Source(queue: queue, writerLock: writerLock, firstPageCount: count)
    }
    updateRoom()
  }

  /// What of the budget the heap may take.
  var share: HeapShare { HeapShare(pages: heapPages.load(ordering: .relaxed)) }

  /// Works out `share` anew: the page table, which takes from it, grows with the store.
  func updateShare() {
    let share = budget.heap(tableByteCount: pages.tableByteCount)
    heapPages.store(share.pages, ordering: .relaxed)
  }

  /// Why no more checkpoints are made: nothing may be written to the store any more.
  var failure: TreeRingError? {
    hasFailed.load(ordering: .acquiring) ? state.withLock { $0.failure } : nil
  }

  // MARK: A checkpoint

  /// Makes a checkpoint of what is visible, or, while the store is being opened, of a version. If the
  /// newest root is of that commit, nothing is done, unless the meta has to be written anew: because
  /// roots are to be dropped, or because `isForced` says that the log has changed under it.
  func run(_ version: Version? = nil, isForced: Bool = false) throws(TreeRingError) {
    try typed { try running.withLock { _ in try runAlone(version, isForced: isForced) } }
  }

  private func runAlone(_ given: Version?, isForced: Bool) throws(TreeRingError) {
    let (ledger, sequence, blobs, problem) = state.withLock {
      ($0.ledger, $0.sequence + 1, $0.blobs, $0.failure)
    }
    if let problem { throw problem }
    if state.withLock({ $0.isClosed }) { return }
    try checkPages()
    let start = ContinuousClock.now
    let dropped = try condemning { () throws(TreeRingError) in try loadSurplus(of: ledger) }
    let mustWrite = isForced || !dropped.isEmpty
    guard let begun = try begin(given, after: ledger, dropping: dropped, mustWrite: mustWrite)
    else { return }
    let commit = begun.version.roots.commit
    var checkpoint = Checkpoint(file: file, pages: pages, pins: pins, log: log)
    let young: [RetiredPage]
    do throws(TreeRingError) {
      young = try condemning { () throws(TreeRingError) in
        try checkpoint.youngPages(of: begun.version, bornAfter: ledger.newest?.commit ?? 0)
      }
    } catch {
      pins.unpin(commit)
      throw error
    }
    let outcome: Checkpoint.Outcome
    do throws(TreeRingError) {
      outcome = try checkpoint.write(
        begun, young, after: ledger, sequence: sequence, dropping: dropped,
        replacing: blobs.flatMap(\.pages), betweenSlices: relieve)
    } catch {
      pages.free(checkpoint.reserved)
      pins.unpin(commit)
      if file.isDamaged(error) { condemn(error) } else if error.code != .noSpace { fail(error) }
      throw error
    }
    do throws(TreeRingError) {
      try file.writeMeta(outcome.meta)
      try file.sync()
    } catch {
      // Which meta is in force is not known now.
      fail(error)
      throw error
    }
    if commit == ledger.newest?.commit {
      pins.unpin(commit)
    } else {
      pins.keep(commit)
    }
    settle(outcome, duration: ContinuousClock.now - start)
    withExtendedLifetime(begun) {}
  }

  /// Step 1; nil if there is nothing to do.
  private func begin(
    _ given: Version?, after ledger: RootLedger,
    dropping dropped: [CommitNumber: [RetiredPage]], mustWrite: Bool
  ) throws(TreeRingError) -> Checkpoint.Begun? {
    func begun(_ version: Version, _ unpublished: [PageNumber]) -> Checkpoint.Begun? {
      let commit = version.roots.commit
      if commit == 0 || commit == ledger.newest?.commit && !mustWrite { return nil }
      pins.pin(commit)
      return Checkpoint.Begun(
        version: version, unpublished: unpublished,
        image: pins.image(at: commit, dropping: dropped))
    }
    if let given { return begun(given, []) }
    guard let source = source.withLock({ $0 }) else { return nil }
    var result: Checkpoint.Begun?
    try typed {
      try source.writerLock.withLock {
        let (visible, unpublished) = source.queue.checkpointState
        result = begun(visible, unpublished)
      }
    }
    return result
  }

  /// Pauses between two slices. If writers are short of memory, what has been written is made durable before, so
  /// that it can leave the heap and they need not wait for the checkpoint's end.
  private func relieve(_ written: inout ArraySlice<RetiredPage>) throws(TreeRingError) {
    if heldFrameCount > share.slowPages {
      // Frames that somebody looks at are not to be had by a sync.
      if pages.heapPageCounts.dirty > share.dirtyPages {
        try file.sync()
        noteDurable(written)
        written = written.suffix(0)
      }
      // Nor are they waited for: writers may be waiting for the next slice.
      evict(napLimit: 10)
    }
    Self.nap(.microseconds(200))
  }

  /// Notes that pages are in the file for certain, and may leave the heap.
  private func noteDurable(_ written: ArraySlice<RetiredPage>) {
    // Before they are listed: whoever moves pages out passes over what does not count as clean.
    pages.noteWritten(written)
    state.withLock { state in
      state.clean.append(contentsOf: written)
      state.statistics.writtenPages += written.count
    }
  }

  private func settle(_ outcome: Checkpoint.Outcome, duration: Duration) {
    noteDurable(outcome.written)
    let sequence = outcome.meta.sequence
    let (freed, left) = state.withLock { state -> ([PageNumber], [RootLedger.Entry]) in
      // Together, so that every page is on one list whenever pages are counted.
      for (root, count) in outcome.saved { pins.forget(count, of: root) }
      for (root, list) in outcome.dropped { pins.unkeep(root, saved: list) }
      let left = state.leaving
      state.leaving = state.ledger.entries.filter { outcome.dropped[$0.commit] != nil }
      state.ledger = outcome.ledger
      state.sequence = sequence
      state.blobs.append((sequence: sequence - 1, pages: outcome.replacedBlobPages))
      state.blobs.append((sequence: sequence, pages: outcome.ownBlobPages))
      // The slot of the meta before the last one has been overwritten.
      let old = state.blobs.filter { $0.sequence + 2 <= sequence }
      state.blobs.removeAll { $0.sequence + 2 <= sequence }
      state.lastDuration = duration
      state.lastEnd = ContinuousClock.now
      state.statistics.count += 1
      state.statistics.lastDuration = duration
      return (old.flatMap(\.pages), left)
    }
    rootOperations.store(
      outcome.ledger.newest?.roots.operationCount ?? 0, ordering: .relaxed)
    pages.free(freed)
    let isReleased = state.withLock { state in
      guard let commit = state.withholdsThrough, outcome.meta.position.commit > commit else {
        return false
      }
      state.withholdsThrough = nil
      return true
    }
    if isReleased { pages.releaseWithheld() }
    for entry in left { pins.unpin(entry.commit) }
    trimCleanPages()
    updateShare()
    updateRoom()
  }

  // MARK: Trouble and the end

  /// A page of a tree that is lost condemns the file.
  private func checkPages() throws(TreeRingError) {
    guard pages.fetchFailureCount > 0, let error = pages.lastFetchFailure, file.isDamaged(error)
    else { return }
    condemn(error)
    throw error
  }

  /// Runs a part that reads nothing but the file, which is condemned if it turns out to be damaged.
  private func condemning<R>(_ body: () throws(TreeRingError) -> R) throws(TreeRingError) -> R {
    do throws(TreeRingError) {
      return try body()
    } catch {
      if error.code == .corruption || file.isDamaged(error) { condemn(error) }
      throw error
    }
  }

  /// Gives up the file, of which a part is lost: the next opening makes a new one from the log.
  private func condemn(_ error: TreeRingError) {
    fail(error)
    do throws(TreeRingError) {
      try fileSystem.unlink(path)
    } catch {
      logger.error("The damaged page file could not be removed: \(error)")
    }
  }

  func fail(_ error: TreeRingError) {
    var failure = error
    // A sync that finds the device full has failed like any other: making room does not help.
    if failure.code == .noSpace { failure.code = .io }
    state.withLock { $0.failure = $0.failure ?? failure }
    hasFailed.store(true, ordering: .releasing)
    logger.error(
      "The page file can not be written any more; reopen the store to go on writing. \(error)")
  }

  /// No more checkpoints: another page file takes this one's place. Waits for one that goes on. What is
  /// in the file can be read as long as somebody holds it.
  func abandon() {
    source.withLock { $0 = nil }
    running.withLock { _ in }
  }

  /// A last checkpoint, if anything was written since the newest one; then no more. The file is closed by
  /// `closeFile`.
  func close() {
    if failure == nil {
      do throws(TreeRingError) {
        try run()
      } catch {
        logger.warning("Closing made no checkpoint, so the next opening replays more: \(error)")
      }
    }
    source.withLock { $0 = nil }
    running.withLock { _ in state.withLock { $0.isClosed = true } }
    // What had been scheduled has ended then, or finds the store closed.
    thread.sync {}
    _ = pages.sections.wait(for: pages.sections.ticket(), atMost: 1_000)
  }

  /// Closes the file of a closed checkpointer. Under the writer's lock: a transaction may write pages early.
  func closeFile() { file.close() }
}

/// What checkpoints have done since the store was opened.
struct CheckpointStatistics: Hashable, Sendable {
  var count = 0
  var writtenPages = 0
  var lastDuration: Duration = .zero
  var slowedCommits = 0
  var slowedTime: Duration = .zero
}
