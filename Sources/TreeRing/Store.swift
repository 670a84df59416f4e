// The façade: opens a store, returns snapshots, accepts writes.
//
// A store is a folder: `log/` holds the truth, `pages` the trees as of the newest checkpoint.
// Opening replays the later commits of the log on top of them. A write edits the trees
// copy-on-write, appends its operations to the log, and becomes visible once the log reports it
// complete. Data flows one way: transaction → log → visible version → snapshots.

internal import Dispatch
internal import Logging
public import TreeRingLog
internal import TreeRingPlatform

/// An embedded, event-sourced store.
///
///     let store = try Store(at: "library.ring")
///     let books = Bucket<Book>("books")
///     try store.write { tx in try tx.put(mobyDick, for: "moby", in: books) }
///     let book = try store.snapshot().get("moby", in: books)
///
/// Any thread may use it.
public final class Store: Sendable {
  /// The store's folder; nil for a store in memory.
  public let path: String?
  /// The options that the store was opened with.
  public let options: StoreOptions

  let log: CommitLog
  let opening: Opening
  /// Whether the commits are shared with other replicas.
  let isReplica: Bool
  let fileSystem: any FileSystem
  private let currentEngine: Monitor<Engine>
  let pinRegistry = PinRegistry()
  let maintenance = Maintenance()
  /// Held by the thread that builds and sequences a commit.
  let writerLock = OwnedLock(
    refusal: "A write was opened, or the store closed, inside the closure of a write. Use the "
      + "transaction at hand instead, and close the store after it.")
  let asyncWriter = AsyncWriter()
  let jointWrites: JointWrites
  let durations = Durations()
  let sweeper = Sweeper()
  let code: Mutex<[CodeIndex]>
  let definitions = ActiveIndexCache()
  /// Used under the writer's lock.
  let writerMemory = WriterMemory()
  /// Follows the writer; nil unless the store is open for reading.
  let follower: Follower?
  private let lock: StoreLock?
  /// Held while a thread closes the store.
  private let closing = Monitor(())
  private let isClosed = Atomic<Bool>(false)
  /// Whether commits dated ahead of the clock have been reported.
  let hasWarnedOfDates = Atomic<Bool>(false)

  /// Opens the store in a folder. Creates it if there is none, unless the mode says otherwise.
  ///
  /// Opening reads the page file's newest checkpoint and replays the later commits of the log.
  /// Without an intact page file it replays the whole log: O(operations in the log).
  /// - Parameters:
  ///   - path: The folder.
  ///   - options: The options of the opening.
  ///   - progress: Called from time to time while commits are replayed, on the caller's thread.
  /// - Throws: `locked` if another process has the store open for writing; `corruption` if bytes on
  ///   disk are not those written; `notFound` if there is no store and the mode creates none;
  ///   `notAStore` if there is none and the folder is not empty, or something else stands at the
  ///   path of a store's file; `unfinishedCopy` if the folder holds an unfinished backup, restore
  ///   or salvage; `logBehindPages` if the log has lost durable commits: a checkpoint holds the
  ///   state after them; `invalidInput` if two of the indexes given have one name; `newerVersion`
  ///   if rows of a given bucket are of a later version.
  public convenience init(
    at path: String, options: StoreOptions = StoreOptions(),
    progress: ((OpeningProgress) -> Void)? = nil
  ) throws {
    try self.init(
      path: path, fileSystem: PosixFileSystem(), options: options, progress: progress)
  }

  /// Opens the store in a folder, with group indexes defined in code and default options otherwise.
  public convenience init(at path: String, indexes: [any IndexDeclaration]) throws {
    try self.init(at: path, options: StoreOptions(indexes: indexes))
  }

  /// Creates a store in memory. It ends with its object; for tests and previews.
  public static func inMemory(options: StoreOptions = StoreOptions()) throws -> Store {
    try Store(path: nil, fileSystem: MemoryFileSystem(), options: options)
  }

  /// Creates a store in memory with group indexes defined in code.
  public static func inMemory(indexes: [any IndexDeclaration]) throws -> Store {
    try inMemory(options: StoreOptions(indexes: indexes))
  }

  package init(
    path: String?, fileSystem: any FileSystem, options: StoreOptions,
    progress: ((OpeningProgress) -> Void)? = nil
  ) throws {
    try options.checkIndexNames()
    self.path = path
    self.options = options
    isReplica = options.sharing != nil
    jointWrites = JointWrites(isReplicated: isReplica)
    self.fileSystem = fileSystem
    let folder = path ?? "store"
    lock = try Self.prepare(folder, fileSystem: fileSystem, options)
    let registered = options.indexes.map(\.code)
    code = Mutex(registered)
    opening = Opening(
      folder: folder, fileSystem: fileSystem, options: options, code: registered,
      withoutWriter: { [writerLock] body throws(TreeRingError) in try writerLock.hold(body) },
      lock: lock, keepsPages: path != nil && options.mode != .readOnly)
    if options.mode == .readOnly {
      let reading = ReaderOpening(
        folder: folder, fileSystem: fileSystem, options: options, code: registered,
        progress: progress)
      let opened = try reading.run()
      log = opened.log
      currentEngine = Monitor(opened.engine)
      follower = opened.follower
      pinRegistry.open(horizon: opened.log.horizon)
      try opened.follower.start()
      try checkVersions(of: options.buckets)
      return
    }
    let (log, engine) = try opening.run(progress)
    self.log = log
    currentEngine = Monitor(engine)
    follower = nil
    pinRegistry.open(horizon: log.horizon)
    if isReplica {
      try checkVersions(of: options.buckets, records: false)
    } else {
      try recordDefinitions()
    }
    considerCompaction()
    considerSweep()
    Self.whenOpened?(folder, fileSystem, options)
  }

  /// Writes the versions of buckets and the indexes that the options name, where they are new.
  func recordDefinitions() throws {
    try checkVersions(of: options.buckets)
    for index in options.indexes { try register(index) }
  }

  /// Called when a store has been opened for writing. Tests set it to check that store afterwards.
  @TaskLocal package static var whenOpened:
    (@Sendable (_ folder: String, any FileSystem, StoreOptions) -> Void)?

  deinit {
    do {
      try close()
    } catch {
      options.logger.error("closing the store failed", metadata: ["error": "\(error)"])
    }
  }

  /// The trees and everything that serves them. Erasing replaces the engine, so code that uses it
  /// twice reads it once into a variable, or holds the writer's lock.
  var engine: Engine { currentEngine.withLock { $0 } }
  var pages: PageStore { engine.pages }
  var pinTable: PinTable { engine.pins }
  var reclaimer: Reclaimer { engine.reclaimer }
  var records: ChangeRecords { engine.records }
  var queue: CommitQueue { engine.queue }
  var timeTravel: TimeTravel { engine.timeTravel }

  /// Rebuilds all trees from the log into a new page file, which replaces the old one: no byte of
  /// that stays in the folder. Earlier snapshots keep their trees. The caller holds the writer's
  /// lock. It has abandoned the checkpointer first, because a checkpoint may be waiting for this
  /// lock.
  func rebuildEngine(because reason: String) throws(TreeRingError) {
    try log.sync()
    let old = engine
    old.queue.publish(through: log.completed)
    old.checkpointer?.abandon()
    let fresh = try opening.rebuild(log, because: reason, nil)
    currentEngine.withLock { $0 = fresh }
    definitions.clear()
    writerMemory.clear()
    old.queue.wakeAll()
  }

  /// Makes a checkpoint now, so that the next opening replays only later commits. The engine makes
  /// checkpoints automatically; this is for an application that prefers its own moment.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  /// - Throws: `noSpace`, `io`, `poisoned`; `notAllowed` inside the closure of a write.
  public func checkpoint() throws {
    try checkOpen()
    try writerLock.checkOutside()
    try engine.checkpointer?.run()
  }

  /// Creates the folder if the mode allows it, and takes the lock. Changes nothing in a folder that
  /// is not a store's.
  private static func prepare(
    _ folder: String, fileSystem: any FileSystem, _ options: StoreOptions
  ) throws(TreeRingError) -> StoreLock? {
    if !options.isUnfinishedCopy { try UnfinishedCopy.check(folder, fileSystem: fileSystem) }
    if options.mode == .readOnly {
      guard try fileSystem.exists(folder + "/log") else { throw missing(folder) }
      return nil
    }
    let found = try StoreFolder(folder, fileSystem: fileSystem) { (path) throws(TreeRingError) in
      try PageFile.hasMagic(path, fileSystem: fileSystem)
    }
    switch found {
    case .store: break
    case .absent, .empty:
      guard options.mode == .create else { throw missing(folder) }
      try fileSystem.makeDirectory(folder)
      // Until the log exists nothing depends on this folder; afterwards a crash must not lose its
      // name.
      try fileSystem.syncFolder(above: folder)
    case .damaged(let error): throw error
    case .foreign(let name):
      throw options.mode == .create
        ? StoreFolder.refusal(name, in: folder) : missing(folder)
    }
    return try StoreLock(path: folder + "/LOCK", fileSystem: fileSystem)
  }

  private static func missing(_ folder: String) -> TreeRingError {
    TreeRingError(
      .notFound, "There is no store here. Check the path, or create one.", file: folder)
  }

  // MARK: - Reading

  /// A snapshot of the newest visible commit. O(1).
  public func snapshot(
    file: String = #fileID, line: Int = #line
  ) throws(TreeRingError) -> Snapshot {
    let creator = PinCreator(file: file, line: line)
    while true {
      try checkOpen()
      try follower?.check()
      let version = queue.visible
      let commit = version.roots.commit
      do throws(TreeRingError) {
        let life = try pinRegistry.add(commit: commit, version: version, creator: creator)
        guard let life else {
          // The followed writer's horizon has passed the visible commit; wait until a newer one is
          // visible.
          if queue.visibleCommit == commit { Platform.sleep(.milliseconds(1)) }
          continue
        }
        return Snapshot(pin: SnapshotPin(store: self, version: version, life: life))
      } catch {
        // The horizon may have passed this commit if a newer one has become visible since.
        if queue.visibleCommit == commit { throw error }
      }
    }
  }

  /// A snapshot of the store at a point in history. O(1) for recent commits, else O(operations
  /// replayed).
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  /// - Throws: `notFound` for a commit that does not exist yet or an unknown tag; `beyondHorizon`
  ///   for a commit that history no longer reaches back to.
  public func snapshot(
    at point: ReadPoint, file: String = #fileID, line: Int = #line
  ) throws(TreeRingError) -> Snapshot {
    try checkOpen()
    let number = try commit(at: point)
    let life = try pin(number, creator: PinCreator(file: file, line: line))
    let definitions = queue.visible.catalog
    do throws(TreeRingError) {
      let version = try version(at: number, definitions: definitions)
      life.hold(version)
      return Snapshot(
        pin: SnapshotPin(store: self, version: version, definitions: definitions, life: life))
    } catch {
      pinRegistry.remove(life)
      // Once the pin has been dropped, the log may have changed.
      try life.check()
      throw error
    }
  }

  /// The number of the commit at a point in history.
  public func commit(at point: ReadPoint) throws(TreeRingError) -> CommitNumber {
    try checkOpen()
    try follower?.check()
    let newest = queue.visible
    let number: CommitNumber
    switch point {
    case .commit(let wanted): number = wanted
    case .date(let date): number = min(try log.newest(atOrBefore: date), newest.roots.commit)
    case .tag(let name):
      guard let tagged = try reader(of: newest).tag(name) else {
        throw TreeRingError.noTag(named: name)
      }
      number = tagged
    }
    guard number <= newest.roots.commit else {
      throw TreeRingError(
        .notFound,
        "There is no commit \(number) yet; the newest is \(newest.roots.commit).", commit: number)
    }
    try checkReadable(number)
    return number
  }

  /// The number of the newest visible commit; 0 in an empty store.
  public var newestCommit: CommitNumber { queue.visibleCommit }

  /// Waits until a commit is visible.
  /// - Throws: `closed` if the store is closed first; `cancelled` if the task is cancelled.
  public func reached(_ commit: CommitNumber) async throws(TreeRingError) {
    guard try await waitUntilVisible(commit) else {
      throw TreeRingError(.cancelled, "Waiting for commit \(commit) was cancelled.")
    }
  }

  /// Waits until a commit is visible; returns false if the task is cancelled first.
  func waitUntilVisible(_ commit: CommitNumber) async throws(TreeRingError) -> Bool {
    while newestCommit < commit {
      try checkOpen()
      try follower?.check()
      if Task.isCancelled { return false }
      // Erasing replaces the queue.
      let queue = queue
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          queue.whenVisible(commit) { continuation.resume() }
          // Closing, cancelling, erasing or the end of following may have come before the waiter
          // was registered.
          let isOver =
            isClosed.load(ordering: .acquiring) || Task.isCancelled || follower?.hasStopped == true
          if isOver || self.queue !== queue { queue.wakeAll() }
        }
      } onCancel: {
        queue.wakeAll()
      }
    }
    return true
  }

  /// Waits until a commit is visible. Calls `isOver` at least five times a second.
  /// - Returns: False if `isOver` returned true.
  /// - Throws: `closed`; the error that ended the following of a writer; the errors of `isOver`.
  package func wait(for commit: CommitNumber, unless isOver: () throws -> Bool) throws -> Bool {
    let visible = DispatchSemaphore(value: 0)
    queue.whenVisible(commit) { visible.signal() }
    while true {
      if try isOver() { return false }
      if newestCommit >= commit { return true }
      try checkOpen()
      try follower?.check()
      _ = visible.wait(timeout: .now() + .milliseconds(200))
    }
  }

  /// For a store open for reading: throws the error that ended the following of its writer.
  package func checkFollowing() throws(TreeRingError) { try follower?.check() }

  /// Every live snapshot, the oldest commit first.
  public var pins: [PinInfo] { pinRegistry.all }

  // MARK: - Closing

  /// Makes everything durable and releases the folder. Later calls throw `closed`. A second call
  /// does nothing; a call during another thread's close waits until that has ended.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: `notAllowed` inside the closure of a write, or inside a progress closure of a
  ///   compaction, an erasing or a backup; then nothing is closed. Otherwise the error that kept
  ///   the log from being closed cleanly.
  public func close() throws {
    try writerLock.checkOutside()
    try maintenance.checkOutside()
    try closing.withLock { _ in
      if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
      queue.wakeAll()
      // Background work finds the store closed and stops.
      try maintenance.alone {}
      defer { lock?.release() }
      follower?.close()
      engine.checkpointer?.close()
      try writerLock.withLock {
        engine.checkpointer?.closeFile()
        try log.close()
      }
    }
  }

  /// Throws `closed` once the store is closed.
  @inline(__always)
  func checkOpen() throws(TreeRingError) {
    if isClosed.load(ordering: .relaxed) { throw TreeRingError.storeClosed }
  }
}
