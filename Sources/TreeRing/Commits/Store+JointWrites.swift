// Writes that other threads may run.

internal import TreeRingLog

extension Store {
  /// Writes one commit, as `write` does, on this thread or on that of another writer that waits at
  /// the same time.
  ///
  /// It is for many writing threads: a thread mostly sleeps once for each of its writes, where it
  /// sleeps for the writer's lock and again for the sync in `write`, whose closures run on the
  /// threads that called it. So the closure is `Sendable`, must not depend on its thread, and
  /// should not wait for anything: every writer waits for it. The threads should have the same
  /// priority, since each may wait for one that runs its write, or is to wake it.
  ///
  ///     try store.writeOnAnyThread { tx in try tx.put(mobyDick, for: "2", in: books) }
  ///
  /// It blocks its thread. In asynchronous code use the asynchronous `write`, which shares threads
  /// and syncs too.
  ///
  /// - Throws: what `write` throws; `notAllowed` inside the closure of a write.
  @inlinable
  @discardableResult
  public func writeOnAnyThread<Value: Sendable>(
    durability: Durability? = nil, expecting expected: CommitNumber? = nil,
    _ body: @Sendable (Transaction) throws -> Value
  ) throws -> Written<Value> {
    var value: Value?
    let made = try writeJointly(durability: durability, expecting: expected) {
      value = try body($0)
    }
    guard let value else { throw TreeRingError.closedBeforeWrite }
    return Written(made, value: value)
  }

  /// Writes one commit, as `writeOnAnyThread` does.
  @usableFromInline
  func writeJointly(
    durability: Durability?, expecting expected: CommitNumber?,
    _ body: (Transaction) throws -> Void
  ) throws -> Written<Void> {
    // A write inside the closure of a write would wait for the thread that runs both.
    try writerLock.checkOutside()
    return try durations.measure {
      let sequenced = try withoutActuallyEscaping(body) { body in
        let job = JointWrites.Job { [self] in
          try sequence(durability: durability ?? options.durability, expecting: expected, body)
        }
        return try jointWrites.run(job) { (ticket) throws(TreeRingError) in try complete(ticket) }
      }
      // Each thread waits for room by itself, so that the others of its batch can go on.
      engine.throttle(after: sequenced.pageCount)
      return Written(commit: sequenced.commit, date: sequenced.date, value: ())
    }
  }
}
