// Point reads: one row as of a point in history, found by the row's own history instead of the
// state of that commit (RowWalk.swift). The state is rebuilt, as for a snapshot, below the horizon,
// and if the walk would read more than a replay.

public import TreeRingLog

extension Store {
  /// A row as it was at a point in history; nil if there was none of that key. Returns the same as
  /// `snapshot(at: point).get(key, in: bucket)`, without rebuilding that state.
  ///
  ///     let price = try store.get("tea", in: prices, at: .tag("spring"))
  ///
  /// O(log n + the commits that wrote the row between that point and the next state in memory, and
  /// their sizes). Before the horizon, or where that is much, the cost is that of `snapshot(at:)`.
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  /// - Throws: `notFound` for a commit that does not exist yet or an unknown tag; `beyondHorizon`
  ///   for a commit that history no longer reaches back to; the errors of the bucket's coder.
  public func get<Row>(
    _ key: some KeyConvertible, in bucket: Bucket<Row>, at point: ReadPoint,
    file: String = #fileID, line: Int = #line
  ) throws -> Row? {
    let creator = PinCreator(file: file, line: line)
    let values = ValueSource(log: log)
    return try withRecord(
      of: Key(key), in: bucket.name, at: point, needsObjectOnly: true, creator
    ) { record in
      try values.withBytes(of: record.object, part: .object) {
        try bucket.coder.decode($0, record.coder)
      }
    }
  }

  /// The same row with its bytes: returns the same as `snapshot(at: point).row(key, in: bucket)`.
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  public func row(
    _ key: some KeyConvertible, in bucket: some BucketName, at point: ReadPoint,
    file: String = #fileID, line: Int = #line
  ) throws(TreeRingError) -> StoredRow? {
    let creator = PinCreator(file: file, line: line)
    let (reader, bucket, key) = (reader(of: queue.visible), bucket.bucketName, Key(key))
    return try typed {
      try withRecord(of: key, in: bucket, at: point, needsObjectOnly: false, creator) { record in
        try reader.stored(record, key: key, bucket: bucket)
      }
    }
  }

  /// Calls `body` with a row's record at a point; returns nil without a row. `body` may be called
  /// again; then only the last result counts.
  ///
  /// - Parameter needsObjectOnly: Whether only the object and the coder of the record have to be
  ///   right.
  private func withRecord<R>(
    of key: Key, in bucket: String, at point: ReadPoint, needsObjectOnly: Bool,
    _ creator: PinCreator, _ body: (RowRecord) throws -> R
  ) throws -> R? {
    let number = try commit(at: point)
    guard number > 0, let bucket = queue.visible.catalog.buckets[bucket] else { return nil }
    let life = try pin(number, creator: creator)
    defer { pinRegistry.remove(life) }
    do {
      while true {
        let readable = try readability(ofPinned: number)
        let engine = engine
        let walk = RowWalk(
          log: log, pages: engine.pages, bucket: bucket, key: key.bytes, commit: number,
          needsObjectOnly: needsObjectOnly)
        // If the walk fails, the replay below reports the error.
        let found = try? engine.withStates(around: number, readable) { later, earlier in
          let gap =
            later.payloadByteCount
            - min(
              earlier?.payloadByteCount ?? 0, later.payloadByteCount)
          return try walk.read(
            from: later, to: earlier, byteLimit: max(1 << 16, gap / 4)
          ) { try $0.map(body) }
        }
        if try readability(ofPinned: number).bounds.epoch != readable.bounds.epoch {
          // Once the pin has been dropped, the log may have changed.
          try life.check()
          continue
        }
        if let found { return found }
        let version = try version(at: number, definitions: queue.visible.catalog)
        let reader = reader(of: version)
        return try reader.reading {
          try key.bytes.withUnsafeBytes { try reader.record(bucket: bucket, key: $0) }.map(body)
        }
      }
    } catch {
      try life.check()
      throw error
    }
  }
}

extension Engine {
  /// Calls `body` with the nearest states in memory or in the page file: the first at `commit` or
  /// after it, and the last at it or before it from which on the log is whole. Both stay readable
  /// until it returns.
  /// - Returns: The result of `body`; nil if there is no later state, or the log is not whole
  ///   there.
  func withStates<R>(
    around commit: CommitNumber, _ readable: TimeTravel.Readability,
    _ body: (_ later: Roots, _ earlier: Roots?) throws -> R?
  ) throws -> R? {
    let versions = queue.readable + timeTravel.versions
    defer { withExtendedLifetime(versions) {} }
    return try withRoots(around: commit) { roots in
      let states = versions.map(\.roots) + roots
      let later = states.filter { $0.commit >= commit }.min { $0.commit < $1.commit }
      guard let later, later.commit == commit || commit >= readable.bounds.horizon else {
        return nil
      }
      let first = max(readable.bounds.horizon, readable.bounds.eraseBoundary)
      let earlier = states.filter { $0.commit <= commit && $0.commit >= first }
        .max { $0.commit < $1.commit }
      return try body(later, earlier)
    }
  }

  private func withRoots<R>(
    around commit: CommitNumber, _ body: ([Roots]) throws -> R
  ) rethrows -> R {
    guard let checkpointer else { return try body([]) }
    return try checkpointer.withRoots(around: commit, body)
  }
}
