// Indexes of snapshots and transactions by typed handles, and by the field that they serve.

public import TreeRingLog

extension Readable {
  /// An index by its handle, with decoded rows. O(1); O(n log n) for the first reader of an index
  /// at a commit that did not maintain it.
  ///
  ///     let rank = try snapshot[salesRank]
  ///     let popular = try rank.rows(in: .fantasy, where: .between(10...))  // Ubik, Dune
  ///
  /// - Throws: As `index(_:)`, `notFound` with the indexes of the handle's bucket; `invalidInput`
  ///   if the index is defined otherwise than the handle declares.
  public subscript<Row, Group, Sort>(
    index: Index<Row, Group, Sort>
  ) -> TypedIndexReader<Row, Group, Sort> {
    get throws(TreeRingError) {
      let record = try record(of: index)
      let reader = try self.index(index.name)
      return TypedIndexReader(index, try index.components(in: record), reader)
    }
  }

  /// A unique index by its handle, with decoded rows. O(1), as for other indexes.
  ///
  /// - Throws: As `index(_:)`; `invalidInput` if the index is defined otherwise than the handle
  ///   declares, or is not unique.
  public subscript<Row, Value>(
    index: UniqueIndex<Row, Value>
  ) -> UniqueReader<Row, Value> {
    get throws(TreeRingError) {
      let reader = try self[index.index]
      let record = try record(of: index.index)
      guard record.isUnique || record.reference?.isUnique == true else {
        throw index.index.contradiction("it is not unique")
      }
      return UniqueReader(reader)
    }
  }

  /// The index by fields whose groups are the values of a field of a bucket's rows.
  /// - Throws: `notFound` with the indexes of the bucket if there is none; as `index(_:)`.
  public func index(
    byField field: String, in bucket: some BucketName
  ) throws(TreeRingError) -> IndexReader {
    let definitions = readSource.state.definitions
    let found = IndexInfo.all(in: definitions).first { info in
      guard info.buckets.areSameNames(as: [bucket.bucketName]) else { return false }
      return info.groupField?.isSameName(as: field) ?? false
    }
    guard let found else {
      throw TreeRingError.noIndex(byField: field, of: bucket.bucketName, in: definitions)
    }
    return try index(found.name)
  }

  /// The definition by which the index of a handle is read.
  private func record<Row, Group, Sort>(
    of index: Index<Row, Group, Sort>
  ) throws(TreeRingError) -> IndexRecord {
    _ = try reader
    let definitions = readSource.state.definitions
    if let record = definitions.indexes[index.name] { return record }
    var error = TreeRingError.noIndex(
      named: index.name, of: index.bucket.name, in: definitions)
    if index.groupIndex != nil {
      error.message +=
        " The handle declares \(index.name): give it to `Store(at:indexes:)` or `register`."
    }
    throw error
  }
}
