// The asynchronous forms of the calls that wait for the shared log or the disk, by the rule for
// names of Store's: in asynchronous functions and closures a name means the asynchronous form.

public import TreeRing
internal import TreeRingLog

extension Replica {
  /// Opens the replica in a folder, without blocking the caller's thread. Otherwise it equals
  /// `Replica(at:of:options:)`, which keeps its own name in asynchronous code.
  ///
  /// - Parameters:
  ///   - path: The folder of the store.
  ///   - log: The shared log.
  ///   - options: The options.
  ///   - progress: Called after each batch with the newest commit taken, on a thread of the
  ///     library.
  /// - Throws: As `Replica(at:of:options:)`; `cancelled` if the task is cancelled before that
  ///   begins.
  public static func open(
    at path: String, of log: any SharedLog, options: ReplicaOptions,
    progress: (@Sendable (CommitNumber) -> Void)? = nil
  ) async throws -> Replica {
    try await WorkerPool.upkeep.runThrowing { _ in
      try Replica(at: path, of: log, options: options, progress: progress)
    }
  }

  /// Ends leading, if the replica does, and closes the store, without blocking the caller's thread.
  /// A task that is cancelled closes it all the same.
  /// - Throws: As the blocking form.
  public func close() async throws {
    try await WorkerPool.upkeep.runAlways { [self] in try close() }
  }

  /// Begins to lead, without blocking the caller's thread. Otherwise it equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func lead() async throws {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try lead() }
  }

  /// Ends leading, without blocking the caller's thread. Otherwise it equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func stepDown() async throws {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try stepDown() }
  }

  /// Waits until the store has every commit that any replica's write had returned before this call,
  /// without blocking the caller's thread.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func catchUp() async throws {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try catchUp() }
  }

  /// Removes the entries of the shared log that hold no commit from `commit` on, without blocking
  /// the caller's thread. Otherwise it equals the blocking form.
  /// - Parameter commit: The first commit to keep in the log.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func trimLog(before commit: CommitNumber) async throws {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try trimLog(before: commit) }
  }
}
