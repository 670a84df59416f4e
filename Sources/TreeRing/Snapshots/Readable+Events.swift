// The reads that streams of events need besides those of rows: the last key of a range, and rows
// with the operation that created them.

package import TreeRingLog

extension Readable {
  /// Calls `body` with the last key of a bucket with `lower` ≤ key < `upper`, if there is one.
  /// O(log n).
  ///
  /// Its parameters are of no generic types: other modules would call it unspecialized.
  package func withLastKey(
    in bucket: String, from lower: UnsafeRawBufferPointer, to upper: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(TreeRingError) {
    try reader.withLastKey(in: bucket, from: lower, to: upper, body)
  }

  /// Whether a bucket has had a row so far. O(log n).
  package func knows(bucket: String) throws(TreeRingError) -> Bool {
    try reader.number(ofBucket: bucket) != nil
  }

  /// Calls `body` with the rows of a bucket with `lower` ≤ key < `upper` and the operations that
  /// created them, ascending by key or, if `reversed`, descending, until it returns false.
  /// O(log n + rows read).
  package func forEachCreated(
    in bucket: String, from lower: Key?, to upper: Key?, reversed: Bool,
    _ body: (StoredRow, Stamp) throws -> Bool
  ) throws {
    let reader = try self.reader
    try forEachRecord(in: bucket, from: lower, to: upper, reversed: reversed) { key, record in
      let row = try reader.stored(record, key: Key(bytes: key), bucket: bucket)
      return try body(row, record.created)
    }
  }
}

extension IndexReader {
  /// Calls `body` with the rows of a group from the first one at or behind a sort key on, and their
  /// sort keys, until it returns false. O(log n + rows read · log n).
  package func forEachRow(
    in group: GroupName, fromSortKey start: [UInt8],
    _ body: (StoredRow, _ sortKey: [UInt8]) throws -> Bool
  ) throws {
    let count = try count(in: group)
    let first = try rank(of: start, in: group)
    if first >= count { return }
    try forEachEntry(in: group, first..<count) { entry in
      let row = try state.row(try state.id(entry.row))
      return try body(row, Array(entry.order.dropLast(4 + row.key.bytes.count)))
    }
  }

  /// Calls `body` with the rows of a group before a sort key, the last one first, and their sort
  /// keys, until it returns false. O(log n + rows read · log n).
  package func forEachRow(
    in group: GroupName, beforeSortKey end: [UInt8]?,
    _ body: (StoredRow, _ sortKey: [UInt8]) throws -> Bool
  ) throws {
    let end = try end.map { try rank(of: $0, in: group) } ?? count(in: group)
    if end <= 0 { return }
    try forEachEntry(in: group, 0..<end, reversed: true) { entry in
      let row = try state.row(try state.id(entry.row))
      return try body(row, Array(entry.order.dropLast(4 + row.key.bytes.count)))
    }
  }
}

extension StateReader {
  /// Calls `body` with the last key of a bucket with `lower` ≤ key < `upper`, if there is one.
  fileprivate func withLastKey(
    in bucket: String, from lower: UnsafeRawBufferPointer, to upper: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(TreeRingError) {
    guard let bucket = number(ofBucket: bucket) else { return }
    try read {
      RowTreeKey.with(bucket: bucket, key: lower) { lower in
        RowTreeKey.with(bucket: bucket, key: upper) { upper in
          _ = rows.withKey(before: upper) { found in
            if KeyOrder.compare(found, lower) >= 0 { body(RowTreeKey.key(of: found)) }
          }
        }
      }
    }
  }
}
