// Rows by values that are their keys: the reads of `Readable` for `String`, integers, `UUID` and
// the other types of `KeyConvertible`. They are disfavoured, so that a literal is a `Key`.

public import TreeRingLog

extension Readable {
  /// The row whose key is a value; nil if there is none. O(log n).
  @inlinable
  @_disfavoredOverload
  public func get<Row>(_ key: some KeyConvertible, in bucket: Bucket<Row>) throws -> Row? {
    try get(Key(key), in: bucket)
  }

  /// Several rows, in the order of the values that are their keys; nil where there is none.
  /// O(log n) each.
  @inlinable
  @_disfavoredOverload
  public func get<Row>(_ keys: [some KeyConvertible], in bucket: Bucket<Row>) throws -> [Row?] {
    try keys.map { try get(Key($0), in: bucket) }
  }

  /// The row whose key is a value, with its bytes; nil if there is none. O(log n).
  @_disfavoredOverload
  public func row(
    _ key: some KeyConvertible, in bucket: some BucketName
  ) throws(TreeRingError) -> StoredRow? {
    try row(Key(key), in: bucket)
  }

  /// The metadata of the row whose key is a value; nil if there is none. O(log n).
  @_disfavoredOverload
  public func metadata(
    of key: some KeyConvertible, in bucket: some BucketName
  ) throws(TreeRingError) -> [UInt8]? {
    try metadata(of: Key(key), in: bucket)
  }

  /// Whether there is a row whose key is a value. O(log n).
  @_disfavoredOverload
  public func contains(
    _ key: some KeyConvertible, in bucket: some BucketName
  ) throws(TreeRingError) -> Bool {
    try contains(Key(key), in: bucket)
  }

  /// The commit that last wrote the row whose key is a value; nil if there is none. O(log n).
  @_disfavoredOverload
  public func written(
    _ key: some KeyConvertible, in bucket: some BucketName
  ) throws(TreeRingError) -> CommitNumber? {
    try written(Key(key), in: bucket)
  }

  /// The number of a bucket's rows with `lower` ≤ key < `upper`, in the order of the values' texts;
  /// nil is no bound. O(log n).
  @_disfavoredOverload
  public func count<Value: KeyConvertible>(
    in bucket: some BucketName, from lower: Value? = nil, to upper: Value? = nil
  ) throws(TreeRingError) -> Int {
    try count(in: bucket, from: lower.map { Key($0) }, to: upper.map { Key($0) })
  }

  /// Calls `body` with every row of a bucket with `lower` ≤ key < `upper`, in the order of the
  /// values' texts or, if `reversed`, in the opposite one, until it returns false.
  /// O(log n + rows read).
  @_disfavoredOverload
  public func forEach<Row, Value: KeyConvertible>(
    in bucket: Bucket<Row>, from lower: Value? = nil, to upper: Value? = nil,
    reversed: Bool = false, _ body: (Key, Row) throws -> Bool
  ) throws {
    try forEach(
      in: bucket, from: lower.map { Key($0) }, to: upper.map { Key($0) }, reversed: reversed, body)
  }

  /// Calls `body` with every such row, as `forEach` does, with the rows' bytes undecoded.
  @_disfavoredOverload
  public func forEachRow<Value: KeyConvertible>(
    in bucket: some BucketName, from lower: Value? = nil, to upper: Value? = nil,
    reversed: Bool = false, _ body: (StoredRow) throws -> Bool
  ) throws {
    try forEachRow(
      in: bucket, from: lower.map { Key($0) }, to: upper.map { Key($0) }, reversed: reversed, body)
  }

  /// The rows of a bucket with `lower` ≤ key < `upper`, in the order of the values' texts, at most
  /// `limit` of them. O(log n + rows read).
  @_disfavoredOverload
  public func rows<Row, Value: KeyConvertible>(
    in bucket: Bucket<Row>, from lower: Value? = nil, to upper: Value? = nil,
    reversed: Bool = false, limit: Int = .max
  ) throws -> [(key: Key, row: Row)] {
    try rows(
      in: bucket, from: lower.map { Key($0) }, to: upper.map { Key($0) }, reversed: reversed,
      limit: limit)
  }
}
