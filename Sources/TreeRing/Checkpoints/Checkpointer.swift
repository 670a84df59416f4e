// Makes checkpoints in the background, keeps the roots of the page file, and keeps the heap within its
// share of the memory budget.
//
// When: after so many operations that replaying them would take a while, and when dirty pages fill
// their share of the heap. Between two checkpoints there is a pause in proportion to the time the last
// one took, unless memory is short. Writers are slowed down, little by little, when dirty pages become
// too many all the same; `stats` says by how much.
//
// A page that the file holds may live on in the heap as long as there is room: it is quicker there.
// When room is short the pages written longest ago move to the mapped file.

internal import DequeModule
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

/// The page file's keeper. Any thread.
final class Checkpointer: Sendable {
  /// After how many operations a checkpoint is due.
  static let operationInterval: UInt64 = 5_000

  let file: PageFile
  let pages: PageStore
  let budget: MemoryBudget
  private let pins: PinTable
  private let reclaimer: Reclaimer
  private let log: CommitLog
  private let logger: Logger
  private let path: String
  private let fileSystem: any FileSystem
  private let readers: ReaderRegistry

  struct State: Sendable {
    var ledger = RootLedger()
    /// The sequence number of the meta in force; 0 before the first.
    var sequence: UInt64 = 0
    /// Pages of blobs, and the last meta that refers to them.
    var blobs: [(sequence: UInt64, pages: [PageNumber])] = []
    /// Pages that the file holds too, those written first first.
    var clean: Deque<RetiredPage> = []
    /// Roots before this commit are to go, if no tag keeps them.
    var horizon: CommitNumber = 0
    var tagged: Set<CommitNumber> = []
    /// Free numbers are withheld until a root is younger than this commit.
    var withholdsThrough: CommitNumber?
    /// Why no more checkpoints are made.
    var failure: TreeRingError?
    var isClosed = false
    var lastDuration: Duration = .zero
    var lastEnd = ContinuousClock.now
    var statistics = CheckpointStatistics()
  }
  let state: Mutex<State>
  /// Held throughout a checkpoint.
  private let running = Mutex<Void>(())
  private let thread = DispatchQueue(label: "treering.checkpoints", qos: .utility)
  /// Where the visible version comes from, once the store is open.
  private let source = Mutex<Source?>(nil)
  private let isScheduled = Atomic<Bool>(false)
  private let isUrgent = Atomic<Bool>(false)
  private let isEvicting = Atomic<Bool>(false)
  /// The operation count of the newest root.
  private let rootOperations = Atomic<UInt64>(0)

  private struct Source: Sendable {
    var queue: CommitQueue
    var writerLock: WriterLock
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
  }

  /// From now on checkpoints are of what is visible there.
  func attach(_ queue: CommitQueue, _ writerLock: WriterLock) {
    source.withLock { $0 = Source(queue: queue, writerLock: writerLock) }
  }

  /// Why no more checkpoints are made: nothing may be written to the store any more.
  var failure: TreeRingError? { state.withLock { $0.failure } }

  // MARK: When

  /// Asks for a checkpoint if one is due. Called after a commit has become visible. O(1).
  func consider(_ roots: Roots) {
    let counts = pages.heapPageCounts
    if counts.dirty >= budget.dirtyPages {
      schedule(isUrgent: true)
    } else if roots.operationCount
      - min(rootOperations.load(ordering: .relaxed), roots.operationCount)
      >= Self.operationInterval
    {
      schedule(isUrgent: false)
    }
    if counts.all > budget.heapPages, counts.all - counts.dirty > 64 { scheduleEviction() }
  }

  private func scheduleEviction() {
    if isEvicting.exchange(true, ordering: .acquiringAndReleasing) { return }
    thread.async { [self] in
      evict()
      isEvicting.store(false, ordering: .releasing)
    }
  }

  private func schedule(isUrgent urgent: Bool) {
    if urgent {
      if isUrgent.exchange(true, ordering: .acquiringAndReleasing) { return }
      thread.async { [weak self] in self?.runScheduled(wasUrgent: true) }
      return
    }
    if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
    let pause = state.withLock { state in
      state.lastDuration * Self.pauseFactor - (ContinuousClock.now - state.lastEnd)
    }
    let delay = DispatchTimeInterval.nanoseconds(Int(max(0, pause / .nanoseconds(1))))
    thread.asyncAfter(deadline: .now() + delay) { [weak self] in
      self?.runScheduled(wasUrgent: false)
    }
  }

  /// How many times as long as a checkpoint the pause after it is.
  private static let pauseFactor = 2

  private func runScheduled(wasUrgent: Bool) {
    if wasUrgent {
      isUrgent.store(false, ordering: .releasing)
    } else {
      isScheduled.store(false, ordering: .releasing)
    }
    guard let newest = source.withLock({ $0?.queue.visible.roots }) else { return }
    let since =
      newest.operationCount
      - min(
        rootOperations.load(ordering: .relaxed), newest.operationCount)
    let isDue =
      since >= Self.operationInterval || pages.heapPageCounts.dirty >= budget.dirtyPages
    guard isDue else { return }
    do throws(TreeRingError) {
      try run()
    } catch {
      // Noted in `failure` where it matters.
      logger.warning("A checkpoint was not made: \(error)")
    }
    evict()
  }

  /// Slows a writer down if dirty pages are too many. Called before a write, outside any lock.
  func pace() {
    let dirty = pages.heapPageCounts.dirty
    guard dirty > budget.slowPages else { return }
    schedule(isUrgent: true)
    let excess = Double(dirty - budget.slowPages) / Double(budget.heapPages - budget.slowPages)
    let start = ContinuousClock.now
    let first = Duration.microseconds(Int64(min(1, excess) * min(1, excess) * 20_000))
    Self.nap(first)
    // Beyond its share nothing grows: then the writer makes the checkpoint itself, or waits for the one
    // that is being made.
    if pages.heapPageCounts.dirty > budget.heapPages {
      do throws(TreeRingError) {
        try run()
      } catch {
        logger.warning("A checkpoint was not made: \(error)")
      }
      scheduleEviction()
    }
    let waited = ContinuousClock.now - start
    state.withLock {
      $0.statistics.slowedCommits += 1
      $0.statistics.slowedTime += waited
    }
  }

  private static func nap(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec(
      tv_sec: numericCast(seconds), tv_nsec: numericCast(attoseconds / 1_000_000_000))
    nanosleep(&time, nil)
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
    try checkPages()
    let start = ContinuousClock.now
    let dropped = try loadSurplus(of: ledger)
    let mustWrite = isForced || !dropped.isEmpty
    guard let begun = try begin(given, after: ledger, dropping: dropped, mustWrite: mustWrite)
    else { return }
    let commit = begun.version.roots.commit
    var checkpoint = Checkpoint(file: file, pages: pages, pins: pins, log: log)
    let outcome: Checkpoint.Outcome
    do throws(TreeRingError) {
      outcome = try checkpoint.write(
        begun, after: ledger, sequence: sequence, dropping: dropped,
        replacing: blobs.flatMap(\.pages), pause: { Self.nap(.microseconds(200)) })
    } catch {
      pages.free(checkpoint.reserved)
      pins.unpin(commit)
      if error.code != .noSpace { fail(error) }
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

  /// The roots to be dropped, with the pages on their lists.
  private func loadSurplus(
    of ledger: RootLedger
  ) throws(TreeRingError) -> [CommitNumber: [RetiredPage]] {
    let (horizon, tagged, blobPages) = state.withLock {
      ($0.horizon, $0.tagged, $0.blobs.reduce(0) { $0 + $1.pages.count })
    }
    let readers: Set<CommitNumber>
    do throws(TreeRingError) {
      readers = try self.readers.pinnedCommits()
    } catch {
      // Who reads what is not known, so nothing may go.
      logger.warning("Followers could not be listed, so no root is dropped: \(error)")
      return [:]
    }
    let live =
      pages.numbers.usedCount - ledger.deadPageCount - pins.deadPageCount - blobPages
    let excess = ledger.deadPageCount - Self.allowance(live: live)
    var dropped: [CommitNumber: [RetiredPage]] = [:]
    for entry in ledger.surplus(
      excess: excess, isHeld: { readers.contains($0.commit) },
      isDue: { $0.commit < horizon && !tagged.contains($0.commit) })
    {
      var list: [RetiredPage] = []
      for blob in entry.lists { list += try DeadList.decode(try file.readBlob(blob)) }
      dropped[entry.commit] = list
    }
    return dropped
  }

  /// How many dead pages the file may keep for the sake of earlier roots.
  static func allowance(live: Int) -> Int { 4 * max(live, 256) }

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

  private func settle(_ outcome: Checkpoint.Outcome, duration: Duration) {
    for (root, count) in outcome.saved { pins.forget(count, of: root) }
    let sequence = outcome.meta.sequence
    let freed = state.withLock { state -> [PageNumber] in
      state.ledger = outcome.ledger
      state.sequence = sequence
      state.blobs.append((sequence: sequence - 1, pages: outcome.replacedBlobPages))
      state.blobs.append((sequence: sequence, pages: outcome.ownBlobPages))
      // The slot of the meta before the last one has been overwritten.
      let old = state.blobs.filter { $0.sequence + 2 <= sequence }
      state.blobs.removeAll { $0.sequence + 2 <= sequence }
      state.clean.append(contentsOf: outcome.written)
      state.lastDuration = duration
      state.lastEnd = ContinuousClock.now
      state.statistics.count += 1
      state.statistics.writtenPages += outcome.written.count
      state.statistics.lastDuration = duration
      return old.flatMap(\.pages)
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
    for (root, list) in outcome.dropped { pins.unkeep(root, saved: list) }
    pages.noteWritten(outcome.written)
  }

  // MARK: The heap

  /// Moves pages that the file holds out of the heap until it is within its share. It waits for read
  /// sections, so it runs on the checkpointer's own thread, outside any lock: a thread inside a section
  /// may be waiting for anything else that is done here. While a store is being opened nobody reads.
  func evict() {
    let counts = pages.heapPageCounts
    var excess = counts.all - budget.heapPages * 3 / 4
    guard counts.all > budget.heapPages * 7 / 8, excess > 0 else { return }
    var frames: [UnsafeMutableRawPointer] = []
    while excess > 0, let page = state.withLock({ $0.clean.popFirst() }) {
      if let frame = pages.rehome(
        page.number, birth: page.birth, to: file.address(of: page.number))
      {
        frames.append(frame)
        excess -= 1
      }
    }
    if frames.isEmpty { return }
    pages.sections.waitForOthers()
    pages.releaseFrames(frames)
  }

  /// Writes pages of an unfinished transaction to their places, which are free for everybody else, if
  /// the heap is full of dirty pages. Called between two operations: nobody may hold pointers into them.
  func spill(_ editor: PageEditor) throws(TreeRingError) {
    guard pages.heapPageCounts.dirty > budget.slowPages else { return }
    let young = editor.pagesInHeap()
    guard young.count > budget.dirtyPages / 2 else { return }
    do throws(TreeRingError) {
      // Then no page in the file is ever younger than the commit after the log's end.
      if log.durable + 1 < editor.epoch { try log.sync() }
      try file.write(young.map { (number: $0.number, page: pages.page($0.number)) })
    } catch {
      // Without room the transaction goes on in memory.
      if error.code == .noSpace { return }
      fail(error)
      throw error
    }
    pages.releaseFrames(
      young.compactMap {
        pages.rehome($0.number, birth: $0.birth, to: file.address(of: $0.number))
      })
    editor.noteSpilled(young.map(\.number))
    state.withLock { $0.statistics.writtenPages += young.count }
  }

  // MARK: Roots

  /// The version of the newest root at or before a commit; nil if there is none.
  func version(atOrBefore commit: CommitNumber) throws(TreeRingError) -> Version? {
    let roots = state.withLock { state -> Roots? in
      guard let entry = state.ledger.entry(atOrBefore: commit) else { return nil }
      pins.pin(entry.commit)
      return entry.roots
    }
    guard let roots else { return nil }
    do {
      let catalog = try pages.reading { try Catalog(Tree(roots.catalog, pages: pages)) }
      return Version(
        roots: roots, catalog: catalog, pages: pages, lease: .pinned, reclaimer: reclaimer)
    } catch {
      pins.unpin(roots.commit)
      throw error as? TreeRingError
        ?? TreeRingError(.unknown, "An unexpected error came up: \(error).")
    }
  }

  /// What the file holds and what has been done for it.
  func report(at operationCount: UInt64) throws(TreeRingError) -> Report {
    let byteCount = try file.size()
    return state.withLock { state in
      Report(
        byteCount: byteCount, rootCount: state.ledger.entries.count,
        deadPageCount: state.ledger.deadPageCount,
        widestGap: state.ledger.widestGap(to: operationCount), statistics: state.statistics)
    }
  }

  struct Report {
    var byteCount: UInt64
    var rootCount: Int
    var deadPageCount: Int
    var widestGap: UInt64
    var statistics: CheckpointStatistics
  }

  /// Roots before a commit are dropped with the next checkpoint, except those of these commits.
  func forgetRoots(before horizon: CommitNumber, keeping tagged: Set<CommitNumber>) {
    state.withLock {
      $0.horizon = max($0.horizon, horizon)
      $0.tagged = tagged
    }
  }

  /// Every page that a root of the file reaches or a blob takes. For checks.
  func reachablePages() throws(TreeRingError) -> Set<PageNumber> {
    let (entries, blobs) = state.withLock { ($0.ledger.entries, $0.blobs) }
    var reachable = Set(blobs.flatMap(\.pages))
    for entry in entries {
      for root in entry.roots.trees {
        reachable.formUnion(TreeChecker.reachablePages(root, pages: pages))
      }
      for list in entry.lists { reachable.formUnion(try file.pages(of: list)) }
    }
    return reachable
  }

  // MARK: Trouble and the end

  /// A page that was damaged condemns the file: the next opening makes a new one from the log.
  private func checkPages() throws(TreeRingError) {
    guard pages.fetchFailureCount > 0, let error = pages.lastFetchFailure,
      error.code == .corruption
    else { return }
    fail(error)
    do throws(TreeRingError) {
      try fileSystem.unlink(path)
    } catch {
      logger.error("The damaged page file could not be removed: \(error)")
    }
    throw error
  }

  private func fail(_ error: TreeRingError) {
    var failure = error
    // A sync that finds the device full has failed like any other: making room does not help.
    if failure.code == .noSpace { failure.code = .io }
    state.withLock { $0.failure = $0.failure ?? failure }
    logger.error(
      "The page file can not be written any more; reopen the store to go on writing. \(error)")
  }

  /// No more checkpoints: another page file takes this one's place. Waits for one that goes on. What is
  /// in the file can be read as long as somebody holds it.
  func abandon() {
    source.withLock { $0 = nil }
    running.withLock { _ in }
  }

  /// A last checkpoint, if anything was written since the newest one; then no more.
  func close() {
    if failure == nil {
      do throws(TreeRingError) {
        try run()
      } catch {
        logger.warning("Closing made no checkpoint, so the next opening replays more: \(error)")
      }
    }
    source.withLock { $0 = nil }
    _ = pages.sections.waitForOthers(atMost: 50_000)
    file.close()
  }
}

/// What checkpoints have done since the store was opened.
struct CheckpointStatistics: Hashable, Sendable {
  var count = 0
  var writtenPages = 0
  var lastDuration: Duration = .zero
  var slowedCommits = 0
  var slowedTime: Duration = .zero
}
