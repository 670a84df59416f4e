// The change records of one commit, by the group indexes that it affected.

internal import TreeRingLog

/// The effects of one commit on the group indexes.
struct CommitChanges: Sendable {
  /// The affected rows by index; an index that the commit did not affect has none.
  private let rows: RecordedRows
  /// The index trees before and after the commit. An index in both was maintained throughout.
  private let before: IndexTrees
  private let after: IndexTrees
  /// The indexes that compare rows. Their records apply to these trees only.
  let comparing: Set<UInt32>
  /// The replacements of definitions by this commit, by the new definition's number.
  let replacements: [UInt32: IndexReplacement]
  /// The number of recorded rows.
  let rowCount: Int
  /// The estimated number of heap bytes of the records.
  let byteCount: Int

  /// Creates the records of a commit.
  /// - Parameter rowByteCount: The bytes of the rows, as the recorder has counted them.
  init(
    rows: RecordedRows, rowByteCount: Int, before: IndexTrees, after: IndexTrees,
    comparing: Set<UInt32>, replacements: [UInt32: IndexReplacement]
  ) {
    self.rows = rows
    self.before = before
    self.after = after
    self.comparing = comparing
    self.replacements = replacements
    rowCount = rows.count + replacements.values.reduce(0) { $0 + $1.rows.count }
    byteCount =
      RecordSize.commit + after.byteCount(changing: rows.indexCount) + rowByteCount
      + replacements.values.reduce(0) { $0 + RecordSize.of($1.rows) }
  }

  /// The affected rows of one index; nil if it was not maintained throughout.
  func rows(of index: UInt32) -> [RowReference: AffectedRow]? {
    before[index] != nil && after[index] != nil ? rows[index] : nil
  }

  /// The trees that the records of an index apply to; nil if it orders rows by sort keys.
  func labels(of index: UInt32) -> LabelSpan? {
    guard comparing.contains(index), let before = before[index], let after = after[index] else {
      return nil
    }
    return LabelSpan(before: before.order, after: after.order)
  }
}

/// Estimates of the heap bytes of change records.
enum RecordSize {
  /// The bytes of a commit's records without any row.
  static let commit = 512
  private static let array = 48
  /// The bytes of a dictionary's slot; about half of the slots are in use.
  private static let slot = 2 * MemoryLayout<(RowReference, AffectedRow)>.stride

  static func of(_ rows: [RowReference: AffectedRow]) -> Int {
    rows.reduce(array) { $0 + of($1.value, keyByteCount: $1.key.key.count) }
  }

  /// The bytes of one recorded row.
  static func of(_ row: AffectedRow, keyByteCount: Int) -> Int {
    slot + array + keyByteCount + of(row.oldPlaces) + of(row.newPlaces)
  }

  static func of(_ places: [RowPlace]) -> Int {
    if places.isEmpty { return 0 }
    return places.reduce(array) {
      $0 + MemoryLayout<RowPlace>.stride + 2 * array + $1.group.bytes.count + $1.order.count
    }
  }
}
