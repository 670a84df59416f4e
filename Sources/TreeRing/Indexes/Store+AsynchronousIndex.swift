// The asynchronous forms of definitions of indexes: commits on the thread of asynchronous writes.
// Building stops when the task is cancelled, and then nothing is written.

public import TreeRingLog

extension Store {
  /// Defines a group index by fields, or replaces its definition, and builds it, in a commit of its
  /// own, without blocking the caller's thread. Otherwise this and the variants equal the blocking
  /// forms. O(rows of the bucket).
  /// - Parameters:
  ///   - name: The index's name.
  ///   - fields: The definition.
  ///   - progress: Called from time to time with the number of rows read, on the store's thread;
  ///     return false to cancel.
  /// - Returns: The commit.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the commit.
  @discardableResult
  public func define(
    _ name: String, _ fields: FieldIndex,
    progress: @escaping @Sendable (Int) -> Bool = { _ in true }
  ) async throws -> CommitNumber {
    try await defining(progress) { try $0.define(name, fields, progress: $1) }
  }

  /// Defines a group index that filters another one by fields, or replaces its filter, without
  /// blocking the caller's thread.
  /// - Returns: The commit; the newest one if this definition is already in force.
  @discardableResult
  public func define(
    _ name: String, _ filter: FieldFilter,
    progress: @escaping @Sendable (Int) -> Bool = { _ in true }
  ) async throws -> CommitNumber {
    try await defining(progress) { try $0.define(name, filter, progress: $1) }
  }

  /// Declares the rule that rows refer to rows that exist, or replaces it, without blocking the
  /// caller's thread.
  /// - Returns: The commit; the newest one if this definition is already in force.
  @discardableResult
  public func define(
    _ name: String, _ reference: Reference,
    progress: @escaping @Sendable (Int) -> Bool = { _ in true }
  ) async throws -> CommitNumber {
    try await defining(progress) { try $0.define(name, reference, progress: $1) }
  }

  /// Declares the rule that rows vanish at a date of theirs, or replaces it, without blocking the
  /// caller's thread.
  /// - Returns: The commit; the newest one if this definition is already in force.
  @discardableResult
  public func define(
    _ name: String, _ expiry: Expiry,
    progress: @escaping @Sendable (Int) -> Bool = { _ in true }
  ) async throws -> CommitNumber {
    try await defining(progress) { try $0.define(name, expiry, progress: $1) }
  }

  /// Defines a text index, or replaces its definition, and builds it, without blocking the caller's
  /// thread.
  /// - Returns: The commit; the newest one if this definition is already in force.
  @discardableResult
  public func define(
    _ text: TextIndex, progress: @escaping @Sendable (Int) -> Bool = { _ in true }
  ) async throws -> CommitNumber {
    try await defining(progress) { try $0.define(text, progress: $1) }
  }

  /// Defines a group index whose rows are placed manually, without blocking the caller's thread.
  /// - Returns: The commit; the newest one if this definition is already in force.
  @discardableResult
  public func define(_ name: String, _ manual: ManualIndex) async throws -> CommitNumber {
    try await defining { tx, _ in try tx.define(name, manual) }
  }

  /// Removes a group index in a commit of its own, without blocking the caller's thread.
  /// - Returns: The commit.
  @discardableResult
  public func removeIndex(_ name: String) async throws -> CommitNumber {
    try await defining { tx, _ in try tx.removeIndex(name) }
  }

  /// Registers a group index defined in code, without blocking the caller's thread.
  /// - Returns: The commit that registered it; the newest commit if it was known.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  @discardableResult
  public func register(_ index: some IndexDeclaration) async throws -> CommitNumber {
    try await WorkerPool.upkeep.runThrowing { [self] _ in try register(index) }
  }

  /// Writes a commit that defines or removes an index, as the blocking form does. `body` gets the
  /// transaction, and the closure that reports the progress of building and asks whether to go on.
  private func defining(
    _ progress: @escaping @Sendable (Int) -> Bool = { _ in true },
    _ body: @escaping @Sendable (Transaction, (Int) -> Bool) throws -> Void
  ) async throws -> CommitNumber {
    let stop = StopSignal()
    return try await withTaskCancellationHandler {
      try await write { tx in
        try stop.check()
        tx.takesDateOfNewest = true
        try body(tx) { progress($0) && !stop.isSet }
      }.commit
    } onCancel: {
      stop.set()
    }
  }
}
