// Rows by values that are their keys: the reads of `Readable` for `String`, integers, `UUID` and
// the other types of `KeyConvertible`. They are disfavoured, so that a literal is a `Key`.

public import TreeRingLog

extension Readable {
  /// The row whose key is a value; nil if there is none. O(log n).
  @_disfavoredOverload
  public func get<Row>(_ key: some KeyConvertible, in bucket: Bucket<Row>) throws -> Row? {
    try get(Key(key), in: bucket)
  }

  /// Several rows, in the order of the values that are their keys; nil where there is none.
  /// O(log n) each.
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
}
