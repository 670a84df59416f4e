// The opening of a replica.
//
// 1. An empty log gets its first entry: the id of the store, and the commit after which it begins.
//    If the folder has commits, that needs the caller's word: the log may have lost its entries.
// 2. The store opens. A new one gets the id that the log states.
// 3. A binary search finds the entry that holds the store's newest commit N. Taking the entries
//    from there on compares commit N and its like with those here, and adds the later ones. So no
//    file beside the store says how far it has come, and a folder restored from any backup goes on.
// 4. A log that still ends before commit N at the deadline has lost commits: it was re-created or
//    set back. Before, the machine that answered may have been cut off from the others.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

/// One opening of a replica.
struct ReplicaOpening {
  let path: String
  let fileSystem: any FileSystem
  let log: any SharedLog
  let options: ReplicaOptions

  struct Opened {
    var store: Store
    var leadership: Leadership
    var taking: Replica.Taking
    var leader: String?
  }

  func run(_ progress: ((CommitNumber) -> Void)?) throws -> Opened {
    let reader = LogReader(log: log, deadline: .now + options.limit)
    let leadership = Leadership(log: log, limit: options.limit, folder: path)
    var store: Store?
    if try Store.exists(at: path, on: fileSystem) { store = try open(leadership, id: nil) }
    let ends = try begin(for: store, reader)
    let first = try reader.header(ends.first)
    let opened = try store ?? open(leadership, id: first.storeID)
    do {
      let start = try start(of: opened, first, ends, reader)
      var taking = Replica.Taking(
        assembly: EntryAssembly(storeID: opened.storeID, after: start), reader: try FrameReader())
      let leader = try catchUp(opened, &taking, through: ends.last, progress)
      leadership.open(storeID: opened.storeID)
      return Opened(store: opened, leadership: leadership, taking: taking, leader: leader)
    } catch {
      try? opened.close()
      throw error
    }
  }

  private func open(_ leadership: Leadership, id: UInt64?) throws -> Store {
    var store = options.store
    store.mode = .create
    store.sharing = leadership
    store.newStoreID = id
    return try Store(path: path, fileSystem: fileSystem, options: store)
  }

  /// Gives an empty log its first entry.
  /// - Returns: the ends of the log.
  private func begin(for store: Store?, _ reader: LogReader) throws -> SharedLogEnds {
    let ends = try reader.ends()
    if ends.last > 0 { return ends }
    let newest = store?.newestCommit ?? 0
    guard newest == 0 || options.mayBeginLog else {
      throw TreeRingError(
        .diverged,
        "The shared log is empty, and this folder ends with commit \(newest). Nothing was changed. "
          + "If the log had entries, it was re-created or has lost them: find out why, and make a "
          + "new log from the replica that has the most commits. A log begins with the commits of "
          + "a folder if `ReplicaOptions.mayBeginLog` is set (`treering cluster run --begin`).",
        file: path, commit: newest)
    }
    let writer = LogWriter(
      log: log, storeID: store?.storeID ?? UInt64.random(in: 1...UInt64.max), limit: options.limit)
    let outcome = writer.append(
      .beginning, (newest + 1, newest), UnsafeRawBufferPointer(start: nil, count: 0),
      after: LogPlace(sequence: 0, id: nil))
    switch outcome {
    case .appended, .overtaken, .setBack: return try reader.ends()
    case .refused(let text), .unknown(let text):
      throw TreeRingError(.unavailable, "The shared log could not be begun: \(text).")
    }
  }

  /// The place after which the store takes entries.
  private func start(
    of store: Store, _ first: EntryHeader, _ ends: SharedLogEnds, _ reader: LogReader
  ) throws -> LogPlace {
    guard first.storeID == store.storeID else {
      throw EntryAssembly.diverged(ends.first, "it belongs to another store")
    }
    let newest = store.newestCommit
    if let (sequence, header) = try reader.last(startingAtMost: newest, in: ends) {
      return LogPlace(sequence: max(sequence - UInt64(header.part), ends.first) - 1, id: nil)
    }
    guard first.first <= newest + 1 else {
      throw TreeRingError(
        .beyondHorizon,
        "The shared log begins with commit \(first.first), and this folder ends with commit "
          + "\(newest). \(LogReader.newBase)",
        file: path, commit: newest, current: first.first)
    }
    return LogPlace(sequence: ends.first - 1, id: nil)
  }

  /// Takes the entries through a number, and those up to the store's newest commit.
  /// - Returns: the name of the last leader among them.
  private func catchUp(
    _ store: Store, _ taking: inout Replica.Taking, through end: UInt64,
    _ progress: ((CommitNumber) -> Void)?
  ) throws -> String? {
    var leader: String?
    var last = end
    let before = store.newestCommit
    let deadline = ContinuousClock.now + options.limit
    while true {
      while taking.assembly.place.sequence < last {
        let reader = LogReader(log: log, deadline: .now + options.limit)
        for entry in try reader.entries(from: taking.assembly.place.sequence + 1) {
          if let name = try taking.take(entry, into: store) { leader = name }
        }
        progress?(store.newestCommit)
      }
      guard let newest = taking.assembly.newest, newest < before else { return leader }
      guard .now < deadline else {
        throw EntryAssembly.diverged(
          last, "it ends with commit \(newest), and this replica has commit \(before)")
      }
      Platform.sleep(.milliseconds(50))
      last = try LogReader(log: log, deadline: .now + options.limit).ends().last
    }
  }
}
