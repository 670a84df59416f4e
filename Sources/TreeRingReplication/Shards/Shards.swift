// Many stores as one: keys are spread over shards, each a store with a shared log of its own.
//
// The table of shards is itself a store, a replica of which each machine has. Each machine leads
// the shards that the table places on it, and may follow the others. A shard moves without a pause
// in reading: the new machine opens a replica and catches up, states its place in the table, and
// leads, which fences the old machine. A writer that has not seen the new table yet gets
// `notLeader`, and looks again.
//
// A commit belongs to one shard. There is no commit over several, and no order among commits of
// different shards but that of their dates.

internal import Logging
public import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

/// The options of a machine's shards.
public struct ShardsOptions: Sendable {
  /// The options of the replicas of shards. The name is that of the machine. The table decides who
  /// leads, so `failover` has no effect.
  public var replica: ReplicaOptions
  /// Whether the machine also follows the shards placed on others.
  public var followsAll: Bool

  /// Creates options; all but the name of the machine have a default.
  public init(replica: ReplicaOptions, followsAll: Bool = false) {
    self.replica = replica
    self.followsAll = followsAll
  }
}

/// The shards of a table, as one machine sees them. Any thread may use it.
public final class Shards: Sendable {
  private let options: ShardsOptions
  private let table: Replica
  private let replicas: ShardReplicas
  private let isClosed = Atomic<Bool>(false)
  private let ended = EndSignal()

  /// The name of the table's shared log and folder.
  public static let tableName = "shards"

  /// Opens the shards of this machine.
  /// - Parameters:
  ///   - path: The folder of the machine's replicas; made if it does not exist. The one of shard
  ///     `s` is the folder `s` in it; if its log has been trimmed, restore a backup there first.
  ///   - options: The options.
  ///   - log: Opens the shared log of a shard, or of the table.
  /// - Throws: as `Replica`; errors of `log`.
  public convenience init(
    at path: String, options: ShardsOptions,
    log: @escaping @Sendable (_ name: String) throws -> any SharedLog
  ) throws {
    try self.init(at: path, fileSystem: PosixFileSystem(), options: options, log: log)
  }

  package init(
    at path: String, fileSystem: any FileSystem, options: ShardsOptions,
    log: @escaping @Sendable (_ name: String) throws -> any SharedLog
  ) throws {
    var options = options
    options.replica.failover = nil
    self.options = options
    let replica = options.replica
    replicas = ShardReplicas { name in
      try Replica(path: "\(path)/\(name)", fileSystem: fileSystem, of: log(name), options: replica)
    }
    if try !fileSystem.exists(path) { try fileSystem.makeDirectory(path) }
    var own = options.replica
    own.store = StoreOptions(logger: options.replica.store.logger)
    table = try Replica(
      path: "\(path)/\(Self.tableName)", fileSystem: fileSystem, of: log(Self.tableName),
      options: own)
    try settle()
    let seen = table.store.newestCommit
    try WorkerThread.start { [weak self, ended] in
      var seen = seen
      while let shards = self, shards.watch(&seen) {}
      ended.signal()
    }
  }

  // MARK: The table

  /// The version of the table: the commit that last changed it.
  public var version: CommitNumber { table.store.newestCommit }

  /// All shards, by their slots.
  public func all() throws -> [Shard] { try ShardTable.rows(table.store.snapshot()) }

  /// The shard of a key.
  /// - Throws: `notFound` if there is no table yet.
  public func shard(for key: Key) throws -> Shard {
    let slot = Shard.slot(of: key)
    guard let shard = try all().first(where: { $0.slots.contains(slot) }) else {
      throw TreeRingError(.notFound, "There are no shards yet. Call `create`.")
    }
    return shard
  }

  /// Makes the table, once: shards that divide the keys evenly, placed on machines in turn.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: `alreadyExists` if there is a table; `invalidInput`; `unavailable`.
  public func create(_ names: [String], places: [String]) throws {
    let shards = try ShardTable.even(names, places: places)
    try change { tx in
      guard try tx.rows(in: ShardTable.bucket).isEmpty else {
        throw TreeRingError(.alreadyExists, "There is a table of shards already.")
      }
      for shard in shards { try tx.put(shard, for: Key(shard.name), in: ShardTable.bucket) }
    }
    try settle()
  }

  /// Moves a shard to this machine: opens a replica of it and catches up, states the new place in
  /// the table, and leads, which fences the old machine. Its writes fail with `notLeader` from then
  /// on; ask the table again.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: `notFound`; as `Replica` and `Replica.lead`.
  public func take(_ name: String) throws {
    try table.catchUp()
    guard try all().contains(where: { $0.name == name }) else { throw Self.none(name) }
    try replicas.use(name) { replica in
      try replica.catchUp()
      try change { tx in
        guard var shard = try tx.get(Key(name), in: ShardTable.bucket) else {
          throw Self.none(name)
        }
        shard.place = options.replica.name
        try tx.put(shard, for: Key(name), in: ShardTable.bucket)
      }
      try replica.lead()
    }
  }

  /// Changes the table. Several machines may do so at once: each leads the table's log in turn.
  private func change(_ body: (Transaction) throws -> Void) throws {
    let deadline = ContinuousClock.now + options.replica.limit
    while true {
      try table.lead()
      do {
        try table.store.write(body)
        return
      } catch let error as TreeRingError {
        guard error.code == .notLeader, .now < deadline else { throw error }
      }
    }
  }

  // MARK: Stores

  /// The store of a key's shard, which this machine leads.
  /// - Throws: `notLeader`, which names the machine that leads it, if that is another one;
  ///   `notFound` if there is no table yet.
  public func store(for key: Key) throws -> Store {
    let shard = try shard(for: key)
    guard shard.place == options.replica.name, let replica = replicas[shard.name] else {
      throw TreeRingError(
        .notLeader,
        "The shard \(shard.name) is led by \(shard.place), so nothing was written. Send the write "
          + "there.")
    }
    return replica.store
  }

  /// The store of a shard that this machine leads or follows; nil if it does neither.
  public func store(of name: String) -> Store? { replicas[name]?.store }

  /// Snapshots of all shards as of a date: each shows the commits of its shard up to that date, by
  /// the clock of the machine that led it then. Later calls with the same date show the same, if
  /// the date is earlier than every leader's clock.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: `notFound` for a shard that this machine neither leads nor follows; `invalidInput`
  ///   for a date in the future; `unavailable`; as `Store.snapshot(at:)`.
  public func snapshots(asOf date: Timestamp) throws -> [String: Snapshot] {
    guard date <= .now else {
      throw TreeRingError(
        .invalidInput, "The date lies in the future, so the shards may get commits before it.")
    }
    var snapshots: [String: Snapshot] = [:]
    for shard in try all() {
      guard let replica = replicas[shard.name] else { throw Self.none(shard.name) }
      try replica.catchUp()
      snapshots[shard.name] = try replica.store.snapshot(at: .date(date))
    }
    return snapshots
  }

  /// The states of the replicas on this machine by shard.
  public var status: [String: ReplicaStatus] { replicas.all.mapValues(\.status) }

  /// Closes all replicas.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: the first error of a closing; all are closed.
  public func close() throws {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    ended.wait()
    var failure: (any Error)?
    for replica in replicas.end() + [table] {
      do { try replica.close() } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  // MARK: Following the table

  /// Waits a while for a change of the table, and acts on it.
  /// - Returns: Whether to go on.
  private func watch(_ seen: inout CommitNumber) -> Bool {
    let isOver = { self.isClosed.load(ordering: .acquiring) }
    do {
      var checks = 0
      let hasChanged = try table.store.wait(for: seen + 1) {
        checks += 1
        return isOver() || checks > 2
      }
      if isOver() { return false }
      if hasChanged { seen = table.store.newestCommit }
      if try hasChanged || !isSettled() { try settle() }
      return true
    } catch {
      if isOver() { return false }
      options.replica.store.logger.warning("The shards do not follow the table: \(error)")
      Platform.sleep(.milliseconds(500))
      return true
    }
  }

  /// Whether this machine leads the shards placed here, and has no others open without need.
  /// Another one that knew an older table may have taken the lead of one since.
  private func isSettled() throws -> Bool {
    try all().allSatisfy { shard in
      let replica = replicas[shard.name]
      return shard.place == options.replica.name
        ? replica?.status.isLeading == true : replica == nil || options.followsAll
    }
  }

  /// Leads the shards placed here, and gives up the others: by the newest table, so that no machine
  /// takes back what was moved.
  private func settle() throws {
    try table.catchUp()
    for shard in try all() {
      if shard.place == options.replica.name {
        try replicas.open(shard.name).lead()
      } else if options.followsAll {
        let replica = try replicas.open(shard.name)
        if replica.status.isLeading { try replica.stepDown() }
      } else {
        try replicas.giveUp(shard.name)
      }
    }
  }

  private static func none(_ name: String) -> TreeRingError {
    TreeRingError(.notFound, "There is no shard \(name) here. `all` lists those of the table.")
  }
}
