// Puts into buckets that no index covers: in one descent, or, for a load of sorted rows, behind all
// others and without reading an old row.

internal import TreeRingLog

extension StateEditor {
  /// Puts a row without metadata, whose object is inline, into a bucket that no index covers. One
  /// descent finds the old record and the place of the new one.
  ///
  /// - Returns: the commit that last wrote or deleted the row before; 0 if none did.
  /// - Throws: the error that prevents the put; then nothing has changed.
  func putPlain(
    _ object: UnsafeRawBufferPointer, coder: UInt32, for key: UnsafeRawBufferPointer,
    in reference: BucketReference, at stamp: Stamp
  ) throws(TreeRingError) -> CommitNumber {
    if !rules.unknown.isEmpty { try rules.checkKnown(reference.name, deletes: false) }
    return try RowTreeKey.with(bucket: reference.number, key: key) {
      (treeKey) throws(TreeRingError) in
      var place = editor.find(treeKey, in: &roots.rows)
      var new = RowRecord(
        written: stamp, created: stamp, touched: 0, coder: coder, object: .inline(object),
        metadata: nil)
      var previous: CommitNumber = 0
      var deletedAt: CommitNumber = 0
      if let bytes = place?.value {
        let old = try RowRecord(bytes)
        previous = old.written.commit
        (new.created, new.touched) = (old.created, old.touched)
      } else {
        deletedAt = try tombstone(bucket: reference.number, key: key)
        previous = deletedAt
      }
      if !isKnown(reference) {
        add(reference)
        place = editor.find(treeKey, in: &roots.rows)
      }
      withBytes(of: new) { _ = editor.put(&roots.rows, at: place, key: treeKey, value: $0) }
      if deletedAt != 0 { _ = editor.remove(&roots.tombstones, key: treeKey) }
      return previous
    }
  }

  /// Whether `append` can put a row: no index covers its bucket, every rule can be checked here,
  /// and no row has its key or a key above it, in this or a later bucket. O(log n).
  func canAppend(_ key: UnsafeRawBufferPointer, in reference: BucketReference) -> Bool {
    if !rules.unknown.isEmpty || !active.covering(reference.name).isEmpty { return false }
    let rank = RowTreeKey.with(bucket: reference.number, key: key) { rows.rank(of: $0) }
    return rank == rows.count
  }

  /// Puts a row without metadata that `canAppend`, and then rows behind it. O(1) amortised, and a
  /// search among the tombstones if there are any.
  ///
  /// - Parameters:
  ///   - end: The end of the row tree after the previous call; nil if anything was edited since.
  /// - Returns: the commit that deleted a row of this key before; 0 if none did.
  /// - Throws: the error that prevents the put; then nothing has changed.
  func append(
    _ object: UnsafeRawBufferPointer, coder: UInt32, for key: UnsafeRawBufferPointer,
    in reference: BucketReference, at stamp: Stamp, end: inout TreeEnd?
  ) throws(TreeRingError) -> CommitNumber {
    let new = RowRecord(
      written: stamp, created: stamp, touched: 0, coder: coder, object: .inline(object),
      metadata: nil)
    let bucket = reference.number
    let deletedAt = try tombstone(bucket: bucket, key: key)
    if deletedAt != 0 || end == nil {
      add(reference)
      end = nil
    }
    RowTreeKey.with(bucket: bucket, key: key) { treeKey in
      if deletedAt != 0 { _ = editor.remove(&roots.tombstones, key: treeKey) }
      withBytes(of: new) { editor.append(&roots.rows, at: &end, key: treeKey, value: $0) }
    }
    return deletedAt
  }

  /// Puts a row behind all others, whose key has no tombstone and whose bucket has no index. O(1)
  /// amortised.
  /// - Parameter end: The end of the row tree after the previous call; nil if anything was edited
  ///   since.
  func append(
    _ row: RowRecord, treeKey: UnsafeRawBufferPointer, end: inout TreeEnd?
  ) throws(TreeRingError) {
    try withBytes(of: row) { (bytes) throws(TreeRingError) in
      guard treeKey.count + bytes.count <= PageLayout.maxCellByteCount else {
        throw ByteReader.damaged
      }
      editor.append(&roots.rows, at: &end, key: treeKey, value: bytes)
    }
  }

  /// Calls `body` with the bytes of a record; on the stack for a plain one, as most are.
  @inline(__always)
  private func withBytes<E: Error>(
    of row: RowRecord, _ body: (UnsafeRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    if let content = row.plainObject {
      try withUnsafeTemporaryAllocation(
        byteCount: RowRecord.plainHeadByteLimit + content.count, alignment: 8
      ) { (buffer) throws(E) in
        let end = row.encodePlain(content, to: buffer)
        try body(UnsafeRawBufferPointer(rebasing: buffer[..<end]))
      }
    } else {
      encode(row)
      try editor.memory.record.withUnsafeBytes { (bytes) throws(E) in try body(bytes) }
    }
  }
}
