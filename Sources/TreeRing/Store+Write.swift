// Writes: sequencing under the writer lock, then completion together with whoever else is waiting.

internal import Synchronization
public import TreeRingLog

/// What a write returns.
public struct Written<Value> {
  /// The commit's number; if there was nothing to write, the number of the commit it would have
  /// followed. With it the write can be read again, waited for, and asked for changes from.
  public let commit: CommitNumber
  /// What the closure returned.
  public let value: Value
}

extension Written: Sendable where Value: Sendable {}

extension Store {
  /// Writes one commit. It returns when the commit has survived what `durability` says and is
  /// visible; if the closure throws, nothing has happened.
  ///
  /// Commits of several threads that wait at the same time share one sync.
  ///
  /// It blocks its thread meanwhile, so it is for code that is not asynchronous, and for the top level of a program.
  /// In asynchronous functions and closures `write` is the asynchronous one, to be called with `try await`. To block
  /// there on purpose, call a function of your own that is not asynchronous and writes.
  ///
  /// - Parameters:
  ///   - durability: for this commit; nil for the store's.
  ///   - expected: the newest commit this write was decided on; nil for any.
  ///   - body: makes the commit's operations. It must not open another write.
  /// - Throws: what the closure throws; `conflict` if `expected` is not the newest commit;
  ///   `noSpace`, `poisoned`, `unknown`, `io` if the log cannot take it.
  @discardableResult
  public func write<Value>(
    durability: Durability? = nil, expecting expected: CommitNumber? = nil,
    _ body: (Transaction) throws -> Value
  ) throws -> Written<Value> {
    let sequenced = try sequence(
      durability: durability ?? options.durability, expecting: expected, body)
    if let ticket = sequenced.ticket { try complete(ticket, pageCount: sequenced.pageCount) }
    return Written(commit: sequenced.commit, value: sequenced.value)
  }

  /// Writes one commit without blocking the caller's thread.
  ///
  /// As the synchronous variant in all else. The closure runs on the store's own thread, so it and what it returns
  /// are `Sendable`: let it use constants of the function around it, and return what it finds as the value.
  @discardableResult
  public func write<Value: Sendable>(
    durability: Durability? = nil, expecting expected: CommitNumber? = nil,
    _ body: @escaping @Sendable (Transaction) throws -> Value
  ) async throws -> Written<Value> {
    try await withCheckedThrowingContinuation { continuation in
      asyncWriter.add(
        AsyncWriter.Job(
          sequence: { [self] in
            do {
              let sequenced = try sequence(
                durability: durability ?? options.durability, expecting: expected, body)
              let written = Written(commit: sequenced.commit, value: sequenced.value)
              guard let ticket = sequenced.ticket else {
                continuation.resume(returning: written)
                return nil
              }
              return AsyncWriter.Waiting(ticket: ticket, pageCount: sequenced.pageCount) { error in
                continuation.resume(with: error.map { .failure($0) } ?? .success(written))
              }
            } catch {
              continuation.resume(throwing: error)
              return nil
            }
          },
          complete: { [self] ticket, pageCount throws(TreeRingError) in
            try complete(ticket, pageCount: pageCount)
          }))
    }
  }

  /// A commit with its place in the log, not complete yet.
  package struct Sequenced<Value> {
    package var commit: CommitNumber
    package var value: Value
    /// What completes the commit; nil if none was made.
    package var ticket: CommitTicket?
    /// How many pages it has made.
    var pageCount = 0
  }

  /// Builds a commit and gives it its place in the log.
  package func sequence<Value>(
    durability: Durability, expecting expected: CommitNumber?,
    _ body: (Transaction) throws -> Value
  ) throws -> Sequenced<Value> {
    guard options.mode != .readOnly else {
      throw TreeRingError(
        .notAllowed, "The store was opened for reading. Open it with mode .readWrite to write.")
    }
    var result: Sequenced<Value>?
    try writerLock.checkOutside()
    try writerLock.withLock {
      try checkOpen()
      try checkPageFile()
      let base = currentBase()
      if let expected, expected != base.roots.commit {
        throw TreeRingError(
          .conflict,
          "The newest commit is \(base.roots.commit), not \(expected). Read again and decide anew.",
          current: base.roots.commit)
      }
      result = try pages.withSection { try build(on: base, durability: durability, body) }
    }
    guard let result else { throw TreeRingError(.closed, "The write did not run.") }
    return result
  }

  /// Throws `poisoned` once the page file could not be written.
  private func checkPageFile() throws(TreeRingError) {
    guard let failure = engine.checkpointer?.failure else { return }
    throw TreeRingError(
      .poisoned,
      "The page file could not be written, so no more commits are accepted; reopen the store to go "
        + "on. The failure: \(failure.message)",
      file: failure.file, offset: failure.offset, errno: failure.errno)
  }

  /// The version to build on, after dropping what the log has given up.
  private func currentBase() -> Version {
    let newest = queue.newest
    if newest.roots.commit == log.sequenced { return newest }
    queue.rollBack(to: log.sequenced, pages: pages)
    // The numbers of undone definitions are given out again.
    definitions.clear()
    return queue.newest
  }

  private func build<Value>(
    on base: Version, durability: Durability, _ body: (Transaction) throws -> Value
  ) throws -> Sequenced<Value> {
    let number = base.roots.commit + 1
    let fetchFailures = pages.fetchFailureCount
    let pending = PendingValues(commit: number)
    let recorder = ChangeRecorder()
    let code = code.withLock { $0 }
    let active = try definitions.active(for: base, code: code)
    let editor = StateEditor(
      pages: pages, epoch: number, base: base.roots, catalog: base.catalog, active: active,
      code: code, values: ValueSource(log: log, pending: pending), recorder: recorder)
    let transaction = Transaction(
      editor: editor, commit: number, pending: pending, horizon: pinRegistry.horizon)
    editor.spill = engine.checkpointer?.spill
    defer { transaction.end() }
    var isSequenced = false
    defer { if !isSequenced { editor.editor.discard() } }

    if base.catalog.indexes.count > editor.active.count { try editor.buildMissingIndexes() }
    let recorded = editor.active.map(\.number)
    let labeled = editor.labeledOrders
    let value: Value
    do {
      value = try body(transaction)
    } catch {
      try pages.checkFetches(since: fetchFailures)
      throw error
    }
    // What was read of a page that could not be had is not what is there.
    try pages.checkFetches(since: fetchFailures)
    if let key = transaction.idempotencyKey,
      let first = try transaction._reader.commit(idempotencyKey: key)
    {
      return Sequenced(commit: first, value: value, ticket: try ticket(for: first))
    }
    let notes = transaction.notes
    if transaction.payload.count == 0, notes.isEmpty, !transaction.keepsEmptyCommit {
      let seen = base.roots.commit
      return Sequenced(commit: seen, value: value, ticket: try ticket(for: seen))
    }
    let replacements = try replacements(by: transaction, of: base)
    let ticket = try append(transaction, notes, after: base.roots.timestamp, durability)
    isSequenced = true
    let maintained = Set(editor.active.map(\.number))
    var records: [UInt32: [RowReference: TouchedRow]] = [:]
    for index in recorded where maintained.contains(index) {
      records[index] = recorder.indexes[index] ?? [:]
    }
    let labels = editor.labelSpans(from: labeled)
    let pageCount = add(editor, records: records, replacements: replacements, labels: labels)
    return Sequenced(commit: number, value: value, ticket: ticket, pageCount: pageCount)
  }

  /// What waits for an earlier commit that this write has read and answers with; nil if it is
  /// visible. Called under the writer lock, so the commit is not given up and replaced meanwhile.
  private func ticket(for commit: CommitNumber) throws(TreeRingError) -> CommitTicket? {
    commit > newestCommit ? try log.ticket(for: commit) : nil
  }

  /// Hands a finished transaction to the log.
  private func append(
    _ transaction: Transaction, _ notes: CommitNotes, after last: Timestamp,
    _ durability: Durability
  ) throws(TreeRingError) -> CommitTicket {
    let number = transaction.commit
    let timestamp = max(last, transaction.timestamp ?? Timestamp.now)
    for tag in notes.tags {
      try Limits.check(name: tag, of: "tag")
      transaction.editor.setTag(tag, commit: number)
    }
    if let key = notes.idempotencyKey {
      guard key.count <= Limits.nameByteCount else {
        throw TreeRingError(
          .tooLarge, "The idempotency key has over \(Limits.nameByteCount) bytes.")
      }
      transaction.editor.setIdempotencyKey(key, commit: number)
    }
    let payload = transaction.adopted?.payload ?? transaction.payload.payload(notes: notes)
    let count = transaction.adopted?.operationCount ?? transaction.payload.count
    transaction.editor.setCommit(
      number, timestamp: timestamp, operationCount: count, payloadByteCount: payload.count)
    let draft = CommitDraft(
      number: number, timestamp: timestamp, operationCount: count, payload: payload,
      values: transaction.pendingValues, durability: durability)
    do {
      return try log.append(draft)
    } catch {
      if error.code != .conflict { throw error }
      // Numbers are given out under the writer lock, so only undone commits can be in the way.
      throw TreeRingError(
        .noSpace,
        "The device was full, so the commits that this one was built on were undone. Make room "
          + "and try again.", commit: number)
    }
  }

  /// Queues the new version until it may be seen.
  private func add(
    _ editor: StateEditor, records: [UInt32: [RowReference: TouchedRow]],
    replacements: [UInt32: IndexReplacement], labels: [UInt32: LabelSpan]
  ) -> Int {
    let number = editor.roots.commit
    let (allocated, retired) = editor.editor.finish()
    pinTable.pin(number)
    let version = Version(
      roots: editor.roots, catalog: editor.catalog, pages: pages, lease: .pinned,
      reclaimer: reclaimer)
    queue.append(
      SequencedCommit(
        version: version, retired: retired, allocated: allocated, records: records,
        replacements: replacements, labels: labels))
    return allocated.count
  }

  /// What the definitions that a finished transaction replaced change, for the change records.
  private func replacements(
    by transaction: Transaction, of base: Version
  ) throws(TreeRingError) -> [UInt32: IndexReplacement] {
    let editor = transaction.editor
    if editor.catalog.keepsDefinitions(of: base.catalog) { return [:] }
    let old = StateReader(
      roots: base.roots, catalog: base.catalog, pages: pages, values: editor.values)
    return try IndexReplacement.all(from: old, to: transaction._reader)
  }

  /// Waits until a sequenced commit is as durable as was asked, and makes it visible.
  /// - Parameter pageCount: how many pages the commit has made; the caller waits for room for them.
  package func complete(_ ticket: CommitTicket, pageCount: Int = 0) throws(TreeRingError) {
    try log.complete(ticket)
    defer { engine.checkpointer?.pace(after: pageCount) }
    // Of many that waited for one sync, one makes all their commits visible.
    if queue.visibleCommit >= ticket.number { return }
    reclaimer.drain { queue.publish(through: log.completed) }
    if let checkpointer = engine.checkpointer { checkpointer.consider(queue.visible.roots) }
    expirePins()
    considerCompaction()
  }

  /// Makes everything written so far durable.
  public func sync() throws(TreeRingError) {
    try checkOpen()
    try log.sync()
  }

  /// Registers a group index defined in code. If it is new, or its version is, a commit says so; its
  /// trees are built when they are first needed.
  /// - Returns: the commit that registered it; the newest commit if it was known.
  @discardableResult
  public func register(_ index: GroupIndex) throws -> CommitNumber {
    let replaced = code.withLock { code in
      // Closures of other versions go on serving snapshots that saw them in force.
      let isReplaced: (CodeIndex) -> Bool = { $0.name == index.name && $0.version == index.version }
      defer {
        code.removeAll(where: isReplaced)
        code.append(index.code)
      }
      return code.filter(isReplaced)
    }
    definitions.clear()
    // What their closures alone keep ends here, outside the locks.
    withExtendedLifetime(replaced) {}
    let code = index.code
    if code.isInForce(in: queue.visible.catalog) { return newestCommit }
    return try write { tx in
      if case .filter(let parent, _) = code.closure {
        try tx.define(
          code.name, version: code.version, filtering: parent, buckets: code.buckets)
      } else {
        try tx.define(code.name, version: code.version, .code(buckets: code.buckets))
      }
    }.commit
  }
}
