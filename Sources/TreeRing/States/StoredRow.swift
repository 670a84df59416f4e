// A copy of a row with its undecoded bytes.

public import TreeRingLog

/// A row with its bytes, as it was at some commit.
public struct StoredRow: Hashable, Sendable {
  /// The bucket of the row.
  public let bucket: String
  /// The key of the row.
  public let key: Key
  /// The object's bytes.
  public let object: [UInt8]
  /// The metadata's bytes; nil if the row has no metadata.
  public let metadata: [UInt8]?
  /// The commit that last wrote the row.
  public let written: CommitNumber
  /// The commit that created the row.
  public let created: CommitNumber
  /// The version of the coder that wrote the object.
  public let coder: UInt32

  package init(
    bucket: String, key: Key, object: [UInt8], metadata: [UInt8]?, written: CommitNumber,
    created: CommitNumber, coder: UInt32
  ) {
    self.bucket = bucket
    self.key = key
    self.object = object
    self.metadata = metadata
    self.written = written
    self.created = created
    self.coder = coder
  }

  public static func == (a: StoredRow, b: StoredRow) -> Bool {
    a.key == b.key && a.written == b.written && a.created == b.created && a.coder == b.coder
      && a.object == b.object && a.metadata == b.metadata && a.bucket.isSameName(as: b.bucket)
  }
  public func hash(into hasher: inout Hasher) {
    bucket.hashName(into: &hasher)
    hasher.combine(key)
    hasher.combine(written)
  }
}

extension Bucket {
  /// A stored row of this bucket, decoded.
  ///
  ///     let titles = try index.rows(in: "sci-fi").map { try books.decode($0).title }
  ///
  /// - Throws: The errors of the bucket's coder.
  public func decode(_ row: StoredRow) throws -> Row {
    try row.object.withUnsafeBytes { try coder.decode($0, row.coder) }
  }
}
