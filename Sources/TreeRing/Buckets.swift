// Variants of calls that take a bucket's name, for buckets with a type: every call on a row accepts
// the same bucket that the row was put into.

public import TreeRingLog

extension RowID {
  /// Names the row of a key in a bucket.
  public init<Row>(_ key: Key, in bucket: Bucket<Row>) {
    self.init(bucket: bucket.name, key: key)
  }
}

extension Readable {
  /// A row with its bytes; nil if there is none of that key. O(log n).
  public func row<Row>(
    _ key: Key, in bucket: Bucket<Row>
  ) throws(TreeRingError) -> StoredRow? {
    try row(key, in: bucket.name)
  }

  /// A row's metadata; nil if it has none or there is no such row. O(log n).
  public func metadata<Row>(
    of key: Key, in bucket: Bucket<Row>
  ) throws(TreeRingError) -> [UInt8]? {
    try metadata(of: key, in: bucket.name)
  }

  /// Whether there is a row of that key. O(log n).
  public func contains<Row>(_ key: Key, in bucket: Bucket<Row>) throws(TreeRingError) -> Bool {
    try contains(key, in: bucket.name)
  }

  /// The commit that last wrote a row; nil if there is none of that key. O(log n).
  public func written<Row>(
    _ key: Key, in bucket: Bucket<Row>
  ) throws(TreeRingError) -> CommitNumber? {
    try written(key, in: bucket.name)
  }

  /// The number of a bucket's rows with `lower` ≤ key < `upper`; nil is no bound. O(log n).
  public func count<Row>(
    in bucket: Bucket<Row>, from lower: Key? = nil, to upper: Key? = nil
  ) throws(TreeRingError) -> Int {
    try count(in: bucket.name, from: lower, to: upper)
  }

  /// Calls `body` with every row of a bucket and its bytes, as ``forEach(in:from:to:reversed:_:)``
  /// does with decoded rows. O(log n + rows read).
  public func forEachRow<Row>(
    in bucket: Bucket<Row>, from lower: Key? = nil, to upper: Key? = nil, reversed: Bool = false,
    _ body: (StoredRow) throws -> Bool
  ) throws {
    try forEachRow(in: bucket.name, from: lower, to: upper, reversed: reversed, body)
  }
}

extension Transaction {
  /// Sets a row's metadata and keeps its object.
  /// - Throws: `notFound` if there is no such row.
  public func put<Row>(metadata: [UInt8], for key: Key, in bucket: Bucket<Row>) throws {
    try put(metadata: metadata, for: key, in: bucket.name)
  }

  /// Marks a row as changed without changing it: observers see the part `touched`.
  /// - Throws: `notFound` if there is no such row.
  public func touch<Row>(_ key: Key, in bucket: Bucket<Row>) throws {
    try touch(key, in: bucket.name)
  }

  /// Deletes a row.
  /// - Returns: Whether there was one.
  @discardableResult
  public func delete<Row>(_ key: Key, in bucket: Bucket<Row>) throws -> Bool {
    try delete(key, in: bucket.name)
  }

  /// Deletes the rows of a bucket with `lower` ≤ key < `upper`; nil is no bound, so that a call
  /// without bounds deletes all rows of the bucket.
  /// - Returns: The number of rows deleted. O(rows deleted · log n).
  @discardableResult
  public func deleteAll<Row>(
    in bucket: Bucket<Row>, from lower: Key? = nil, to upper: Key? = nil
  ) throws(TreeRingError) -> Int {
    try deleteAll(in: bucket.name, from: lower, to: upper)
  }

  /// Refuses the commit unless the given commit was the last to write the row. With 0, refuses it
  /// unless the row is absent.
  /// - Throws: `conflict`; its `current` is the commit that last wrote the row, 0 if it is absent.
  public func require<Row>(
    _ key: Key, in bucket: Bucket<Row>, lastWrittenAt expected: CommitNumber
  ) throws(TreeRingError) {
    try require(key, in: bucket.name, lastWrittenAt: expected)
  }
}

extension FieldIndex {
  /// A definition over the rows of a bucket. The bucket's coder must write JSON.
  ///
  /// Throws `invalidInput` if a field's path has an empty name.
  public init<Row>(
    on bucket: Bucket<Row>, group: String, order: [Order], where conditions: [Condition] = [],
    version: UInt32 = 1
  ) throws(TreeRingError) {
    try self.init(
      bucket: bucket.name, group: group, order: order, where: conditions, version: version)
  }
}

extension Store {
  /// Every version of a row that history reaches back to, newest first; `bucket.decode` decodes
  /// each one. Otherwise as for a bucket's name.
  public func history<Row>(
    of key: Key, in bucket: Bucket<Row>
  ) throws(TreeRingError) -> [RowVersion] {
    try history(of: key, in: bucket.name)
  }

  /// Deletes a row and removes every byte of its history from the log and the page file, as for a
  /// bucket's name.
  @discardableResult
  public func erase<Row>(
    _ key: Key, in bucket: Bucket<Row>, progress: (CompactionProgress) -> Void = { _ in }
  ) throws -> EraseReport {
    try erase(key, in: bucket.name, progress: progress)
  }
}

extension Bucket {
  /// The object of a row version, decoded with the version of the coder that wrote it; nil if that
  /// version wrote no object: a deletion, a touch, metadata alone.
  public func decode(_ version: RowVersion) throws -> Row? {
    try version.object.map { object in
      try object.withUnsafeBytes { try coder.decode($0, version.coder ?? 0) }
    }
  }
}
