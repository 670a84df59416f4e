// The differences between two states of one index, found by comparing trees. The result has the
// same form as merged change records and leads to the same changesets.
//
// It takes two diffs: of the order trees, for rows that were inserted, deleted or moved, and of the
// row trees, for rows that were written in place. Both skip pages that the two states share. The
// row trees hold rows of all buckets. The diff ignores a row that is in neither state of the index,
// so only rows of the index count for the limit and for memory.

internal import TreeRingLog

/// Compares two states of an index.
struct IndexDiff {
  private let old: IndexReader
  private let new: IndexReader
  private let limit: Int
  private var result: AffectedRows

  /// Every row whose places differ or that was written; nil if there are more than the limit.
  ///
  /// O(entries and rows of the store that differ), and O(log n) for each of those in `buckets`, as
  /// far as the limit reaches.
  /// - Parameter buckets: The names of the buckets whose rows either state may hold.
  static func affectedRows(
    from old: IndexReader, to new: IndexReader, within buckets: [String], limit: Int
  ) throws(TreeRingError) -> AffectedRows? {
    guard old.state.pages === new.state.pages else { throw StateReader.treesRebuilt }
    let result = AffectedRows(from: old.commit, to: new.commit)
    var diff = IndexDiff(old: old, new: new, limit: limit, result: result)
    try diff.addPlaced()
    try diff.addWritten(in: buckets)
    return diff.isOverLimit ? nil : diff.result
  }

  private var isOverLimit: Bool { result.rows.count > limit }

  /// Adds the rows that were inserted, deleted or moved.
  private mutating func addPlaced() throws(TreeRingError) {
    try forEachDifference(from: old.roots.order, to: new.roots.order) { diff, key, before, after in
      if let value = before ?? after { try diff.add(try OrderEntry(key: key, value: value).row) }
    }
  }

  /// Adds the rows of these buckets that were written in place.
  private mutating func addWritten(in buckets: [String]) throws(TreeRingError) {
    let catalogs = [old.state.catalog, new.state.catalog]
    let numbers = Set(buckets.flatMap { name in catalogs.compactMap { $0.buckets[name] } })
    let (before, after) = (old.state.roots.rows, new.state.roots.rows)
    try forEachDifference(from: before, to: after) { diff, key, before, after in
      let bucket = RowTreeKey.bucket(of: key)
      guard before != nil, after != nil, numbers.contains(bucket) else { return }
      try diff.add(RowReference(bucket: bucket, key: Array(RowTreeKey.key(of: key))))
    }
  }

  /// Calls `body` with every difference between two trees, until there are more rows than the
  /// limit. A read section covers at most some hundred differences, so that a long diff does not
  /// delay the release of memory.
  private mutating func forEachDifference(
    from old: TreeRoot, to new: TreeRoot,
    _ body: (
      inout IndexDiff, _ key: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?,
      _ after: UnsafeRawBufferPointer?
    ) throws -> Void
  ) throws(TreeRingError) {
    let (oldState, newState) = (self.old.state, self.new.state)
    var differences = TreeDiff(from: old, to: new, pages: newState.pages)
    var goesOn = !isOverLimit
    while goesOn {
      goesOn = try oldState.read {
        try newState.read {
          differences.resume()
          for _ in 0..<StateReader.sectionEntryCount {
            let found: Void? = try differences.next { try body(&self, $0, $1, $2) }
            if found == nil || isOverLimit { return false }
          }
          return true
        }
      }
    }
  }

  /// Adds a row, unless it is known already or in neither state.
  private mutating func add(_ row: RowReference) throws(TreeRingError) {
    if result.rows[row] != nil { return }
    let oldPlaces = try old.places(of: row)
    let newPlaces = try new.places(of: row)
    if oldPlaces.isEmpty, newPlaces.isEmpty { return }
    result.rows[row] = AffectedRow(
      oldPlaces: oldPlaces, newPlaces: newPlaces,
      oldContent: oldPlaces.isEmpty ? nil : try Self.content(of: row, in: old),
      newContent: newPlaces.isEmpty ? nil : try Self.content(of: row, in: new))
  }

  private static func content(
    of row: RowReference, in reader: IndexReader
  ) throws(TreeRingError) -> RowContent? {
    try reader.state.read {
      try row.key.withUnsafeBytes {
        try reader.state.record(bucket: row.bucket, key: $0)?.content
      }
    }
  }
}
