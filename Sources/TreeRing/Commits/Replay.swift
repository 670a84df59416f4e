// Applies commits of the log to a state, as the writes did.

internal import TreeRingLog

extension StateEditor {
  /// Applies one commit from the log. Of index definitions only the catalog learns;
  /// `buildMissingIndexes` does the rest later.
  ///
  /// - Throws: if it cannot be done; some of it may have been applied then, so the editor has to be
  ///   discarded.
  func replay(
    _ header: CommitHeader, _ payload: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    try replay(header, payload) { (operation, stamp) throws(TreeRingError) in
      try replay(operation, at: stamp)
    }
  }

  /// Decodes one commit and hands on its operations; the rest of it is applied.
  func replay(
    _ header: CommitHeader, _ payload: UnsafeRawBufferPointer,
    _ apply: (Operation, Stamp) throws(TreeRingError) -> Void
  ) throws(TreeRingError) {
    var reader = try PayloadReader(payload, commit: header.number)
    for tag in reader.notes.tags { setTag(tag, commit: header.number) }
    if let key = reader.notes.idempotencyKey { setIdempotencyKey(key, commit: header.number) }
    while true {
      let stamp = Stamp(commit: header.number, operation: reader.count)
      guard let operation = try reader.next() else { break }
      try apply(operation, stamp)
    }
    guard reader.count == header.operationCount else { throw ByteReader.damaged }
    setCommit(
      header.number, timestamp: header.timestamp, operationCount: header.operationCount,
      payloadByteCount: payload.count)
  }

  /// Applies one operation.
  ///
  /// - Throws: if it cannot be done; nothing is changed then.
  func replay(_ operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    switch operation {
    case .put(let row, let coder, let object, let metadata):
      try apply(
        .put(object: object, metadata: metadata, coder: coder), in: row.bucket, key: row.key,
        at: stamp)
    case .object(let row, let coder, let object):
      try apply(.object(object, coder: coder), in: row.bucket, key: row.key, at: stamp)
    case .metadata(let row, let metadata):
      try apply(.metadata(metadata), in: row.bucket, key: row.key, at: stamp)
    case .touch(let row): try apply(.touch, in: row.bucket, key: row.key, at: stamp)
    case .delete(let row): try replayDelete(of: row.key, in: row.bucket, at: stamp)
    case .deleteRange(let bucket, let rows):
      for row in rows { try replayDelete(of: row.key, in: bucket, at: stamp) }
    case .tag(let name, let commit): setTag(name, commit: commit)
    case .index(let record):
      // Its trees would be taken for the other's.
      let isTaken = catalog.indexes.values.contains {
        $0.number == record.number && $0.name != record.name
      }
      if isTaken { throw ByteReader.damaged }
      setDefinition(record)
    case .place(let place, let row, let label):
      add(row.bucket)
      try self.place(row.key, in: row.bucket, place, label: Array(label))
    case .stub(_, let buckets):
      hasReplayedStub = true
      for bucket in buckets { add(bucket) }
    case .held(let row, _): add(row.bucket)
    case .row(let row, let record):
      try apply(.row(record), in: row.bucket, key: row.key, at: stamp)
    }
  }

  /// Of a compacted log a delete may be left for the places of a row whose puts are gone.
  private func replayDelete(
    of key: UnsafeRawBufferPointer, in bucket: BucketReference, at stamp: Stamp
  ) throws(TreeRingError) {
    if try apply(.delete, in: bucket, key: key, at: stamp) == nil {
      takeOut(bucket: bucket.number, key: key)
    }
  }
}
