// Indexes that compare rows. A binary search finds the position of a row, and a label between those
// of its neighbours stores that position. Only the index's trees contain the labels. The same
// commits applied to the same trees give the same labels, but a rebuilt index has other labels in
// the same order. So places in one tree say nothing about another tree (`ChangeRecords` keeps them
// apart).

internal import TreeRingLog

/// The closures of an index that compares rows.
package struct RowComparison: Sendable {
  /// The groups of a row.
  let groups: @Sendable (RowInput) throws -> [GroupName]
  /// Returns a row in the form that is compared.
  let decode: @Sendable (RowInput) throws -> Any
  /// Whether the first of two rows comes before the second.
  let precedes: @Sendable (Any, Any) -> Bool

  /// A row in the form that is compared; nil if it cannot be decoded.
  func row(_ input: RowInput) -> ComparedRow? {
    (try? decode(input)).map {
      ComparedRow(
        reference: RowReference(bucket: input.bucket, key: Array(input.key)), content: $0)
    }
  }

  /// Whether a row comes before a different row. Ties are broken by bucket and key.
  func isBefore(_ row: ComparedRow, _ other: ComparedRow) -> Bool {
    if precedes(row.content, other.content) { return true }
    if precedes(other.content, row.content) { return false }
    return row.reference < other.reference
  }
}

/// A row being compared.
struct ComparedRow {
  let reference: RowReference
  let content: Any
}

extension ValueSource {
  /// A row in the form that a closure compares; nil if it cannot be decoded.
  func compared(
    _ record: RowRecord, bucket: UInt32, key: UnsafeRawBufferPointer, by comparison: RowComparison
  ) throws(TreeRingError) -> ComparedRow? {
    try withInput(of: record, bucket: bucket, key: key, readsMetadata: true) { comparison.row($0) }
  }
}

extension LabeledRows {
  /// The position of a row among these rows. O(log² n).
  func position(of row: ComparedRow, by comparison: RowComparison) throws(TreeRingError) -> Int {
    if let own, try fits(row, at: own, by: comparison) { return own }
    return try (0..<count).partitioningIndex { (position) throws(TreeRingError) in
      try isBefore(row, position, by: comparison)
    }
  }

  /// Whether a row at a position is in order with its neighbours.
  private func fits(
    _ row: ComparedRow, at position: Int, by comparison: RowComparison
  ) throws(TreeRingError) -> Bool {
    if position > 0, try isBefore(row, position - 1, by: comparison) { return false }
    if position == count { return true }
    return try isBefore(row, position, by: comparison)
  }

  /// Whether a row comes before the one at a position. Rows that can no longer be decoded come
  /// last.
  private func isBefore(
    _ row: ComparedRow, _ position: Int, by comparison: RowComparison
  ) throws(TreeRingError) -> Bool {
    let other = try self.row(position)
    let state = reader.state
    let compared = try state.read {
      try other.key.withUnsafeBytes { key in
        try state.record(bucket: other.bucket, key: key).flatMap {
          try state.values.compared($0, bucket: other.bucket, key: key, by: comparison)
        }
      }
    }
    guard let compared else { return true }
    return comparison.isBefore(row, compared)
  }
}
