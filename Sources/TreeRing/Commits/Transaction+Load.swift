// Loads sorted rows in bulk.

internal import TreeRingLog

extension Transaction {
  /// Puts many rows in ascending key order. Rows of a bucket without indexes that lie behind all
  /// rows of the store cost the least: they fill the last page of the tree, one page after the
  /// other, and no old row is looked for.
  ///
  /// - Returns: the number of rows put. O(rows) behind the last row of a store
  ///   without tombstones, else O(rows · log n).
  /// - Throws: `invalidInput` if a key is not above the previous one. The rows before that key have
  ///   been put, so let the error end the transaction.
  @inlinable
  @discardableResult
  public func load<Row>(
    _ rows: some Sequence<(key: Key, row: Row)>, in bucket: Bucket<Row>
  ) throws -> Int {
    // Inlinable, so that the compiler specialises the loop for the sequence.
    var load = SortedLoad(self, bucket: bucket.name, coder: bucket.coder.version)
    for (key, row) in rows { try load.put(try bucket.coder.encode(row), for: key) }
    return load.count
  }

  /// Appends a row that the state editor can append, and logs it.
  fileprivate func append(
    _ object: UnsafeRawBufferPointer, coder: UInt32, for key: UnsafeRawBufferPointer,
    in bucket: BucketReference, end: inout TreeEnd?
  ) throws(TreeRingError) {
    let stamp = payload.stamp
    let previous = try editor.append(
      object, coder: coder, for: key, in: bucket, at: stamp, end: &end)
    payload.append(put: object, coder: coder, for: key, in: bucket, previous: previous)
  }
}

/// A load of sorted rows into one bucket.
@usableFromInline
struct SortedLoad {
  private let transaction: Transaction
  private let bucket: String
  private let coder: UInt32
  /// The number of rows put.
  @usableFromInline private(set) var count = 0
  /// The bytes of the last key; its own memory, so that no reference of a key is counted.
  private var last: [UInt8] = []
  /// Whether rows may be appended, as far as known.
  private var appends = true
  /// The transaction's count of edits after the last row that was appended. Only the load itself
  /// may have edited anything since: the sequence of rows is code of the caller.
  private var lastEdit: UInt?
  private var end: TreeEnd?

  @usableFromInline
  init(_ transaction: Transaction, bucket: String, coder: UInt32) {
    self.transaction = transaction
    self.bucket = bucket
    self.coder = coder
  }

  /// Puts the next row.
  /// - Throws: `invalidInput` if its key is not above the previous one.
  @usableFromInline
  mutating func put(_ object: [UInt8], for key: Key) throws {
    try object.withUnsafeBytes { object in
      try key.bytes.withUnsafeBytes { bytes in
        if count > 0, last.withUnsafeBytes({ KeyOrder.compare($0, bytes) }) >= 0 {
          throw TreeRingError(
            .invalidInput,
            "Row \(count) of the load, \(key), is not above \(Key(bytes: last)). Sort the rows by "
              + "key, byte by byte, or put them one by one.")
        }
        try put(object, for: bytes)
        last.removeAll(keepingCapacity: true)
        last.append(contentsOf: bytes)
      }
    }
    count += 1
  }

  private mutating func put(
    _ object: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    if appends, Limits.isInline(byteCount: object.count, beside: 0, keyByteCount: key.count) {
      let isUnchanged = lastEdit == transaction.editCount
      let reference = try transaction.begin(key, in: bucket, values: object, nil)
      if !isUnchanged {
        end = nil
        appends = transaction.editor.canAppend(key, in: reference)
      }
      if appends {
        try transaction.append(object, coder: coder, for: key, in: reference, end: &end)
        lastEdit = transaction.editCount
        return
      }
    }
    try transaction.put(key, in: bucket, object: object, metadata: nil, coder: coder)
  }
}
