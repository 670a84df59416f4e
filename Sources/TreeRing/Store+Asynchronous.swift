// The asynchronous forms of the calls that block for more than a moment. One rule for names, that
// of `write`: both forms have one name and the same parameters. In asynchronous functions and
// closures the name means the asynchronous form, called with `await`; elsewhere the blocking one.
//
// Reads of the past and upkeep run on threads of the library (WorkerPool.swift). Commits, which
// definitions of indexes are, run on the thread of asynchronous writes (AsyncWriter.swift). No form
// occupies a thread of Swift's cooperative pool.

public import TreeRingLog

extension Store {
  // MARK: - Opening and closing

  /// Opens the store in a folder, or creates it, without blocking the caller's thread. Otherwise it
  /// equals `Store(at:options:)`, which keeps its own name in asynchronous code.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - options: The options of the opening.
  ///   - progress: Called from time to time while commits are replayed, on a thread of the library.
  /// - Throws: As `Store(at:options:)`; `cancelled` if the task is cancelled before that begins.
  public static func open(
    at path: String, options: StoreOptions = StoreOptions(),
    progress: (@Sendable (OpeningProgress) -> Void)? = nil
  ) async throws -> Store {
    try await WorkerPool.upkeep.runThrowing { _ in
      try Store(at: path, options: options, progress: progress)
    }
  }

  /// Opens the store in a folder, with group indexes defined in code and default options otherwise,
  /// without blocking the caller's thread.
  public static func open(at path: String, indexes: [any IndexDeclaration]) async throws -> Store {
    try await open(at: path, options: StoreOptions(indexes: indexes))
  }

  /// Makes all earlier writes durable, without blocking the caller's thread.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func sync() async throws(TreeRingError) {
    try await WorkerPool.upkeep.run { [self] _ throws(TreeRingError) in try sync() }
  }

  /// Makes everything durable and releases the folder, without blocking the caller's thread.
  /// Otherwise it equals the blocking form, which `defer` calls, also in asynchronous code. A task
  /// that is cancelled closes the store all the same.
  /// - Throws: As the blocking form.
  public func close() async throws {
    try await WorkerPool.upkeep.runAlways { [self] in try close() }
  }

  // MARK: - The past

  /// A snapshot of the store at a point in history, without blocking the caller's thread. Otherwise
  /// it equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func snapshot(
    at point: ReadPoint, file: String = #fileID, line: Int = #line
  ) async throws(TreeRingError) -> Snapshot {
    try await WorkerPool.reading.run { [self] _ throws(TreeRingError) in
      try snapshot(at: point, file: file, line: line)
    }
  }

  /// A row as it was at a point in history, without blocking the caller's thread. Otherwise it
  /// equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func get<Row: Sendable>(
    _ key: some KeyConvertible, in bucket: Bucket<Row>, at point: ReadPoint,
    file: String = #fileID, line: Int = #line
  ) async throws -> Row? {
    let key = Key(key)
    return try await WorkerPool.reading.runThrowing { [self] _ in
      try get(key, in: bucket, at: point, file: file, line: line)
    }
  }

  /// The same row with its bytes, without blocking the caller's thread.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func row(
    _ key: some KeyConvertible, in bucket: some BucketName, at point: ReadPoint,
    file: String = #fileID, line: Int = #line
  ) async throws(TreeRingError) -> StoredRow? {
    let (key, bucket) = (Key(key), bucket.bucketName)
    return try await WorkerPool.reading.run { [self] _ throws(TreeRingError) in
      try row(key, in: bucket, at: point, file: file, line: line)
    }
  }

  /// Returns every version of a row, newest first, without blocking the caller's thread. Otherwise
  /// it equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func history(
    of key: some KeyConvertible, in bucket: some BucketName
  ) async throws(TreeRingError) -> [RowVersion] {
    let (key, bucket) = (Key(key), bucket.bucketName)
    return try await WorkerPool.reading.run { [self] _ throws(TreeRingError) in
      try history(of: key, in: bucket)
    }
  }

  /// Writes one commit that restores a state, without blocking the caller's thread. It writes
  /// nothing if the task is cancelled in time. Otherwise it equals the blocking form.
  /// - Parameters:
  ///   - point: The point in history.
  ///   - progress: Called from time to time on a thread of the library with the number of
  ///     operations so far. If it returns false, nothing is written.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled.
  @discardableResult
  public func revert(
    to point: ReadPoint, progress: @escaping @Sendable (Int) -> Bool = { _ in true }
  ) async throws -> (commit: CommitNumber, operations: Int) {
    try await WorkerPool.upkeep.runThrowing { [self] stop in
      try revert(to: point) { count in progress(count) && !stop.isSet }
    }
  }

  // MARK: - Upkeep

  /// Makes a checkpoint now, without blocking the caller's thread. Otherwise it equals the blocking
  /// form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func checkpoint() async throws {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try checkpoint() }
  }

  /// Drops history, without blocking the caller's thread. It stops when the task is cancelled.
  /// Otherwise it equals the blocking form.
  /// - Parameters:
  ///   - target: The amount of history to drop.
  ///   - keepsTags: Whether the commits of tags below the horizon stay readable.
  ///   - isDryRun: Whether only to report the effect.
  ///   - progress: Called from time to time on a thread of the library; return false to stop.
  /// - Throws: As the blocking form. The work done before an error or a cancellation stays done.
  @discardableResult
  public func compact(
    to target: CompactionTarget = .policy, keepsTags: Bool = true, isDryRun: Bool = false,
    progress: @escaping @Sendable (CompactionProgress) -> Bool = { _ in true }
  ) async throws -> CompactionReport {
    try await WorkerPool.upkeep.runThrowing { [self] stop in
      try compact(to: target, keepsTags: keepsTags, isDryRun: isDryRun) {
        progress($0) && !stop.isSet
      }
    }
  }

  /// Deletes a row and every byte of its history, without blocking the caller's thread. Otherwise
  /// it equals the blocking form: once begun, it does not stop.
  /// - Parameters:
  ///   - key: The row's key.
  ///   - bucket: The row's bucket.
  ///   - progress: Called from time to time on a thread of the library.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  @discardableResult
  public func erase(
    _ key: some KeyConvertible, in bucket: some BucketName,
    progress: @escaping @Sendable (CompactionProgress) -> Void = { _ in }
  ) async throws -> EraseReport {
    let (key, bucket) = (Key(key), bucket.bucketName)
    return try await WorkerPool.upkeep.runThrowing { [self] _ in
      try erase(key, in: bucket, progress: progress)
    }
  }

  /// Deletes the rows that have expired, without blocking the caller's thread. Otherwise it equals
  /// the blocking form.
  /// - Throws: As `write`.
  @discardableResult
  public func sweep(limit: Int = 256) async throws -> Int {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try sweep(limit: limit) }
  }

  // MARK: - Copies

  /// Backs the store up, without blocking the caller's thread. It stops when the task is cancelled.
  /// Otherwise it equals the blocking form.
  /// - Parameters:
  ///   - folder: A new or empty folder, or one with an older backup of this store.
  ///   - progress: Called now and then on a thread of the library; return false to cancel.
  /// - Throws: As the blocking form.
  @discardableResult
  public func backUp(
    to folder: String, progress: @escaping @Sendable (CopyProgress) -> Bool = { _ in true }
  ) async throws(TreeRingError) -> CopyReport {
    try await WorkerPool.upkeep.run { [self] stop throws(TreeRingError) in
      try backUp(to: folder) { progress($0) && !stop.isSet }
    }
  }

  /// Copies a backup to a new store, without blocking the caller's thread. It stops when the task
  /// is cancelled. Otherwise it equals the blocking form.
  /// - Parameters:
  ///   - backup: The folder of the backup.
  ///   - folder: The folder of the new store.
  ///   - progress: Called now and then on a thread of the library; return false to cancel.
  /// - Throws: As the blocking form.
  @discardableResult
  public static func restore(
    from backup: String, to folder: String,
    progress: @escaping @Sendable (CopyProgress) -> Bool = { _ in true }
  ) async throws(TreeRingError) -> CopyReport {
    try await WorkerPool.upkeep.run { stop throws(TreeRingError) in
      try restore(from: backup, to: folder) { progress($0) && !stop.isSet }
    }
  }

  /// Checks a store and changes nothing, without blocking the caller's thread. Otherwise it equals
  /// the blocking form.
  /// - Parameters:
  ///   - folder: The folder of the store.
  ///   - comparesIndexes: Whether also to compare each index with one rebuilt from the rows.
  ///   - progress: Called from time to time on a thread of the library.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public static func verify(
    _ folder: String, comparesIndexes: Bool = false,
    progress: @escaping @Sendable (CopyProgress) -> Void = { _ in }
  ) async throws -> VerificationReport {
    try await WorkerPool.upkeep.runThrowing { _ in
      try verify(folder, comparesIndexes: comparesIndexes, progress: progress)
    }
  }
}
