// A replica: a store whose commits come from a log that several machines share, or go into it.
//
// Data flows one way. The replica that leads appends each batch of commits to the shared log, and
// then writes it to its own log (CommitSharing). Every replica reads the shared log in order and
// takes over the commits that others have written. The folder is a cache of the shared log: without
// it, a replica begins with the log's first entry, or with a backup and the entries after it.
//
// One thread of each replica reads the log. It holds `taking` while it takes entries; so does
// `lead`.

internal import Logging
public import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

/// A store on a log that several machines share.
///
///     let replica = try Replica(at: "shop.ring", of: log, options: ReplicaOptions(name: "berlin"))
///     try replica.lead()
///     try replica.store.write { tx in try tx.put(mobyDick, for: "moby", in: books) }
///
/// Reads, snapshots, time travel, mappings and backups work as in any store. Writes succeed while
/// the replica leads; otherwise they throw `notLeader`. Any thread may use it.
public final class Replica: Sendable {
  /// The store. Closing the replica closes it.
  public let store: Store
  /// The options that the replica was opened with.
  public let options: ReplicaOptions

  let log: any SharedLog
  let leadership: Leadership
  /// Held while entries are taken, or the leader changes.
  let taking: Monitor<Taking>
  private let news: Mutex<News>
  /// Competes for leading; nil if people decide who leads.
  let candidate: Candidate?
  private let isClosed = Atomic<Bool>(false)
  /// The last entry of this replica's own that the reading thread knows of.
  private let watched = Atomic<UInt64>(0)
  /// Signalled when the reading thread has ended.
  private let ended = EndSignal()

  /// The reading of the log.
  struct Taking {
    var assembly: EntryAssembly
    let reader: FrameReader
    /// Whether the store may have commits of its own that are not in the log: it has led, and they
    /// have not been undone since.
    var mayHavePending = false
    /// The moment at which the end of the log is asked for again.
    var nextCheck = ContinuousClock.now
    /// The moment since which the log has been seen to end before the newest entry taken.
    var shortSince: ContinuousClock.Instant?

    /// Takes the next entry into a store.
    /// - Returns: The name of the leader, if the entry states one.
    mutating func take(_ entry: [UInt8], into store: Store) throws -> String? {
      guard let item = try assembly.take(entry) else { return nil }
      switch item.header.kind {
      case .beginning: return nil
      case .commits:
        try item.body.withUnsafeBytes { try store.adopt($0, by: reader) }
        return nil
      case .leader: return String(decoding: item.body, as: UTF8.self)
      }
    }
  }

  /// The parts of the status that the reading thread finds out.
  struct News: Sendable {
    var sequence: UInt64 = 0
    var last: UInt64 = 0
    var leader: String?
    var problem: String?
    var failure: TreeRingError?
  }

  /// Opens the replica in a folder, and takes over the commits of the shared log that it lacks.
  ///
  /// - Parameters:
  ///   - path: The folder of the store. If there is none, the replica begins with the first entry
  ///     of the log; if the log has none either, with an empty store. A folder with a store begins
  ///     the shared log if that is empty; its commits are then the base that other replicas need:
  ///     give them a backup of it.
  ///   - log: The shared log.
  ///   - options: The options.
  ///   - progress: Called after each batch with the newest commit taken, on the caller's thread.
  /// - Throws: `unavailable` if the log does not answer within the limit; `diverged` if the log is
  ///   another store's, lacks commits that the folder has, or has others; `beyondHorizon` if the
  ///   log begins after the folder's newest commit; otherwise as `Store(at:options:)`.
  public convenience init(
    at path: String, of log: any SharedLog, options: ReplicaOptions,
    progress: ((CommitNumber) -> Void)? = nil
  ) throws {
    try self.init(
      path: path, fileSystem: PosixFileSystem(), of: log, options: options, progress: progress)
  }

  package init(
    path: String, fileSystem: any FileSystem, of log: any SharedLog, options: ReplicaOptions,
    progress: ((CommitNumber) -> Void)? = nil
  ) throws {
    self.log = log
    self.options = options
    let opened = try ReplicaOpening(
      path: path, fileSystem: fileSystem, log: log, options: options
    ).run(progress)
    store = opened.store
    leadership = opened.leadership
    taking = Monitor(opened.taking)
    news = Mutex(News(sequence: opened.taking.assembly.place.sequence, leader: opened.leader))
    candidate = options.failover.map { Candidate($0, name: options.name) }
    try WorkerThread.start { [weak self, ended] in
      while let replica = self, replica.follow() {}
      ended.signal()
    }
    try candidate?.start(self)
  }

  deinit { try? store.close() }

  /// The state of the replica now.
  public var status: ReplicaStatus {
    let news = news.withLock { $0 }
    let isLeading = leadership.isLeading
    let sequence = max(news.sequence, leadership.sequence)
    return ReplicaStatus(
      isLeading: isLeading, leader: isLeading ? options.name : news.leader, sequence: sequence,
      lag: news.last > sequence ? news.last - sequence : 0, commit: store.newestCommit,
      problem: news.problem, failure: news.failure)
  }

  /// Ends leading, if the replica does, and closes the store.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: as `Store.close`; `notAllowed` inside the closure of a write.
  public func close() throws {
    try store.checkOutsideWrite()
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    candidate?.end()
    ended.wait()
    try taking.withLock { _ in
      leadership.end()
      try store.close()
    }
  }

  func checkOpen() throws(TreeRingError) {
    if let failure = news.withLock({ $0.failure }) { throw failure }
    if isClosed.load(ordering: .acquiring) { throw TreeRingError.storeClosed }
  }

  func note(_ change: (inout News) -> Void) { news.withLock { change(&$0) } }

  // MARK: Following

  /// Waits a while for entries, and takes them.
  /// - Returns: Whether to go on.
  private func follow() -> Bool {
    if isClosed.load(ordering: .acquiring) { return false }
    do throws(SharedLogError) {
      let taken = leadership.sequence
      let hasAppended = watched.exchange(taken, ordering: .relaxed) != taken
      if leadership.isLeading, hasAppended {
        // Under load its own entries are not read back: to send them, the log would need time that
        // it can append in.
        Platform.sleep(Self.leaderWait)
        let last = try log.ends(within: Self.checkInterval).last
        guard goesOn(toEnd: last, taken: taken) else { return false }
        // An append under way may have added entries already.
        if last <= leadership.appended.place.sequence { return true }
      }
      let first = nextSequence
      let entries = try log.read(from: first, byteLimit: LogReader.byteCount, within: Self.wait)
      if entries.isEmpty { return try checkEnd() }
      note { $0.problem = nil }
      return take(entries, from: first)
    } catch {
      switch error {
      case .unavailable(let text), .refused(let text):
        note { $0.problem = text }
        Platform.sleep(.milliseconds(100))
        return true
      case .trimmed(let first):
        // Another thread may have taken or appended the removed entries during the read.
        return nextSequence >= first || stop(because: LogReader.trimmed(first: first))
      }
    }
  }

  /// The number of the first entry that this replica has neither taken nor appended.
  private var nextSequence: UInt64 {
    taking.withLock { max($0.assembly.place.sequence, leadership.sequence) + 1 }
  }

  /// Asks now and then for the end of the log.
  /// - Returns: Whether to go on.
  private func checkEnd() throws(SharedLogError) -> Bool {
    let isDue = taking.withLock { taking in
      guard taking.nextCheck < .now else { return false }
      taking.nextCheck = .now + Self.checkInterval
      return true
    }
    guard isDue else { return true }
    let taken = max(news.withLock(\.sequence), leadership.sequence)
    return goesOn(toEnd: try log.ends(within: Self.checkInterval).last, taken: taken)
  }

  /// Notes the end of the log. One that is before the entries taken, for as long as the limit, was
  /// re-created or set back. Meanwhile the machine that answered may have been cut off from the
  /// others.
  /// - Returns: Whether to go on.
  private func goesOn(toEnd last: UInt64, taken: UInt64) -> Bool {
    note {
      $0.last = last
      $0.problem = nil
    }
    let isSetBack = taking.withLock { taking in
      let since = taking.shortSince ?? .now
      taking.shortSince = last < taken ? since : nil
      return last < taken && since + options.limit <= .now
    }
    if !isSetBack { return true }
    return stop(because: EntryAssembly.diverged(last + 1, "the log ends before entry \(taken)"))
  }

  private func take(_ entries: [[UInt8]], from first: UInt64) -> Bool {
    do {
      try taking.withLock { taking in try take(entries, from: first, &taking) }
      return true
    } catch let error as TreeRingError where error.code == .closed {
      return false
    } catch {
      return stop(because: error)
    }
  }

  /// Takes entries that were read from a number on.
  func take(_ entries: [[UInt8]], from first: UInt64, _ taking: inout Taking) throws {
    for (index, entry) in entries.enumerated() {
      let sequence = first + UInt64(index)
      skipOwn(&taking)
      guard sequence == taking.assembly.place.sequence + 1 else { continue }
      if taking.mayHavePending { endLeading(&taking) }
      let leader = try taking.take(entry, into: store)
      note {
        if let leader { $0.leader = leader }
        $0.sequence = sequence
        $0.last = max($0.last, sequence)
      }
    }
  }

  /// Moves on to the last entry that this replica has appended. Waits for an append under way.
  func skipOwn(_ taking: inout Taking) {
    let end = leadership.appended
    if end.place.sequence > taking.assembly.place.sequence {
      taking.assembly.skip(to: end.place, newest: end.newest)
    }
  }

  /// Ends leading, because another entry has followed this replica's last one.
  func endLeading(_ taking: inout Taking) {
    leadership.end()
    store.endLeading()
    taking.mayHavePending = false
    options.store.logger.notice("Another replica leads; this one follows.")
  }

  private func stop(because error: any Error) -> Bool {
    let failure = error as? TreeRingError ?? TreeRingError(.io, "\(error)")
    note { $0.failure = failure }
    // From here on this replica does not know the log.
    leadership.end()
    options.store.logger.error("The replica has stopped following: \(failure)")
    return false
  }

  /// The time after which the reading thread looks whether the replica was closed.
  private static let wait = Duration.milliseconds(200)
  /// The time after which it looks whether another replica leads, while this one appends.
  private static let leaderWait = Duration.milliseconds(50)
  private static let checkInterval = Duration.seconds(2)
}
