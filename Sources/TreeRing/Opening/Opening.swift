// Opens a store: reads the newest state that the page file holds, then replays the later commits of
// the log. Without a page file that fits the log, it replays everything. Checkpoints during the
// replay keep memory within its budget, and let an interrupted opening continue where it ended.

internal import Logging
public import TreeRingLog

/// The progress of an opening that replays the log.
public struct OpeningProgress: Hashable, Sendable {
  /// The reason why commits are replayed.
  public var reason: String
  /// The last commit read from the log so far.
  public var commit: CommitNumber
  /// The newest commit of the log.
  public var newest: CommitNumber
}

/// One opening of a store, and any later rebuilding of its engine.
struct Opening: Sendable {
  typealias Progress = (OpeningProgress) -> Void

  let folder: String
  let fileSystem: any FileSystem
  let options: StoreOptions
  let code: [CodeIndex]
  /// Holds writers back while a checkpoint captures the visible version.
  let withoutWriter: Checkpointer.WithoutWriter
  /// Held while the store is open for writing; publishes the durable commit to followers.
  let lock: StoreLock?
  /// Whether the trees are kept in a page file.
  let keepsPages: Bool

  private var budget: MemoryBudget { MemoryBudget(byteCount: options.memoryBudget) }
  private var pagesPath: String { folder + "/pages" }

  /// The parts of an engine while it is being built.
  struct Parts {
    var pages: PageStore
    var pins: PinTable
    var reclaimer: Reclaimer
    var checkpointer: Checkpointer?
    var version: Version
  }

  /// Opens the log and builds an engine whose state is that of the log's end.
  func run(_ progress: Progress?) throws(TreeRingError) -> (log: CommitLog, engine: Engine) {
    var reason = "The store has no page file."
    var metas: [Meta] = []
    var file: PageFile?
    if keepsPages, try fileSystem.exists(pagesPath) {
      do throws(TreeRingError) {
        let opened = try PageFile.open(pagesPath, fileSystem: fileSystem, mode: .readWrite)
        let found = try opened.metas()
        (file, metas) = (opened, found.valid)
        reason = found.flaws.joined(separator: "; ")
      } catch  where error.code == .corruption || error.code == .unsupportedFormat {
        reason = error.description
      }
    }
    let log: CommitLog
    do throws(TreeRingError) {
      log = try openLog(trusting: metas.first)
    } catch  where error.code == .noSpace {
      // Recovery writes commits to a new file, and the page file takes room that can be freed.
      file?.close()
      guard try unlinkPages() else { throw error }
      log = try openLog(trusting: metas.first)
      reason = "The device is full, and the page file was removed to make room for the log."
      (file, metas) = (nil, [])
    }
    lock?.publish(durable: log.durable)
    if let file {
      // Recovery mode `prefix` cut off commits that had been synced. The page file may hold pages
      // of them, and their numbers will be used again.
      if let flaw = log.recoveryReport.flaw {
        reason = "The log was cut: \(flaw.message)"
        metas = []
      }
      for meta in metas {
        do throws(TreeRingError) {
          guard try meta.fits(log, trust: log.trust) else {
            reason = "The page file is not of this log."
            continue
          }
          return (
            log,
            try engine(
              log, try restore(meta, file, log), because: "The log continues after the checkpoint.",
              progress)
          )
        } catch  where error.code == .corruption || file.isDamaged(error) {
          reason = error.description
        }
      }
      file.close()
    }
    return (log, try rebuild(log, because: reason, progress))
  }

  /// Builds an engine from the log alone, and replaces the page file, if there is one.
  func rebuild(
    _ log: CommitLog, because reason: String, _ progress: Progress?
  ) throws(TreeRingError) -> Engine {
    if try unlinkPages() {
      options.logger.notice(
        "The page file is rebuilt from the log.", metadata: ["reason": "\(reason)"])
    }
    let parts = try empty(log)
    return try engine(log, parts, because: reason, progress)
  }

  /// Removes the page file durably. A process that has it open can continue to use it.
  /// - Returns: Whether there was one.
  @discardableResult
  func unlinkPages() throws(TreeRingError) -> Bool {
    guard keepsPages, try fileSystem.exists(pagesPath) else { return false }
    try lock?.check()
    try fileSystem.unlink(pagesPath)
    try fileSystem.syncDirectory(folder)
    return true
  }

  private func openLog(trusting meta: Meta?) throws(TreeRingError) -> CommitLog {
    var logOptions = options.logOptions(trusting: meta)
    logOptions.durableChanged = { [lock] in lock?.publish(durable: $0) }
    logOptions.folderCheck = { [lock] (always) throws(TreeRingError) in
      try lock?.check(always: always)
    }
    let log = try CommitLog(
      directory: try BackupSwitch.logFolder(
        of: folder, fileSystem: fileSystem, mayWrite: options.mode != .readOnly),
      fileSystem: fileSystem, options: logOptions)
    try PageBirth.checkRoom(after: log)
    return log
  }

  // MARK: Starting states

  /// The state before the first commit, with a new page file if the store keeps one.
  private func empty(_ log: CommitLog) throws(TreeRingError) -> Parts {
    guard keepsPages else {
      let pages = PageStore(
        cellCapacity: options.pageCellCapacity, countsReaders: options.pinLimit != nil)
      return parts(pages, PinTable(pages: pages), Roots(), Catalog(), log)
    }
    let file = try PageFile.open(pagesPath, fileSystem: fileSystem, mode: .create)
    try fileSystem.syncDirectory(folder)
    let pages = makePages(file)
    return parts(
      pages, PinTable(pages: pages), Roots(), Catalog(), log, file: file,
      state: Checkpointer.State())
  }

  /// The state that a meta describes.
  private func restore(
    _ meta: Meta, _ file: PageFile, _ log: CommitLog
  ) throws(TreeRingError) -> Parts {
    // Pages beyond the file's end cannot be read, so they count neither as used nor as free.
    let bound = try file.pageBound()
    var blobPages: [PageNumber] = []
    let retained = try RetainedRoot.decode(
      try file.readBlob(meta.roots, addingPagesTo: &blobPages), below: min(bound, meta.pageBound))
    guard let newest = retained.last, newest.roots.commit == meta.position.commit else {
      throw TreeRingError(
        .corruption, "The page file's roots do not match its meta; it is rebuilt from the log.",
        file: pagesPath)
    }
    // The next commit would get a date that the log refuses.
    if newest.roots.commit == log.sequenced, newest.roots.timestamp < log.sequencedTimestamp {
      throw TreeRingError(
        .corruption,
        "The page file dates commit \(newest.roots.commit) earlier than the log does; it is "
          + "rebuilt from the log.", file: pagesPath)
    }
    let pages = makePages(file)
    var free = BitSet(
      words: try FreeMap.decode(
        try file.readBlob(meta.free, addingPagesTo: &blobPages), below: meta.pageBound))
    guard UInt64(free.count) + meta.livePageCount + 1 == UInt64(meta.pageBound) else {
      throw TreeRingError(
        .corruption,
        "The page file's free pages do not match its meta; it is rebuilt from the log.",
        file: pagesPath)
    }
    // An earlier opening may have written pages after this meta: for a checkpoint that did not
    // complete, or early, for a transaction that failed. Their births may be those of pages made
    // now. If such a slot were used again and that write were lost, the old page would be taken for
    // the new one. So each slot is checked before its use. A slot that holds such a page is
    // withheld until every new page is younger than all of them.
    free.set(Int(meta.pageBound)..<max(Int(bound), Int(meta.pageBound)))
    free.removeAll(from: Int(bound))
    pages.adopt(bound: bound, free: free) { range in
      file.reusableSlots(in: range, withoutPagesBornAfter: newest.roots.state)
    }
    let pins = PinTable(pages: pages)
    for root in retained {
      pins.pin(root.roots.state)
      pins.keep(root.roots.state)
    }
    var state = Checkpointer.State()
    state.sequence = meta.sequence
    state.withholdsThrough = log.sequenced
    state.ledger.entries = retained.map {
      RootLedger.Entry(roots: $0.roots, lists: $0.deadLists)
    }
    state.blobs = [(meta.sequence, blobPages)]
    let catalog = try pages.read { () throws(TreeRingError) in
      try Catalog(Tree(newest.roots.catalog, pages: pages))
    }
    return parts(pages, pins, newest.roots, catalog, log, file: file, state: state)
  }

  private func makePages(_ file: PageFile) -> PageStore {
    PageStore(supply: file.makeSupply(), cellCapacity: options.pageCellCapacity)
  }

  private func parts(
    _ pages: PageStore, _ pins: PinTable, _ roots: Roots, _ catalog: Catalog, _ log: CommitLog,
    file: PageFile? = nil, state: Checkpointer.State? = nil
  ) -> Parts {
    let reclaimer = Reclaimer(pages: pages, pins: pins)
    var checkpointer: Checkpointer?
    if let file, let state {
      checkpointer = Checkpointer(
        file: file, path: pagesPath, fileSystem: fileSystem, pages: pages, pins: pins,
        reclaimer: reclaimer, log: log, budget: budget, logger: options.logger, state: state)
    }
    pins.pin(roots.state)
    return Parts(
      pages: pages, pins: pins, reclaimer: reclaimer, checkpointer: checkpointer,
      version: Version(
        roots: roots, catalog: catalog, pages: pages, reclaimer: reclaimer))
  }

  // MARK: Replay

  private func engine(
    _ log: CommitLog, _ start: Parts, because reason: String, _ progress: Progress?
  ) throws(TreeRingError) -> Engine {
    var parts = start
    let newest = log.sequenced
    var pauses = true
    if parts.version.roots.commit < newest, let checkpointer = parts.checkpointer {
      checkpointer.limitGrowth(checkpointer.pageUse)
    }
    while parts.version.roots.commit < newest {
      parts.version = try replay(log, parts, through: newest, pauses: pauses) { commit in
        progress?(OpeningProgress(reason: reason, commit: commit, newest: newest))
      }
      parts.reclaimer.drain()
      guard parts.version.roots.commit < newest else { break }
      do throws(TreeRingError) {
        try parts.checkpointer?.run(parts.version)
      } catch  where error.code == .noSpace {
        // Continue in memory, as a transaction does without room. Compaction makes room later.
        options.logger.warning(
          "The device is full, so the store is opened without checkpoints: \(error)")
        pauses = false
      }
      parts.checkpointer?.evict()
    }
    let engine = Engine(
      pages: parts.pages, pins: parts.pins, reclaimer: parts.reclaimer, log: log,
      visible: parts.version, budget: budget, checkpointer: parts.checkpointer)
    parts.checkpointer?.attach(engine.queue, withoutWriter: withoutWriter)
    parts.checkpointer?.consider(replayByteCount: parts.version.roots.replayByteCount)
    return engine
  }

  /// Replays commits on top of a version until the log ends or, if `pauses` is set, until enough
  /// pages are dirty for a checkpoint.
  /// - Parameter note: Called with the number of a commit at intervals, and with the last one.
  private func replay(
    _ log: CommitLog, _ parts: Parts, through newest: CommitNumber, pauses: Bool,
    note: (CommitNumber) -> Void
  ) throws(TreeRingError) -> Version {
    let base = parts.version
    var noted = base.roots.operationCount
    let active = try ActiveIndexes(base.roots.indexes, of: [base.catalog], code: code)
    let editor = StateEditor(
      pages: parts.pages, epoch: base.roots.commit + 1, base: base.roots, catalog: base.catalog,
      active: active, code: code, values: ValueSource(log: log), recorder: nil)
    editor.spill = parts.checkpointer?.spill
    let makeFile: ChangeSorter.MakeFile? =
      keepsPages ? { () throws(TreeRingError) in try makeReplayFile() } : nil
    do throws(TreeRingError) {
      try parts.pages.read { () throws(TreeRingError) in
        try editor.buildMissingIndexes()
        try editor.replay(
          log, through: newest, byteLimit: budget.replayBytes, makeFile: makeFile,
          while: { commit in
            if editor.roots.operationCount - noted >= Self.operationsPerNote {
              noted = editor.roots.operationCount
              note(commit)
            }
            return !pauses || !shouldPause(editor.roots, since: base.roots, parts)
          })
        try editor.buildMissingIndexes()
      }
    } catch {
      editor.editor.discard()
      throw error
    }
    editor.noteForm()
    parts.pins.pin(editor.roots.state)
    let version = Version(
      roots: editor.roots, catalog: editor.catalog, pages: parts.pages,
      reclaimer: parts.reclaimer)
    parts.pins.retire(editor.editor.finish().retired, at: version.roots.state)
    note(version.roots.commit)
    return version
  }

  /// Whether a replay should pause for a checkpoint.
  private func shouldPause(_ roots: Roots, since base: Roots, _ parts: Parts) -> Bool {
    guard let checkpointer = parts.checkpointer else { return false }
    // Replaced pages stay in use until the replay pauses, and it checks only every few hundred
    // operations.
    let most = min(checkpointer.share.slowPages, checkpointer.room / 2)
    if parts.pages.heapPageCounts.dirty >= most { return true }
    return roots.operationCount - base.operationCount >= Self.operationsPerCheckpoint
  }

  /// A file for the changes that a replay cannot hold in memory. It has no name when this returns;
  /// the log removes the name that a crash in between leaves.
  private func makeReplayFile() throws(TreeRingError) -> any File {
    let path = "\(folder)/log/replay\(CommitLog.temporarySuffix)"
    // An earlier call has left the name if it could not remove it.
    if try fileSystem.exists(path) { try fileSystem.unlink(path) }
    let file = try fileSystem.open(path, .createNew)
    try fileSystem.unlink(path)
    return file
  }

  /// The number of operations between two checkpoints during a replay. An interrupted opening
  /// repeats as many at most. A replay of more operations makes some pages several times.
  private static let operationsPerCheckpoint: UInt64 = 4_000_000
  /// The number of operations between two reports of progress.
  private static let operationsPerNote: UInt64 = 50_000
}

extension Meta {
  /// Whether it describes a state that a log has passed through.
  /// - Parameter trust: The log's decision about the meta's commit, if it has made one.
  func fits(_ log: CommitLog, trust: LogTrust? = nil) throws(TreeRingError) -> Bool {
    guard storeID == log.storeID, position.commit <= log.completed else { return false }
    // A compacted log cannot be replayed on top of a state that it no longer leads to.
    guard position.commit >= log.horizon else { return false }
    if case .accepted = trust { return true }
    do throws(TreeRingError) {
      return try log.header(of: position.commit).checksum == position.identity
    } catch  where [.notFound, .beyondHorizon].contains(error.code) { return false }
  }
}

extension StoreMode {
  var logAccess: LogAccess {
    switch self {
    case .create: .create
    case .readWrite: .readWrite
    case .readOnly: .readOnly
    }
  }
}

extension TreeRingError {
  /// The error of every call after a store has been closed.
  package static var storeClosed: TreeRingError {
    TreeRingError(.closed, "The store has been closed. Open it again to use it.")
  }
}
