// Appending new rows behind all others, for a load of sorted rows: without reading an old row and
// without indexes.

internal import TreeRingLog

extension StateEditor {
  /// Whether `append` can put a row: no index covers its bucket, and no row has its key or a key
  /// above it, in this or a later bucket. O(log n).
  func canAppend(_ key: UnsafeRawBufferPointer, in reference: BucketReference) -> Bool {
    guard active.covering(reference.name).isEmpty else { return false }
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
    encode(new)
    let bucket = reference.number
    let deletedAt = try roots.tombstone(bucket: bucket, key: key, pages: pages)
    if deletedAt != 0 || end == nil {
      add(reference)
      end = nil
    }
    RowTreeKey.with(bucket: bucket, key: key) { treeKey in
      if deletedAt != 0 { _ = editor.remove(&roots.tombstones, key: treeKey) }
      record.withUnsafeBytes {
        editor.append(&roots.rows, at: &end, key: treeKey, value: $0)
      }
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
    encode(row)
    guard treeKey.count + record.count <= PageLayout.maxCellByteCount else {
      throw ByteReader.damaged
    }
    record.withUnsafeBytes { editor.append(&roots.rows, at: &end, key: treeKey, value: $0) }
  }
}
