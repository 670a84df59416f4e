// Writes: sequencing under the writer lock, then completion together with other waiting writers.

public import TreeRingLog
internal import TreeRingPlatform

extension Store {
  /// Writes one commit. It returns when the commit is visible and as durable as `durability`
  /// states. If the closure throws, nothing is written.
  ///
  /// The same holds for every other commit that it returns or reports: the one of a repeated
  /// idempotency key, the newest one where nothing was written, and the newest one at a `conflict`.
  ///
  /// Commits of several threads that wait at the same time share one sync.
  ///
  /// It blocks its thread: use it in code that is not asynchronous, and at the top level of a
  /// program. In asynchronous functions and closures, `write` is the asynchronous variant, called
  /// with `try await`. To block there on purpose, write within ``blocking(_:)``.
  ///
  /// - Parameters:
  ///   - durability: the durability of this commit; nil for the store's.
  ///   - expected: the newest commit that the write was based on; nil for any.
  ///   - body: adds the commit's operations. It must not start another write.
  /// - Throws: the error of the closure; `conflict` if `expected` is not the newest commit;
  ///   `dateRefused` for a given date that the commit cannot have, see ``Transaction/timestamp``;
  ///   `noSpace`, `poisoned`, `unknown`, `io` if the log cannot store it.
  @inlinable
  @discardableResult
  public func write<Value>(
    durability: Durability? = nil, expecting expected: CommitNumber? = nil,
    _ body: (Transaction) throws -> Value
  ) throws -> Written<Value> {
    // Inlinable, so that callers need not look up the metadata of their `Value?` for each commit.
    var value: Value?
    let made = try writeOne(durability: durability, expecting: expected) { value = try body($0) }
    guard let value else { throw TreeRingError.closedBeforeWrite }
    return Written(made, value: value)
  }

  /// Writes one commit, as `write` does.
  @usableFromInline
  func writeOne(
    durability: Durability?, expecting expected: CommitNumber?,
    _ body: (Transaction) throws -> Void
  ) throws -> Written<Void> {
    try durations.measure {
      try writeUnobserved(durability: durability, expecting: expected, body)
    }
  }

  private func writeUnobserved(
    durability: Durability?, expecting expected: CommitNumber?,
    _ body: (Transaction) throws -> Void
  ) throws -> Written<Void> {
    let sequenced: SequencedWrite
    do {
      sequenced = try sequence(
        durability: durability ?? options.durability, expecting: expected, body)
    } catch let refusal as RefusedWrite {
      try complete(refusal.ticket)
      throw refusal.error
    }
    try complete(sequenced.ticket, pageCount: sequenced.pageCount)
    return Written(commit: sequenced.commit, date: sequenced.date, value: ())
  }

  /// Writes one commit without blocking the caller's thread.
  ///
  /// Otherwise it equals the synchronous variant. The closure runs on the store's own thread, so it
  /// and its result are `Sendable`: use only constants of the surrounding function in it, and
  /// return results as its value.
  @discardableResult
  public func write<Value: Sendable>(
    durability: Durability? = nil, expecting expected: CommitNumber? = nil,
    _ body: @escaping @Sendable (Transaction) throws -> Value
  ) async throws -> Written<Value> {
    let start = durations.start
    return try await withCheckedThrowingContinuation { continuation in
      asyncWriter.add(
        AsyncWriter.Job(
          sequence: { [self] in
            do {
              var value: Value?
              let sequenced = try sequence(
                durability: durability ?? options.durability, expecting: expected
              ) { value = try body($0) }
              guard let value else { throw TreeRingError.closedBeforeWrite }
              let written = Written(
                commit: sequenced.commit, date: sequenced.date, value: value)
              return AsyncWriter.Waiting(
                ticket: sequenced.ticket, pageCount: sequenced.pageCount
              ) { [durations] error in
                if let start, error == nil, written.timestamp != nil {
                  durations.commitEnded(since: start)
                }
                continuation.resume(with: error.map { .failure($0) } ?? .success(written))
              }
            } catch let refusal as RefusedWrite {
              return AsyncWriter.Waiting(ticket: refusal.ticket, pageCount: 0) { error in
                continuation.resume(throwing: error ?? refusal.error)
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

  /// Builds a commit and gives it its position in the log.
  /// - Parameter adopts: Whether the commit comes from the log that replicas share, so that this
  ///   replica need not lead.
  /// - Parameter isSweep: Whether the commit deletes expired rows, so that no such one comes first.
  /// - Throws: `RefusedWrite` for an error that reports the newest state; otherwise the errors of
  ///   `write`.
  ///
  /// Not generic: the metadata of generic types would be looked up several times for each commit.
  package func sequence(
    durability: Durability, expecting expected: CommitNumber?, adopts: Bool = false,
    isSweep: Bool = false, _ body: (Transaction) throws -> Void
  ) throws -> SequencedWrite {
    guard options.mode != .readOnly else {
      throw TreeRingError(
        .notAllowed, "The store was opened for reading. Open it with mode .readWrite to write.")
    }
    // Here, so that refused writers do not compete for the lock; and again with it.
    if isReplica, !adopts { try options.sharing?.checkLeading() }
    let sequenced = try sequence(
      durability, expected, adopts: adopts, since: nil, unlessRules: !adopts && !isSweep, body)
    if let sequenced { return sequenced }
    let start = try sweepBacklog()
    if let sequenced = try sequence(
      durability, expected, adopts: adopts, since: start, unlessRules: false, body)
    {
      return sequenced
    }
    throw TreeRingError.closedBeforeWrite
  }

  /// - Parameter unlessRules: Whether a state with rules is left to the caller, since expired rows
  ///   may have to be deleted first.
  /// - Returns: nil if it is.
  private func sequence(
    _ durability: Durability, _ expected: CommitNumber?, adopts: Bool, since start: Timestamp?,
    unlessRules: Bool, _ body: (Transaction) throws -> Void
  ) throws -> SequencedWrite? {
    try writerLock.withLock {
      try checkOpen()
      if isReplica, !adopts { try options.sharing?.checkLeading() }
      // It cannot be replaced while this thread holds the writer's lock.
      let engine = engine
      try checkPageFile(of: engine)
      let base = currentBase(of: engine)
      if unlessRules, base.catalog.hasRules { return nil }
      do {
        try check(base, is: expected)
        return try engine.pages.withSection {
          try build(on: base, in: engine, durability: durability, since: start, body)
        }
      } catch let error as TreeRingError where error.reportsNewestState {
        throw RefusedWrite(
          error: error, ticket: try log.ticket(for: base.roots.commit, durability: durability))
      }
    }
  }

  /// Whether this process may write: it alone has the store, or is the replica that leads.
  var leads: Bool {
    guard isReplica else { return true }
    do throws(TreeRingError) {
      try options.sharing?.checkLeading()
      return true
    } catch { return false }
  }

  /// Throws `conflict` unless the expected commit is the newest one.
  private func check(_ base: Version, is expected: CommitNumber?) throws(TreeRingError) {
    let newest = base.roots.commit
    guard let expected, expected != newest else { return }
    throw TreeRingError(
      .conflict,
      "The newest commit is \(newest), not \(expected). Read again, and repeat the write.",
      current: newest)
  }

  /// Throws `poisoned` if writing the page file has failed.
  private func checkPageFile(of engine: Engine) throws(TreeRingError) {
    guard let failure = engine.checkpointer?.failure else { return }
    throw TreeRingError(
      .poisoned,
      "The page file could not be written, so the store takes no more commits; reopen it to "
        + "continue. The failure: \(failure.message)",
      file: failure.file, offset: failure.offset, errno: failure.errno)
  }

  /// The version to build on, after dropping the commits that the log has undone.
  private func currentBase(of engine: Engine) -> Version {
    let newest = engine.queue.newest
    if newest.roots.commit == log.sequenced { return newest }
    engine.queue.rollBack(to: log.sequenced, pages: engine.pages)
    // Definitions that were undone lose their numbers to later ones.
    definitions.clear()
    return engine.queue.newest
  }

  /// - Parameter start: The date at which the write began; see `date(of:after:since:)`.
  private func build(
    on base: Version, in engine: Engine, durability: Durability, since start: Timestamp?,
    _ body: (Transaction) throws -> Void
  ) throws -> SequencedWrite {
    let pages = engine.pages
    let number = base.roots.commit + 1
    let fetchFailures = pages.fetchFailureCount
    let (edition, known) = definitions.known(for: base)
    let code = code.withLock { $0 }
    let active = try known ?? definitions.active(for: base, code: code)
    let transaction = writerMemory.begin(
      on: base, log: log, active: active, code: code, horizon: pinRegistry.horizon,
      spill: engine.spill, recordByteLimit: engine.records.byteLimit)
    let editor = transaction.editor
    defer { transaction.end() }
    var isSequenced = false
    defer { if !isSequenced { editor.editor.discard() } }

    try editor.buildMissingIndexes()
    editor.findRules()
    let before = editor.roots.indexes
    do {
      try body(transaction)
    } catch {
      try pages.checkFetches(since: fetchFailures)
      throw error
    }
    if let failure = transaction.failure { throw failure }
    // After a failed page fetch, reads in the closure may have returned wrong data.
    try pages.checkFetches(since: fetchFailures)
    if let key = transaction.notes.idempotencyKey,
      let first = try transaction.reader.commit(idempotencyKey: key)
    {
      return SequencedWrite(
        commit: first, ticket: try log.ticket(for: first, durability: durability))
    }
    let writes =
      transaction.payload.count > 0 || !transaction.notes.isEmpty || transaction.keepsEmptyCommit
    let date = writes ? try date(of: transaction, after: base.roots, since: start) : nil
    do {
      let ownDeletedCount = editor.rules.deleted.count
      if let date, !transaction.isSweep { try transaction.deleteExpired(at: date.timestamp) }
      try transaction.checkRules(
        applyingDeletionsFrom: editor.rules.appliesDeletions ? 0 : ownDeletedCount)
    } catch {
      try pages.checkFetches(since: fetchFailures)
      throw error
    }
    try pages.checkFetches(since: fetchFailures)
    guard let date else {
      let seen = base.roots.commit
      return SequencedWrite(
        commit: seen, ticket: try log.ticket(for: seen, durability: durability))
    }
    let replacements = try replacements(by: transaction, of: base, in: pages)
    let ticket = try append(transaction, at: date.timestamp, durability)
    isSequenced = true
    let changes = editor.recorder?.changes(
      from: before, to: editor.roots.indexes, by: editor.active, replacements: replacements)
    let pageCount = add(editor, changes, edition, to: engine)
    return SequencedWrite(
      commit: number, date: date, ticket: ticket, pageCount: pageCount)
  }

  /// Appends a finished transaction to the log.
  private func append(
    _ transaction: Transaction, at timestamp: Timestamp, _ durability: Durability
  ) throws(TreeRingError) -> CommitTicket {
    let number = transaction.commit
    for tag in transaction.notes.tags {
      try Limits.check(name: tag, of: "tag")
      try transaction.editor.setTag(tag, commit: number)
    }
    if let key = transaction.notes.idempotencyKey {
      guard key.count <= Limits.nameByteCount else {
        throw TreeRingError(
          .tooLarge,
          "The idempotency key has \(key.count) bytes; at most \(Limits.nameByteCount) are "
            + "allowed. Use a digest of it.")
      }
      transaction.editor.setIdempotencyKey(key, commit: number)
    }
    let payload = transaction.adopted?.payload ?? transaction.takePayload()
    let count = transaction.adopted?.operationCount ?? transaction.payload.count
    transaction.editor.setCommit(
      number, timestamp: timestamp, operationCount: count, payloadByteCount: payload.count)
    var draft = CommitDraft(
      number: number, timestamp: timestamp, operationCount: count, payload: payload,
      blocks: transaction.payload.takeBlocks(), values: transaction.pendingValues,
      durability: durability)
    if isReplica { draft.frame = transaction.adopted?.frame }
    do {
      let ticket = try log.append(draft)
      writerMemory.keep(payload)
      return ticket
    } catch {
      if error.code != .conflict { throw error }
      // Numbers are assigned under the writer lock, so only undone commits can conflict here.
      throw log.undone(number)
    }
  }

  /// Queues the new version until it becomes visible.
  private func add(
    _ editor: StateEditor, _ changes: consuming CommitChanges?, _ edition: ActiveIndexCache.Edition,
    to engine: Engine
  ) -> Int {
    let (allocated, retired) = editor.editor.finish()
    let version = Version(
      recent: editor.roots, catalog: editor.catalog, pages: engine.pages,
      reclaimer: engine.reclaimer)
    definitions.keep(editor.active, of: version, edition)
    engine.queue.append(
      SequencedCommit(version: version, retired: retired, allocated: allocated, changes: changes))
    return allocated.count
  }

  /// The effects of the definitions that a finished transaction replaced, for the change records.
  private func replacements(
    by transaction: Transaction, of base: Version, in pages: PageStore
  ) throws(TreeRingError) -> [UInt32: IndexReplacement] {
    let editor = transaction.editor
    if editor.catalog.keepsDefinitions(of: base.catalog) { return [:] }
    let old = StateReader(
      roots: base.roots, catalog: base.catalog, pages: pages, values: editor.values)
    return try IndexReplacement.all(from: old, to: transaction.reader)
  }

  /// Waits until a sequenced commit is as durable as requested, and makes it visible.
  /// - Parameter pageCount: the number of pages that the commit has allocated. The checkpointer may
  ///   throttle the caller by it.
  package func complete(_ ticket: CommitTicket, pageCount: Int = 0) throws(TreeRingError) {
    // That of the commit, or a later one, which holds the commit already.
    let engine = engine
    // The writer that syncs for all makes their commits visible before they go on.
    try log.complete(ticket) { show(through: $0, in: engine) }
    defer { engine.throttle(after: pageCount) }
    if engine.queue.visibleCommit < ticket.number { show(through: log.completed, in: engine) }
  }

  /// Makes commits visible, and queues the work that is due after them.
  private func show(through completed: CommitNumber, in engine: Engine) {
    let duties = engine.reclaimer.drain { engine.queue.publish(through: completed) }
    engine.checkpointer?.consider(replayByteCount: duties.replayByteCount)
    expirePins()
    considerCompaction()
    if duties.hasRules { considerSweep() }
  }

  /// Makes all earlier writes durable.
  public func sync() throws(TreeRingError) {
    try checkOpen()
    try log.sync()
  }
}
