// Writes of rows by values that are their keys: the writes of `Transaction` for the types of
// `KeyConvertible`. They are disfavoured, so that a literal is a `Key`.

public import TreeRingLog

extension Transaction {
  /// Puts a row under a value: replaces the object and the metadata; without metadata, the row has
  /// none afterwards.
  @_disfavoredOverload
  public func put<Row>(
    _ row: Row, metadata: [UInt8]? = nil, for key: some KeyConvertible, in bucket: Bucket<Row>
  ) throws {
    try put(row, metadata: metadata, for: Key(key), in: bucket)
  }

  /// Puts the object of the row whose key is a value, and keeps its metadata.
  @_disfavoredOverload
  public func put<Row>(
    object row: Row, for key: some KeyConvertible, in bucket: Bucket<Row>
  ) throws {
    try put(object: row, for: Key(key), in: bucket)
  }

  /// Sets the metadata of the row whose key is a value, and keeps its object.
  /// - Throws: `notFound` if there is no such row.
  @_disfavoredOverload
  public func put(
    metadata: [UInt8], for key: some KeyConvertible, in bucket: some BucketName
  ) throws {
    try put(metadata: metadata, for: Key(key), in: bucket)
  }

  /// Marks the row whose key is a value as changed without changing it.
  /// - Throws: `notFound` if there is no such row.
  @_disfavoredOverload
  public func touch(_ key: some KeyConvertible, in bucket: some BucketName) throws {
    try touch(Key(key), in: bucket)
  }

  /// Deletes the row whose key is a value.
  /// - Returns: `true` if the row existed.
  @discardableResult
  @_disfavoredOverload
  public func delete(_ key: some KeyConvertible, in bucket: some BucketName) throws -> Bool {
    try delete(Key(key), in: bucket)
  }

  /// Refuses the commit unless the given commit was the last to write the row whose key is a value;
  /// with 0, unless the row is absent.
  /// - Throws: `conflict`, as for a key.
  @_disfavoredOverload
  public func require(
    _ key: some KeyConvertible, in bucket: some BucketName, lastWrittenAt expected: CommitNumber
  ) throws(TreeRingError) {
    try require(Key(key), in: bucket, lastWrittenAt: expected)
  }

  /// Returns the group of a value in a manual index for arranging its rows.
  /// - Throws: `notFound` if there is no such manual index; `tooLarge` if the name is over its
  ///   limit.
  @_disfavoredOverload
  public func group(
    _ group: some KeyConvertible, of index: String
  ) throws(TreeRingError) -> ManualGroup {
    try self.group(GroupName(group), of: index)
  }
}
