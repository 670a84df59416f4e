// Descriptions of history: commits, versions of a row, operations.

public import TreeRingLog

/// A commit of the log.
public struct CommitInfo: Hashable, Sendable {
  /// The commit's number.
  public let number: CommitNumber
  /// The commit's date.
  public let timestamp: Timestamp
  /// The number of its operations.
  public let operationCount: Int
  /// Its size on disk, in bytes.
  public let byteCount: Int
  /// A remark for people.
  public let note: String?
  /// JSON for programs.
  public let annotation: [UInt8]?
  /// The tags given with the write.
  public let tags: [String]

  public static func == (a: CommitInfo, b: CommitInfo) -> Bool {
    a.number == b.number && a.timestamp == b.timestamp && a.operationCount == b.operationCount
      && a.byteCount == b.byteCount && a.note.isSameName(as: b.note)
      && a.annotation == b.annotation && a.tags.areSameNames(as: b.tags)
  }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(number)
    hasher.combine(timestamp)
  }
}

/// One version of a row.
public struct RowVersion: Hashable, Sendable {
  /// The kind of an operation on a row.
  public enum Kind: String, Hashable, Sendable {
    /// The object was written, and possibly the metadata.
    case put
    /// Only the metadata was written.
    case metadata
    /// The row was touched: nothing was written, but it counts as modified.
    case touch
    /// The row was deleted.
    case delete
  }
  /// The commit that wrote the version.
  public let commit: CommitNumber
  /// The date of that commit.
  public let timestamp: Timestamp
  /// The kind of the operation that wrote the version.
  public let kind: Kind
  /// The object that the operation wrote; nil if it wrote none.
  public let object: [UInt8]?
  /// The metadata that the operation wrote; nil if it wrote none.
  public let metadata: [UInt8]?
  /// The version of the coder that wrote the object; nil without an object. `Bucket.decode` takes
  /// it into account.
  public let coder: UInt32?

  init(_ header: CommitHeader, _ change: RowChange<[UInt8]>) {
    commit = header.number
    timestamp = header.timestamp
    kind =
      switch change {
      case .put, .object, .whole: .put
      case .metadata: .metadata
      case .touch: .touch
      case .delete: .delete
      }
    (coder, object, metadata) = change.written
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

/// An operation of a commit, with copies of its bytes.
package enum CommitOperation: Hashable, Sendable {
  case row(RowID, RowChange<[UInt8]>)
  case tag(name: String, commit: CommitNumber)
  case index(name: String, version: UInt32, IndexRecord.Definition)
  /// A row's place in a manual index; an empty label removes the row from the group.
  case place(PlaceAddress, RowID, label: [UInt8])
}
