// The background work on the page file: checkpoints, the file's roots, and the heap's share of the
// memory budget.
//
// A checkpoint is due after so many operations that replaying them would take a while, and when
// dirty pages fill their share of the heap. The pause between two checkpoints is in proportion to
// the time that the last one took, unless memory is short. If dirty pages become too many all the
// same, writers are throttled gradually; `stats` reports by how much.
//
// A page that the file holds may stay in the heap as long as there is room: access is faster there.
// When room is short the checkpointer evicts the pages written longest ago: the mapped file is
// their home again.

internal import DequeModule
internal import Dispatch
internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// Keeps the page file. Any thread.
final class Checkpointer: Sendable {
  /// The number of operations after which a checkpoint is due.
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
    /// The pages of blobs, and the last meta that refers to them.
    var blobs: [(sequence: UInt64, pages: [PageNumber])] = []
    /// Roots that the newest meta has dropped and the one before it keeps. They stay pinned until
    /// the older meta has been overwritten: the device may have lost the newest one.
    var leaving: [RootLedger.Entry] = []
    /// The roots that followers read, as of the last time that roots were dropped.
    var followed: Set<CommitNumber> = []
    /// The pages in the heap that the file holds too, in the order of writing; some have been freed
    /// since.
    var clean: Deque<RetiredPage> = []
    /// Roots before this commit are to be dropped, unless a tag keeps them.
    var horizon: CommitNumber = 0
    var tagged: Set<CommitNumber> = []
    /// The commit that a root must be younger than before withheld free numbers become available.
    var withholdsThrough: CommitNumber?
    /// The reason why no more checkpoints are made.
    var failure: TreeRingError?
    var isClosed = false
    var lastDuration: Duration = .zero
    var lastEnd = ContinuousClock.now
    var statistics = CheckpointStatistics()
  }
  let state: Mutex<State>
  /// Frames of evicted pages that a reader may still hold, in the order of eviction.
  let parked = Mutex<Deque<ParkedFrames>>([])
  /// The number of those frames.
  let parkedCount = Atomic<Int>(0)
  /// Held throughout a checkpoint.
  let running = Mutex<Void>(())
  let thread = DispatchQueue(label: "treering.checkpoints", qos: .utility)
  /// The source of the visible version, once the store is open.
  let source = Mutex<Source?>(nil)
  let isScheduled = Atomic<Bool>(false)
  let isUrgent = Atomic<Bool>(false)
  let isEvicting = Atomic<Bool>(false)
  /// The number of scheduled checkpoints that were made or have failed.
  let attempts = Atomic<Int>(0)
  /// The number of writers that wait for a checkpoint.
  let waiting = Atomic<Int>(0)
  /// The operation count of the newest root.
  let rootOperations = Atomic<UInt64>(0)
  /// The number of dead pages after the last checkpoint, and how many more there may be before the
  /// next one has ended; see `updateRoom`.
  let deadBase = Atomic<Int>(0)
  let deadRoom = Atomic<Int>(.max)
  private let heapPages = Atomic<Int>(0)
  private let hasFailed = Atomic<Bool>(false)

  /// Frames that can be freed when every section begun before has ended.
  struct ParkedFrames: Sendable {
    let addresses: [UInt]
    let ticket: ReadSections.Ticket
  }

  struct Source: Sendable {
    var queue: CommitQueue
    var writerLock: OwnedLock
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
    rootOperations.store(
      state.ledger.newest?.roots.operationCount ?? 0, ordering: .relaxed)
    self.state = Mutex(state)
    updateShare()
  }

  /// Connects the queue whose visible version later checkpoints write. Nothing is sequenced yet.
  func attach(_ queue: CommitQueue, _ writerLock: OwnedLock) {
    let count = pageUse.live
    source.withLock {
      $0 = Source(queue: queue, writerLock: writerLock, firstPageCount: count)
    }
    updateRoom()
  }

  /// The heap's share of the budget.
  var share: HeapShare { HeapShare(pages: heapPages.load(ordering: .relaxed)) }

  /// Computes `share` again: the page table, which reduces it, grows with the store.
  func updateShare() {
    let share = budget.heap(tableByteCount: pages.tableByteCount)
    heapPages.store(share.pages, ordering: .relaxed)
  }

  /// The reason why no more checkpoints are made and the store takes no more writes; nil if there
  /// is none.
  var failure: TreeRingError? {
    hasFailed.load(ordering: .acquiring) ? state.withLock { $0.failure } : nil
  }

  // MARK: A checkpoint

  /// Makes a checkpoint of the visible version, or of a given one while the store is being opened.
  /// Does nothing if the newest root is of that commit, unless the meta must be written again:
  /// because roots are to be dropped, or because `isForced` says that the log has changed under it.
  func run(_ version: Version? = nil, isForced: Bool = false) throws(TreeRingError) {
    try running.withLock { (_) throws(TreeRingError) in
      try runAlone(version, isForced: isForced)
    }
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
    return try source.writerLock.hold {
      let (visible, unpublished) = source.queue.checkpointState
      return begun(visible, unpublished)
    }
  }

  /// Pauses between two slices. If writers are short of memory, it first makes the written pages
  /// durable, so that they can be evicted and writers need not wait for the checkpoint's end.
  private func relieve(_ written: inout ArraySlice<RetiredPage>) throws(TreeRingError) {
    if heldFrameCount > share.slowPages {
      // A sync cannot free frames that a reader still holds.
      if pages.heapPageCounts.dirty > share.dirtyPages {
        try file.sync()
        noteDurable(written)
        written = written.suffix(0)
      }
      // It does not wait for those frames either: writers may be waiting for the next slice.
      evict(napLimit: 10)
    }
    Self.nap(.microseconds(200))
  }

  /// Marks pages as durable in the file, so that they may be evicted.
  private func noteDurable(_ written: ArraySlice<RetiredPage>) {
    // Before they are listed: an eviction skips pages that are not clean.
    pages.markClean(written)
    state.withLock { state in
      state.clean.append(contentsOf: written)
      state.statistics.writtenPages += written.count
    }
  }

  private func settle(_ outcome: Checkpoint.Outcome, duration: Duration) {
    noteDurable(outcome.written)
    let sequence = outcome.meta.sequence
    let (freed, left) = state.withLock { state -> ([PageNumber], [RootLedger.Entry]) in
      // In one critical section, so that every page is on one list whenever pages are counted.
      for (root, count) in outcome.saved { pins.removeSaved(count, of: root) }
      for (root, list) in outcome.dropped { pins.unkeep(root, saved: list) }
      let left = state.leaving
      state.leaving = state.ledger.entries.filter { outcome.dropped[$0.commit] != nil }
      state.ledger = outcome.ledger
      state.sequence = sequence
      state.blobs.append((sequence: sequence - 1, pages: outcome.replacedBlobPages))
      state.blobs.append((sequence: sequence, pages: outcome.ownBlobPages))
      // The meta before the previous one has been overwritten.
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

  func fail(_ error: TreeRingError) {
    var failure = error
    // A sync on a full device fails like any other: making room does not help.
    if failure.code == .noSpace { failure.code = .io }
    state.withLock { $0.failure = $0.failure ?? failure }
    hasFailed.store(true, ordering: .releasing)
    logger.error(
      "The page file can not be written any more; reopen the store to go on writing. \(error)")
  }

  /// Ends checkpoints, because another page file replaces this one. Waits for a running one. The
  /// file's content stays readable as long as somebody holds it.
  func abandon() {
    source.withLock { $0 = nil }
    running.withLock { _ in }
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
    running.withLock { _ in state.withLock { $0.isClosed = true } }
    // Scheduled work has ended then, or finds the store closed.
    thread.sync {}
    _ = pages.sections.wait(for: pages.sections.ticket(), atMost: 1_000)
  }

  /// Closes the file of a closed checkpointer. Under the writer's lock, since a transaction may
  /// write pages early.
  func closeFile() { file.close() }
}

/// The work of checkpoints since the store was opened.
struct CheckpointStatistics: Hashable, Sendable {
  var count = 0
  var writtenPages = 0
  var lastDuration: Duration = .zero
  var slowedCommits = 0
  var slowedTime: Duration = .zero
}
