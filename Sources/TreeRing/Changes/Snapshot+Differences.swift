// The rows that differ between two snapshots.

internal import TreeRingLog

/// A row that differs between two commits.
public struct RowDifference: Hashable, Sendable {
  /// The kind of a change between two commits.
  public enum Kind: String, Hashable, Sendable {
    /// The row was inserted.
    case insert
    /// The row was deleted.
    case delete
    /// The row exists before and after, and differs.
    case update
  }
  /// The kind of the change.
  public let kind: Kind
  /// The row before; nil if it did not exist.
  public let before: StoredRow?
  /// The row after; nil if it does not exist.
  public let after: StoredRow?
  /// The row's identity.
  public let id: RowID
}

extension Snapshot {
  /// Calls `body` with every row whose object or metadata differs between another snapshot, earlier
  /// or later, and this one. The rows come by bucket number and key, until `body` returns false.
  /// O(rows written in between · log n) if one commit's trees derive from the other's, otherwise
  /// O(rows).
  /// - Throws: `invalidInput` if the two snapshots are of two stores; errors of `body`;
  ///   `snapshotExpired`, `io`.
  public func diff(from old: Snapshot, _ body: (RowDifference) throws -> Bool) throws {
    guard old.store === store else {
      throw TreeRingError(
        .invalidInput,
        "The two snapshots are of different stores. Compare two that the same `Store` has made.")
    }
    try diff(from: old, startingAt: nil, body)
  }

  /// Calls `body` with the same rows, from a row on.
  ///
  /// - Parameter first: A row, present or not; nil for all.
  /// - Throws: `notFound` if its bucket never existed.
  package func diff(
    from old: Snapshot, startingAt first: RowID?, _ body: (RowDifference) throws -> Bool
  ) throws {
    let (before, after) = try Self.sharingPages(old, self)
    var key: [UInt8]?
    if let first {
      let newest = try (before.commit > after.commit ? before : after).reader
      guard let row = newest.reference(first) else {
        throw TreeRingError(.notFound, "There never was a bucket \(first.bucket).")
      }
      key = RowTreeKey.of(bucket: row.bucket, key: row.key)
    }
    try after.reader.diff(from: before.reader, startingAt: key, body)
  }

  /// Two snapshots of one store whose trees share pages. Erasing rebuilds the trees; in that case
  /// they are new snapshots of the same commits.
  static func sharingPages(
    _ first: Snapshot, _ second: Snapshot
  ) throws(TreeRingError) -> (Snapshot, Snapshot) {
    var (first, second) = (first, second)
    while first.pin.pages !== second.pin.pages {
      first = try first.store.snapshot(at: .commit(first.commit))
      second = try second.store.snapshot(at: .commit(second.commit))
    }
    return (first, second)
  }

  /// Every row that differs between another snapshot and this one.
  public func diff(from old: Snapshot) throws -> [RowDifference] {
    var all: [RowDifference] = []
    try diff(from: old) {
      all.append($0)
      return true
    }
    return all
  }
}

extension RowContent {
  /// Whether object and metadata are equal.
  func isSame(as other: RowContent) -> Bool {
    object == other.object && metadata == other.metadata
  }
}

extension StateReader {
  /// Calls `body` with every row whose object or metadata differs between another state of the same
  /// store and this one. The rows come by bucket number and key, until `body` returns false.
  ///
  /// - Parameter first: The key in the row tree to begin at; nil for the first.
  func diff(
    from old: StateReader, startingAt first: [UInt8]? = nil,
    _ body: (RowDifference) throws -> Bool
  ) throws {
    guard pages === old.pages else { throw Self.treesRebuilt }
    var differences = TreeDiff(from: old.roots.rows, to: roots.rows, pages: pages)
    if let first {
      try old.reading {
        try reading {
          let failures = pages.fetchFailureCount
          first.withUnsafeBytes { differences.seek(to: $0) }
          try pages.checkFetches(since: failures)
        }
      }
    }
    while try forSomeDifferences(&differences, from: old, body) {}
  }

  /// Calls `body` with the same rows, in pieces of some megabytes or of one row. No read section is
  /// open during the call, so `body` may write.
  func diffByPieces(from old: StateReader, _ body: ([RowDifference]) throws -> Void) throws {
    guard pages === old.pages else { throw Self.treesRebuilt }
    var differences = TreeDiff(from: old.roots.rows, to: roots.rows, pages: pages)
    var goesOn = true
    while goesOn {
      var piece: [RowDifference] = []
      var byteCount = 0
      goesOn = try forSomeDifferences(&differences, from: old) { difference in
        for row in [difference.before, difference.after] {
          byteCount += (row?.object.count ?? 0) + (row?.metadata?.count ?? 0)
        }
        piece.append(difference)
        return byteCount < 1 << 22
      }
      goesOn = goesOn || byteCount >= 1 << 22
      try body(piece)
    }
  }

  /// The error for two states in different page stores, which cannot be compared.
  static var treesRebuilt: TreeRingError {
    TreeRingError(
      .snapshotExpired,
      "The two snapshots are of different stores, or the trees were rebuilt between them. Take "
        + "both snapshots again.")
  }

  /// Calls `body` with at most some hundred differences. So a read section stays short, and a long
  /// diff does not delay the release of memory.
  /// - Returns: True if there may be more differences and `body` wants them.
  private func forSomeDifferences(
    _ differences: inout TreeDiff, from old: StateReader, _ body: (RowDifference) throws -> Bool
  ) throws -> Bool {
    try old.reading {
      try reading {
        let failures = pages.fetchFailureCount
        differences.resume()
        // An empty page stands for a page that could not be fetched.
        try pages.checkFetches(since: failures)
        for _ in 0..<Self.sectionEntryCount {
          let goesOn = try differences.next { key, before, after in
            try pages.checkFetches(since: failures)
            return try describe(key, before, after, from: old, body)
          }
          guard goesOn == true else { return false }
        }
        return true
      }
    }
  }

  private func describe(
    _ key: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?,
    _ after: UnsafeRawBufferPointer?, from old: StateReader,
    _ body: (RowDifference) throws -> Bool
  ) throws -> Bool {
    let row = RowReference(bucket: RowTreeKey.bucket(of: key), key: Array(RowTreeKey.key(of: key)))
    let id = try (after == nil ? old : self).id(row)
    let oldRecord = try before.map { try RowRecord($0) }
    let newRecord = try after.map { try RowRecord($0) }
    if let oldRecord, let newRecord, oldRecord.content.isSame(as: newRecord.content) {
      return true
    }
    return try body(
      RowDifference(
        kind: before == nil ? .insert : after == nil ? .delete : .update,
        before: try oldRecord.map { try old.stored($0, key: id.key, bucket: id.bucket) },
        after: try newRecord.map { try stored($0, key: id.key, bucket: id.bucket) }, id: id))
  }
}
