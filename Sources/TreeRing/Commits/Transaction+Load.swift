// Loads sorted rows in bulk.

internal import TreeRingLog

extension Transaction {
  /// Puts many rows in ascending key order. Rows behind a bucket's last key go straight to the
  /// right edge of the tree, whose pages fill up completely.
  ///
  /// - Returns: the number of rows put. O(rows) behind the last key, else O(rows · log n).
  /// - Throws: `invalidInput` if a key is not above the previous one. The rows before that key have
  ///   been put, so let the error end the transaction.
  @discardableResult
  public func load<Row>(
    _ rows: some Sequence<(key: Key, row: Row)>, in bucket: Bucket<Row>
  ) throws -> Int {
    var last: Key?
    var count = 0
    for (key, row) in rows {
      if let last, !(last < key) {
        throw TreeRingError(
          .invalidInput,
          "Row \(count) of the load, \(key), is not above \(last). Sort the rows by key, byte by "
            + "byte, or put them one by one.")
      }
      try put(row, for: key, in: bucket)
      last = key
      count += 1
    }
    return count
  }
}
