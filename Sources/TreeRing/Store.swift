// The façade: opens a store, hands out snapshots, takes writes.
//
// A store is a folder: `log/` holds the truth, `pages` the trees as of the newest checkpoint. Opening
// replays upon them what the log has after it; a write edits the trees copy-on-write, appends its
// operations to the log, and becomes visible once the log says it is complete. Data flows one
// way: transaction → log → visible version → snapshots.

internal import Foundation
internal import Logging
internal import Synchronization
public import TreeRingLog

/// An embedded, event-sourced store.
///
///     let store = try Store(at: "library.ring")
///     let books = Bucket<Book>("books")
///     try store.write { tx in try tx.put(mobyDick, for: "moby", in: books) }
///     let book = try store.snapshot().get("moby", in: books)
///
/// All of it may be used from any thread.
public final class Store: Sendable {
  /// The store's folder; nil for one in memory.
  public let path: String?
  /// What it was opened with.
  public let options: StoreOptions

  let log: CommitLog
  let opening: Opening
  let fileSystem: any FileSystem
  private let currentEngine: Mutex<Engine>
  let pinRegistry = PinRegistry()
  let maintenance = Maintenance()
  /// Held by whoever builds and sequences a commit.
  let writerLock = OwnedLock(
    refusal: "A write was opened, or the store closed, inside the closure of a write. Use the "
      + "transaction at hand instead, and close the store after it.")
  let asyncWriter = AsyncWriter()
  let code: Mutex<[CodeIndex]>
  let definitions = ActiveIndexCache()
  /// Keeps a store that is open for reading in step with its writer.
  let follower: Follower?
  private let lock: StoreLock?
  private let isClosed = Atomic<Bool>(false)

  /// Opens the store in a folder, and makes it if there is none (unless the mode says otherwise).
  ///
  /// Opening reads the page file's newest checkpoint and replays what the log has after it. Without a
  /// sound page file it replays the whole log: O(operations logged).
  /// - Parameters:
  ///   - path: the folder.
  ///   - options: how to open it.
  ///   - progress: called now and then while commits are replayed, on the caller's thread.
  /// - Throws: `locked` if another process has it open for writing; `corruption` if bytes on disk
  ///   are not what was written; `notFound` if there is none and none is to be made;
  ///   `logBehindPages` if the log has lost commits that a checkpoint had vouched for.
  public convenience init(
    at path: String, options: StoreOptions = StoreOptions(),
    progress: ((OpeningProgress) -> Void)? = nil
  ) throws {
    try self.init(
      path: path, fileSystem: PosixFileSystem(), options: options, progress: progress)
  }

  /// Opens the store in a folder with group indexes defined in code.
  public convenience init(at path: String, indexes: [GroupIndex]) throws {
    try self.init(at: path, options: StoreOptions(indexes: indexes))
  }

  /// A store that lives in memory and is gone with it; for tests and previews.
  public static func inMemory(options: StoreOptions = StoreOptions()) throws -> Store {
    try Store(path: nil, fileSystem: MemoryFileSystem(), options: options)
  }

  /// A store in memory with group indexes defined in code.
  public static func inMemory(indexes: [GroupIndex]) throws -> Store {
    try inMemory(options: StoreOptions(indexes: indexes))
  }

  package init(
    path: String?, fileSystem: any FileSystem, options: StoreOptions,
    progress: ((OpeningProgress) -> Void)? = nil
  ) throws {
    self.path = path
    self.options = options
    self.fileSystem = fileSystem
    let folder = path ?? "store"
    lock = try Self.prepare(folder, fileSystem: fileSystem, mode: options.mode)
    let registered = options.indexes.map(\.code)
    code = Mutex(registered)
    opening = Opening(
      folder: folder, fileSystem: fileSystem, options: options, code: registered,
      writerLock: writerLock, lock: lock, keepsPages: path != nil && options.mode != .readOnly)
    if options.mode == .readOnly {
      let reading = ReaderOpening(
        folder: folder, fileSystem: fileSystem, options: options, code: registered,
        progress: progress)
      let opened = try reading.run()
      log = opened.log
      currentEngine = Mutex(opened.engine)
      follower = opened.follower
      pinRegistry.open(horizon: opened.log.horizon)
      opened.follower.start()
      return
    }
    let (log, engine) = try opening.run(progress)
    self.log = log
    currentEngine = Mutex(engine)
    follower = nil
    pinRegistry.open(horizon: log.horizon)
    for index in options.indexes { try register(index) }
    considerCompaction()
    Self.whenOpened?(folder, fileSystem, options)
  }

  /// Told of every store that is opened for writing, where it lies and how; for tests, which look at it
  /// afterwards.
  @TaskLocal package static var whenOpened:
    (@Sendable (_ folder: String, any FileSystem, StoreOptions) -> Void)?

  deinit {
    do {
      try close()
    } catch {
      options.logger.error("closing the store failed", metadata: ["error": "\(error)"])
    }
  }

  /// The trees and what serves them. Whoever needs them to stay the same from one line to the next
  /// keeps this in a variable, or holds the writer's lock.
  var engine: Engine { currentEngine.withLock { $0 } }
  var pages: PageStore { engine.pages }
  var pinTable: PinTable { engine.pins }
  var reclaimer: Reclaimer { engine.reclaimer }
  var records: ChangeRecords { engine.records }
  var queue: CommitQueue { engine.queue }
  var timeTravel: TimeTravel { engine.timeTravel }

  /// Makes all trees anew from the log, and a new page file in place of the old one, of which no byte
  /// stays in the folder. Earlier snapshots keep what they read. The caller holds the writer's lock, and
  /// has abandoned the checkpointer before, which may wait for that lock.
  func rebuildEngine(because reason: String) throws(TreeRingError) {
    try log.sync()
    let old = engine
    old.queue.publish(through: log.completed)
    old.checkpointer?.abandon()
    let fresh = try opening.rebuild(log, because: reason, nil)
    currentEngine.withLock { $0 = fresh }
    definitions.clear()
    old.queue.wakeAll()
  }

  /// Makes a checkpoint now: the next opening replays what comes after it only. The engine makes them
  /// by itself; this is for a moment that suits better.
  /// - Throws: `noSpace`, `io`, `poisoned`; `notAllowed` inside the closure of a write.
  public func checkpoint() throws {
    try checkOpen()
    try writerLock.checkOutside()
    try engine.checkpointer?.run()
  }

  /// Makes the folder and takes the lock, as the mode asks.
  private static func prepare(
    _ folder: String, fileSystem: any FileSystem, mode: StoreMode
  ) throws(TreeRingError) -> StoreLock? {
    switch mode {
    case .create:
      try fileSystem.makeDirectory(folder)
      // Before the log is there nobody can know of this folder; a crash must not take it afterwards.
      if try !fileSystem.exists(folder + "/log") { try fileSystem.syncFolder(above: folder) }
    case .readWrite, .readOnly:
      guard try fileSystem.exists(folder + "/log") else {
        throw TreeRingError(
          .notFound, "There is no store here. Check the path, or create one.", file: folder)
      }
    }
    if mode == .readOnly { return nil }
    return try StoreLock(path: folder + "/LOCK", fileSystem: fileSystem)
  }

  // MARK: - Reading

  /// The store as it is now. O(1).
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
        guard let registration = try pinRegistry.add(commit: commit, creator: creator) else {
          // The horizon of the writer that is followed has passed what is shown, until more is.
          if queue.visibleCommit == commit { Checkpointer.nap(.milliseconds(1)) }
          continue
        }
        return Snapshot(
          pin: SnapshotPin(
            store: self, version: version, definitions: version.catalog,
            registration: registration))
      } catch {
        // The horizon may have passed this commit if a newer one has become visible since.
        if queue.visibleCommit == commit { throw error }
      }
    }
  }

  /// The store as it was at a point in history. O(1) for recent commits, else O(operations replayed).
  /// - Throws: `notFound` for a commit that is not there yet or an unknown tag; `beyondHorizon` for one
  ///   that history no longer reaches back to.
  public func snapshot(
    at point: ReadPoint, file: String = #fileID, line: Int = #line
  ) throws(TreeRingError) -> Snapshot {
    try checkOpen()
    let number = try commit(at: point)
    let registration = try pin(number, creator: PinCreator(file: file, line: line))
    let definitions = queue.visible.catalog
    do throws(TreeRingError) {
      return Snapshot(
        pin: SnapshotPin(
          store: self, version: try version(at: number, definitions: definitions),
          definitions: definitions, registration: registration))
    } catch {
      pinRegistry.remove(registration.number)
      // Once the pin has been dropped nothing keeps the log as it was.
      try registration.life.check()
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
      let reader = StateReader(
        roots: newest.roots, catalog: newest.catalog, pages: newest.pages,
        values: ValueSource(log: log))
      guard let tagged = try reader.tag(name) else {
        throw TreeRingError(.notFound, "There is no tag named \(name).")
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
  public var newestCommit: CommitNumber { queue.visible.roots.commit }

  /// Waits until a commit is visible.
  /// - Throws: `closed` if the store is closed before; `cancelled` if the task is.
  public func reached(_ commit: CommitNumber) async throws(TreeRingError) {
    guard try await waits(for: commit) else {
      throw TreeRingError(.cancelled, "Waiting for commit \(commit) was cancelled.")
    }
  }

  /// Waits until a commit is visible; false if the task is cancelled before.
  func waits(for commit: CommitNumber) async throws(TreeRingError) -> Bool {
    while newestCommit < commit {
      try checkOpen()
      try follower?.check()
      if Task.isCancelled { return false }
      // Erasing puts another queue in its place.
      let queue = queue
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          queue.whenVisible(commit) { continuation.resume() }
          // Close, cancel or erasing may have come before the waiter was there to be woken.
          let isOver = isClosed.load(ordering: .acquiring) || Task.isCancelled || hasStopped
          if isOver || self.queue !== queue { queue.wakeAll() }
        }
      } onCancel: {
        queue.wakeAll()
      }
    }
    return true
  }

  /// The commit of the page file's root that a store open for reading stands on; nil if it stands on
  /// the log alone, or is open for writing.
  package var followedRoot: CommitNumber? { follower?.rootCommit }

  /// Throws what keeps a store that is open for reading from following its writer any more.
  package func checkFollowing() throws(TreeRingError) { try follower?.check() }

  /// Whether nothing new will be seen of the writer any more.
  private var hasStopped: Bool { follower?.hasStopped ?? false }

  /// Every live snapshot, oldest commit first.
  public var pins: [PinInfo] { pinRegistry.all }

  // MARK: - Closing

  /// Makes everything durable and gives the folder free. Later calls throw `closed`. Closing twice
  /// does nothing.
  /// - Throws: `notAllowed` inside the closure of a write, or one that is told of the progress of a
  ///   compaction, an erasing or a backup, and nothing is closed then; else what kept the log from being
  ///   closed cleanly.
  public func close() throws {
    try writerLock.checkOutside()
    try maintenance.checkOutside()
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    queue.wakeAll()
    // What goes on in the background sees that the store is closed, and stops.
    try maintenance.alone {}
    defer { lock?.release() }
    follower?.close()
    engine.checkpointer?.close()
    try writerLock.withLock {
      engine.checkpointer?.closeFile()
      try log.close()
    }
  }

  /// Throws `closed` once the store is closed.
  @inline(__always)
  func checkOpen() throws(TreeRingError) {
    if isClosed.load(ordering: .relaxed) { throw Self.closedError }
  }

  static var closedError: TreeRingError {
    TreeRingError(.closed, "The store has been closed. Open it again to go on.")
  }
}
