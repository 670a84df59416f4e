// What differs between two states of one index, found by comparing trees. The result has the same
// form as merged change records and leads to the same changesets.
//
// Two diffs are needed: of the order trees, for rows that came, went or moved, and of the row trees,
// for rows whose content changed in place. Both skip what the two states share.

internal import TreeRingLog

/// Compares two states of an index.
enum IndexDiff {
  /// Every row whose places or content differ; nil if they are more than the limit.
  static func touchedRows(
    from old: IndexReader, to new: IndexReader, limit: Int
  ) throws(TreeRingError) -> TouchedRows? {
    guard old.state.pages === new.state.pages else { throw StateReader.madeAnew }
    var result = TouchedRows(from: old.commit, to: new.commit)
    let rows = try differingRows(from: old, to: new, limit: limit)
    if rows.count > limit { return nil }
    for row in rows {
      let oldPlaces = try old.places(of: row)
      let newPlaces = try new.places(of: row)
      if oldPlaces.isEmpty, newPlaces.isEmpty { continue }
      result.rows[row] = TouchedRow(
        oldPlaces: oldPlaces, newPlaces: newPlaces,
        oldContent: oldPlaces.isEmpty ? nil : try content(of: row, in: old),
        newContent: newPlaces.isEmpty ? nil : try content(of: row, in: new))
    }
    return result
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

  private static func differingRows(
    from old: IndexReader, to new: IndexReader, limit: Int
  ) throws(TreeRingError) -> Set<RowReference> {
    var rows: Set<RowReference> = []
    try old.state.read {
      try new.state.read {
        var orders = TreeDiff(from: old.roots.order, to: new.roots.order, pages: new.state.pages)
        try orders.forEach { key, before, after in
          if let value = before ?? after {
            rows.insert(try OrderEntry(key: key, value: value).row)
          }
          return rows.count <= limit
        }
        if rows.count > limit { return }
        var records = TreeDiff(
          from: old.state.roots.rows, to: new.state.roots.rows, pages: new.state.pages)
        records.forEach { key, before, after in
          if before != nil, after != nil {
            rows.insert(
              RowReference(bucket: RowKey.bucket(of: key), key: Array(RowKey.key(of: key))))
          }
          return true
        }
      }
    }
    return rows
  }
}
