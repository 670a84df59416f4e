// Deletes many rows by one operation, some at a time. Of them, only the keys stay in memory,
// because the commit's payload holds these.

public import TreeRingLog

extension Transaction {
  /// Deletes the rows of a bucket with `lower` ≤ key < `upper`; nil is no bound. Without bounds it
  /// deletes the whole bucket.
  ///
  /// Changed pages are written early when memory is short. The commit's payload, which names every
  /// row, stays in memory.
  ///
  /// - Returns: the number of rows deleted. O(rows deleted · log n).
  @discardableResult
  public func deleteAll(
    in bucket: some BucketName, from lower: Key? = nil, to upper: Key? = nil
  ) throws(TreeRingError) -> Int {
    try beginEdit()
    let name = bucket.bucketName
    guard let number = editor.catalog.number(ofBucket: name) else { return 0 }
    func positions() -> Range<Int> {
      RowTreeKey.positions(in: editor.rows, bucket: number, from: lower, to: upper)
    }
    let rowCount = positions().count
    if rowCount == 0 { return 0 }
    let stamp = payload.stamp
    let bucket = BucketReference(number: number, name: name)
    payload.beginDeleteRange(bucket, rowCount: rowCount)
    do throws(TreeRingError) {
      var deletedCount = 0
      while deletedCount < rowCount {
        // The earlier rows are gone, so the remaining ones begin at the start of the range.
        let keys = keys(at: positions().prefix(Self.deletedAtOnce))
        if keys.isEmpty { throw ByteReader.damaged }
        for key in keys {
          try key.withUnsafeBytes { (key) throws(TreeRingError) in
            try delete(key, in: bucket, at: stamp)
          }
          try noteEdit()
        }
        deletedCount += keys.count
      }
    } catch {
      // The payload already names rows that were not deleted.
      failure = error
      throw error
    }
    return rowCount
  }

  private func keys(at positions: Range<Int>) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    editor.rows.forEach(in: positions) { key, _ in
      keys.append(Array(RowTreeKey.key(of: key)))
      return true
    }
    return keys
  }

  private func delete(
    _ key: UnsafeRawBufferPointer, in bucket: BucketReference, at stamp: Stamp
  ) throws(TreeRingError) {
    guard let previous = try editor.apply(.delete, in: bucket, key: key, at: stamp) else {
      throw ByteReader.damaged
    }
    payload.deleteRange(key, previous: previous)
  }

  /// The maximum number of keys held at a time.
  private static let deletedAtOnce = 256
}
