// The asynchronous forms of streams. Commits run on the thread of asynchronous writes, reads of
// many events on threads of the library. The revision and the state of a stream are read in any
// thread.

public import TreeRing

extension EventStream {
  /// Appends events in one commit, without blocking the caller's thread.
  @discardableResult
  public func append(
    _ events: NewEvent..., expecting expected: ExpectedRevision = .any,
    durability: Durability? = nil
  ) async throws -> Appended {
    try await append(contentsOf: events, expecting: expected, durability: durability)
  }

  /// Appends events in one commit, without blocking the caller's thread.
  @discardableResult
  public func append(
    contentsOf events: [NewEvent], expecting expected: ExpectedRevision = .any,
    durability: Durability? = nil
  ) async throws -> Appended {
    let new = try NewEvents(events, to: name)
    return try await writing(durability) { try $0.append(new, expecting: expected) }
  }

  /// The events from a revision on, at most `limit` of them, without blocking the caller's thread.
  /// Otherwise it equals the blocking form.
  public func events(
    from first: UInt64 = 0, limit: Int = .max
  ) async throws -> [RecordedEvent] {
    try await WorkerPool.reading.runThrowing { [self] _ in try events(from: first, limit: limit) }
  }

  /// The events down from a revision, newest first, without blocking the caller's thread. Otherwise
  /// it equals the blocking form.
  public func eventsBackward(
    from last: UInt64? = nil, limit: Int = .max
  ) async throws -> [RecordedEvent] {
    try await WorkerPool.reading.runThrowing { [self] _ in
      try eventsBackward(from: last, limit: limit)
    }
  }

  /// Deletes the events below a revision, in one commit, without blocking the caller's thread.
  /// Otherwise it equals the blocking form.
  /// - Returns: The number of events deleted.
  @discardableResult
  public func truncate(before revision: UInt64) async throws -> Int {
    try await writing { try $0.truncate(before: revision) }
  }

  /// Deletes all events, in one commit, without blocking the caller's thread. Otherwise it equals
  /// the blocking form.
  /// - Returns: The number of events deleted.
  @discardableResult
  public func delete() async throws -> Int { try await writing { try $0.delete() } }

  /// Sets the number of newest events to keep, and deletes the others, in one commit, without
  /// blocking the caller's thread. Otherwise it equals the blocking form.
  /// - Throws: `invalidInput` for 0.
  public func setMaxCount(_ maxCount: UInt64?) async throws {
    try await writing { try $0.setMaxCount(maxCount) }
  }

  private func writing<Value: Sendable>(
    _ durability: Durability? = nil, _ body: @escaping @Sendable (StreamWriter) throws -> Value
  ) async throws -> Value {
    try await store.write(durability: durability) { [name, names] tx in
      try body(StreamWriter(name, names, in: tx))
    }.value
  }
}

extension EventCategory {
  /// The events after a position, at most `limit` of them, without blocking the caller's thread.
  /// Otherwise it equals the blocking form.
  public func events(
    after position: EventPosition? = nil, limit: Int = .max
  ) async throws -> [RecordedEvent] {
    try await WorkerPool.reading.runThrowing { [self] _ in
      try events(after: position, limit: limit)
    }
  }

  /// The events before a position, newest first, without blocking the caller's thread. Otherwise it
  /// equals the blocking form.
  public func eventsBackward(
    before position: EventPosition? = nil, limit: Int = .max
  ) async throws -> [RecordedEvent] {
    try await WorkerPool.reading.runThrowing { [self] _ in
      try eventsBackward(before: position, limit: limit)
    }
  }
}
