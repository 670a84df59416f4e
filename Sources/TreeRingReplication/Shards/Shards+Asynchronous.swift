// The asynchronous forms of the calls that wait for a shared log or the disk.

public import TreeRing
internal import TreeRingLog

extension Shards {
  /// Opens the shards of this machine, without blocking the caller's thread. Otherwise it equals
  /// `Shards(at:options:log:)`, which keeps its own name in asynchronous code.
  ///
  /// - Parameters:
  ///   - path: The folder of the machine's replicas.
  ///   - options: The options.
  ///   - log: Opens the shared log of a shard, or of the table.
  /// - Throws: As `Shards(at:options:log:)`; `cancelled` if the task is cancelled before that
  ///   begins.
  public static func open(
    at path: String, options: ShardsOptions,
    log: @escaping @Sendable (_ name: String) throws -> any SharedLog
  ) async throws -> Shards {
    try await WorkerPool.upkeep.runThrowing { _ in
      try Shards(at: path, options: options, log: log)
    }
  }

  /// Makes the table, once, without blocking the caller's thread. Otherwise it equals the blocking
  /// form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func create(_ names: [String], places: [String]) async throws {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try create(names, places: places) }
  }

  /// Moves a shard to this machine, without blocking the caller's thread. Otherwise it equals the
  /// blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func take(_ name: String) async throws {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try take(name) }
  }

  /// Snapshots of all shards as of a date, without blocking the caller's thread. Otherwise it
  /// equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func snapshots(asOf date: Timestamp) async throws -> [String: Snapshot] {
    try await WorkerPool.reading.runThrowing { [self] _ in try snapshots(asOf: date) }
  }

  /// Closes all replicas, without blocking the caller's thread. A task that is cancelled closes
  /// them all the same.
  /// - Throws: As the blocking form.
  public func close() async throws {
    try await WorkerPool.upkeep.runAlways { [self] in try close() }
  }
}
