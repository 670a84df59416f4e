// The state of one row as of a past commit, from the operations on that row alone. Each operation
// on a row states the commit of the previous one. So a walk goes back from a later state through
// the row's own versions:
//
//   1. The later state names the commit that last wrote or deleted the row. If it is not after the
//      requested commit, the row has not changed since.
//   2. Otherwise go back from commit to commit, to the first that is not after the requested one.
//   3. Go further back until the operations give the whole row: to a put of it, to its creation, or
//      to an earlier state that is available.
//   4. From there, apply the operations in order, as a replay does.
//
// A walk has no answer if compaction or erasing removed operations, or if it would exceed its limit
// of bytes read. Then the caller replays the log instead.

internal import TreeRingLog

/// Finds the record of one row as of one commit.
struct RowWalk {
  let log: CommitLog
  let pages: PageStore
  let bucket: UInt32
  let key: [UInt8]
  /// The requested commit.
  let commit: CommitNumber
  /// Whether the caller needs only the presence, the object and the coder of the record.
  let needsObjectOnly: Bool

  /// One operation on the row. Its bytes lie in an arena.
  private struct Step {
    var change: RowChange<StoredValue>
    var stamp: Stamp
  }

  /// The row in the later state.
  private enum Start<R> {
    /// The row has not changed since the requested commit.
    case answer(R)
    /// A later commit has written the row; `created` is the row's creation if the row existed
    /// already.
    case written(CommitNumber, created: Stamp?)
  }

  /// Calls `body` with the record, or nil without a row. Its bytes are valid until `body` returns.
  ///
  /// - Parameters:
  ///   - later: a state at the commit or after it.
  ///   - earlier: a state at the commit or before it; the log has every operation after it. Nil for
  ///     the empty state.
  ///   - byteLimit: the maximum number of payload bytes to read.
  /// - Returns: the result of `body`; nil if the walk has no answer.
  func read<R>(
    from later: Roots, to earlier: Roots?, byteLimit: UInt64, _ body: (RowRecord?) throws -> R
  ) throws -> R? {
    let start: Start<R> = try pages.reading {
      if let record = try record(in: later) {
        if record.written.commit <= commit { return .answer(try body(record)) }
        let wasThere = record.created.commit <= commit
        return .written(record.written.commit, created: wasThere ? record.created : nil)
      }
      let tombstone = try key.withUnsafeBytes {
        try later.tombstone(bucket: bucket, key: $0, pages: pages)
      }
      return tombstone <= commit ? .answer(try body(nil)) : .written(tombstone, created: nil)
    }
    switch start {
    case .answer(let answer): return answer
    case .written(let written, let created):
      return try walk(from: written, to: earlier, created: created, byteLimit, body)
    }
  }

  private func walk<R>(
    from written: CommitNumber, to earlier: Roots?, created: Stamp?, _ byteLimit: UInt64,
    _ body: (RowRecord?) throws -> R
  ) throws -> R? {
    let arena = ByteArena()
    defer { withExtendedLifetime(arena) {} }
    var steps: [Step] = []
    var isWhole = false
    var next = written
    var byteCount: UInt64 = 0
    while next > earlier?.commit ?? 0, !isWhole {
      let current = next
      byteCount += try log.header(of: current).payloadByteCount
      if byteCount > byteLimit { return nil }
      guard let (found, previous) = try self.steps(in: current, arena), previous < current else {
        return nil
      }
      next = previous
      if current > commit { continue }
      let last = found.lastIndex { isEnough($0.change, isCreatedKnown: created != nil) }
      isWhole = last != nil
      steps.insert(contentsOf: found[(last ?? 0)...], at: 0)
    }
    return try pages.reading {
      var record: RowRecord?
      if !isWhole, next > 0, let earlier { record = try self.record(in: earlier) }
      for step in steps { record = try step.change.successor(of: record, at: step.stamp) }
      if let created { record?.created = created }
      return try body(record)
    }
  }

  /// Whether the record before a change does not matter.
  private func isEnough(_ change: RowChange<StoredValue>, isCreatedKnown: Bool) -> Bool {
    if needsObjectOnly { return !change.kept.contains(.object) }
    return change.kept.isSubset(of: isCreatedKnown ? .origin : [])
  }

  /// The operations of a commit on the row, and the commit that wrote the row before; nil if there
  /// are none.
  private func steps(
    in number: CommitNumber, _ arena: ByteArena
  ) throws -> (steps: [Step], previous: CommitNumber)? {
    try log.readPayload(of: number) { (_, payload) throws(TreeRingError) in
      var reader = try PayloadReader(payload, commit: number)
      var steps: [Step] = []
      var first: CommitNumber?
      while let (operation, stamp) = try reader.nextStamped() {
        guard let (change, previous) = operation.change(of: key, in: { $0.number == bucket })
        else { continue }
        first = first ?? previous
        if number > commit { continue }
        let kept = change.map { (value, _) -> StoredValue in
          if case .inline(let bytes) = value { .inline(arena.copy(bytes)) } else { value }
        }
        steps.append(Step(change: kept, stamp: stamp))
      }
      return first.map { (steps, $0) }
    }
  }

  private func record(in roots: Roots) throws(TreeRingError) -> RowRecord? {
    try value(in: roots.rows).map { (bytes) throws(TreeRingError) in try RowRecord(bytes) }
  }

  private func value(in root: TreeRoot) -> UnsafeRawBufferPointer? {
    key.withUnsafeBytes { key in
      RowTreeKey.with(bucket: bucket, key: key) { Tree(root, pages: pages).value(of: $0) }
    }
  }
}
