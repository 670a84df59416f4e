// Applies commits of the log to a state, as the writes did.

internal import TreeRingLog

extension StateEditor {
  /// Applies one commit from the log. An index definition changes only the catalog;
  /// `buildMissingIndexes` builds the trees later.
  ///
  /// - Throws: the error that prevents the replay. Some operations may have been applied by then,
  ///   so the caller has to discard the editor.
  func replay(
    _ header: CommitHeader, _ payload: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    try replay(
      header, payload, name: { (_) throws(TreeRingError) in },
      { (operation, _, stamp) throws(TreeRingError) in try replay(operation, at: stamp) })
  }

  /// Decodes one commit, passes its operations to `apply`, and applies the rest.
  /// - Parameters:
  ///   - name: Gets each bucket that the commit names, before its first operation there.
  ///   - apply: Gets each operation, and the fields of its change if it changes one row.
  @inline(__always)
  func replay(
    _ header: CommitHeader, _ payload: UnsafeRawBufferPointer,
    name: (BucketReference) throws(TreeRingError) -> Void,
    _ apply: (Operation, UnsafeRawBufferPointer, Stamp) throws(TreeRingError) -> Void
  ) throws(TreeRingError) {
    var reader = try PayloadReader(payload, commit: header.number)
    for tag in reader.notes.tags { try setTag(tag, commit: header.number) }
    if let key = reader.notes.idempotencyKey { setIdempotencyKey(key, commit: header.number) }
    var namedCount = 0
    while true {
      let stamp = reader.stamp
      guard let operation = try reader.next() else { break }
      while namedCount < reader.buckets.count {
        try name(reader.buckets[namedCount])
        namedCount += 1
      }
      do {
        try apply(operation, reader.fields, stamp)
      } catch { throw Self.replayError(error, at: stamp) }
    }
    guard reader.count == header.operationCount else { throw ByteReader.damaged }
    setCommit(
      header.number, timestamp: header.timestamp, operationCount: header.operationCount,
      payloadByteCount: payload.count)
  }

  /// The error of an operation that cannot be applied. A write that is refused for its input never
  /// reaches the log, so such an operation means that the log is damaged.
  static func replayError(_ error: TreeRingError, at stamp: Stamp) -> TreeRingError {
    switch error.code {
    case .invalidInput, .notFound, .tooLarge, .alreadyExists, .conflict:
      TreeRingError(
        .corruption,
        "Operation \(stamp.operation) of commit \(stamp.commit) cannot be applied: "
          + "\(error.message) Run `treering verify --deep`, then `treering salvage`.",
        commit: stamp.commit)
    default: error
    }
  }

  /// Throws `corruption` if a bucket is known under another number, or its number under another
  /// name.
  func checkBucket(_ bucket: BucketReference) throws(TreeRingError) {
    if let name = catalog.name(ofBucket: bucket.number) {
      if !name.utf8.elementsEqual(bucket.name.utf8) { throw ByteReader.damaged }
    } else if catalog.buckets[bucket.name] != nil {
      throw ByteReader.damaged
    }
  }

  /// Applies one operation.
  ///
  /// - Throws: the error that prevents the operation; then nothing has changed.
  func replay(_ operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    if let row = operation.row { try checkBucket(row.bucket) }
    switch operation {
    case .row(let row, let change): try replay(change, of: row, at: stamp)
    case .deleteRange(let bucket, let rows):
      try checkBucket(bucket)
      for row in rows { try replay(.delete, of: row.address(in: bucket), at: stamp) }
    case .tag(let name, let commit): try setTag(name, commit: commit)
    case .index(let record):
      // Two indexes would share the trees under one number.
      let isTaken = catalog.indexes.values.contains {
        $0.number == record.number && !$0.name.isSameName(as: record.name)
      }
      if isTaken { throw ByteReader.damaged }
      setDefinition(record)
    case .place(let place, let row, let label):
      add(row.bucket)
      try self.place(row.key, in: row.bucket, place, label: Array(label))
    case .stub(_, let buckets):
      hasReplayedStub = true
      for bucket in buckets {
        try checkBucket(bucket)
        add(bucket)
      }
    case .held(let row, _): add(row.bucket)
    }
  }

  /// Applies a change. A delete of an absent row removes its places: a compacted log may hold it
  /// for them when the row's puts are gone.
  private func replay(
    _ change: RowChange<StoredValue>, of row: RowAddress, at stamp: Stamp
  ) throws(TreeRingError) {
    if try apply(change, in: row.bucket, key: row.key, at: stamp) == nil {
      takeOut(of: row.bucket, key: row.key)
    }
  }
}
