// Opens a store for reading, with or without a running writer.
//
// 1. If a writer holds the lock, the shared word states the durable commit, and nothing after that
//    is read. Without a writer, the log is read as recovery reads it, but nothing is changed.
// 2. The newest root of the page file is registered in `readers/`, so that the writer keeps its
//    pages. If there is no page file or the folder is not writable, the whole log is replayed
//    instead. Then a commit is registered if the folder is writable, so that neither compaction nor
//    erasing passes the visible state. The follower moves over to the page file once that has a
//    root.
// 3. The commits of the log after the root are replayed into private pages.
//
// If a writer begins or ends during the opening, its result may be wrong, and the opening starts
// again.

internal import Logging
internal import TreeRingLog

/// One opening for reading.
struct ReaderOpening {
  let folder: String
  let fileSystem: any FileSystem
  let options: StoreOptions
  let code: [CodeIndex]
  let progress: ((OpeningProgress) -> Void)?

  private let own = ReaderNames()

  private var registry: ReaderRegistry {
    ReaderRegistry(folder: folder, fileSystem: fileSystem, own: own)
  }
  private var lockPath: String { folder + "/LOCK" }
  private static let attempts = 10

  /// Opens the log and the page file, and prepares to follow them.
  func run() throws(TreeRingError) -> (log: CommitLog, engine: Engine, follower: Follower) {
    var attempt = 1
    while true {
      let word = try SharedWord.opened(lockPath, fileSystem)
      let before = word?.value
      let published = try RunningWriter.publishedWord(
        word, lockPath: lockPath, fileSystem: fileSystem)
      do throws(TreeRingError) {
        let opened = try open(word, published)
        if published != nil || word?.value == before || attempt == Self.attempts { return opened }
        opened.follower.close()
      } catch {
        guard attempt < Self.attempts, word?.value != published ?? before else { throw error }
      }
      attempt += 1
    }
  }

  private func open(
    _ word: SharedWord?, _ published: SharedWord.Value?
  ) throws(TreeRingError) -> (log: CommitLog, engine: Engine, follower: Follower) {
    var reason = "The store has no page file."
    for _ in 0..<Self.attempts {
      guard let (checkpoints, root) = try checkpoint(&reason) else { break }
      let log = try openLog(trusting: root.meta, published)
      do throws(TreeRingError) {
        if try root.meta.fits(log) {
          return try engine(log, checkpoints, root, word, published, "log after checkpoint")
        }
        reason = "The page file is not of this log."
      } catch  where checkpoints.isDamaged(error) {
        reason = error.message
      } catch  where error.code == .beyondHorizon {
        // Compaction has passed this root.
        reason = error.message
      }
      root.pin.release()
      // A retry would fail again, unless a writer has made another checkpoint since.
      if try checkpoints.isNewest(root.meta) { break }
    }
    var attempt = 1
    while true {
      do throws(TreeRingError) {
        // Register first, then read the word again. So a row that is deleted later is not erased
        // before the writer finds the pin, and one deleted before is not in the visible state.
        var pin = published?.durable.flatMap(register)
        var now = published
        if let value = word?.value, published != nil, value.durable != nil { now = value }
        let log = try openLog(trusting: nil, now)
        if published == nil { pin = register(log.completed) }
        return try engine(log, makeReader(), nil, word, now, reason, pin: pin)
      } catch  where error.code == .beyondHorizon && attempt < Self.attempts { attempt += 1 }
    }
  }

  /// Registers that the log from a commit on is read; nil if the folder is not writable.
  private func register(_ commit: CommitNumber) -> ReaderPin? {
    guard options.readsPages else { return nil }
    do throws(TreeRingError) {
      return try registry.register(commit)
    } catch {
      options.logger.notice(
        "The reader cannot register, so the writer may drop the history read here: \(error)"
      )
      return nil
    }
  }

  /// The page file's newest root; nil, with the reason, if it cannot be used.
  private func checkpoint(
    _ reason: inout String
  ) throws(TreeRingError) -> (CheckpointReader, CheckpointReader.Root)? {
    guard let reader = makeReader() else { return nil }
    do throws(TreeRingError) {
      return try reader.firstRoot().map { (reader, $0) }
    } catch {
      // The file is not a page file: report that instead of ignoring it.
      if error.code == .notAStore { throw error }
      // After any other failure the log suffices.
      options.logger.notice("The page file cannot be read; the whole log is replayed: \(error)")
      reason = error.message
      return nil
    }
  }

  private func makeReader() -> CheckpointReader? {
    options.readsPages ? CheckpointReader(folder, registry) : nil
  }

  private func openLog(
    trusting meta: Meta?, _ published: SharedWord.Value?
  ) throws(TreeRingError) -> CommitLog {
    var logOptions = options.logOptions(trusting: meta)
    logOptions.through = published?.durable
    let (fileSystem, settled) = (fileSystem, logOptions)
    // If a backup is being replaced as a whole, this reads either the old one or the new one.
    let log = try BackupSwitch.reading(folder, fileSystem: fileSystem) {
      (directory) throws(TreeRingError) in
      try CommitLog(directory: directory, fileSystem: fileSystem, options: settled)
    }
    try PageBirth.checkRoom(after: log)
    return log
  }

  private func engine(
    _ log: CommitLog, _ checkpoints: CheckpointReader?, _ root: CheckpointReader.Root?,
    _ word: SharedWord?, _ published: SharedWord.Value?, _ reason: String, pin: ReaderPin? = nil
  ) throws(TreeRingError) -> (log: CommitLog, engine: Engine, follower: Follower) {
    let pages = PageStore(
      supply: checkpoints?.makeSupply(), cellCapacity: options.pageCellCapacity)
    if let root { pages.adopt(bound: root.bound, free: BitSet()) }
    let pins = PinTable(pages: pages)
    let reclaimer = Reclaimer(pages: pages, pins: pins)
    let budget = MemoryBudget(byteCount: options.memoryBudget)
    let replayer = PrivateReplay(
      pages: pages, pins: pins, reclaimer: reclaimer, log: log, code: code,
      recordByteLimit: budget.recordBytes)
    let newest = log.completed
    let base = try replayer.version(of: root?.roots ?? Roots())
    let version = try replayer.version(
      on: base, through: newest,
      reached: { commit in
        guard commit & 255 == 0 || commit == newest else { return }
        progress?(OpeningProgress(reason: reason, commit: commit, newest: newest))
      })
    let engine = Engine(
      pages: pages, pins: pins, reclaimer: reclaimer, log: log, visible: version,
      budget: budget, checkpointer: nil)
    let follower = Follower(
      lockPath: lockPath, fileSystem: fileSystem, engine: engine, log: log, replayer: replayer,
      logger: options.logger, checkpoints: checkpoints, root: root, pin: pin, word: word,
      processed: published, names: own)
    return (log, engine, follower)
  }
}
