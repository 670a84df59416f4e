// Indexes that compare rows: where a row goes is found by binary search, and kept as a label between its
// neighbours'. The labels are in the index's trees and nowhere else; the same commits applied to the same
// trees give the same labels, but an index that is built anew has others, in the same order. So nobody
// may take places of one tree for places of another (`ChangeRecords` sees to that).

internal import TreeRingLog

/// What the author of an index that compares rows wrote.
package struct RowComparison: Sendable {
  /// The groups of a row.
  let groups: @Sendable (RowInput) throws -> [GroupName]
  /// A row as it is compared.
  let decode: @Sendable (RowInput) throws -> Any
  /// Whether the first of two rows comes before the second.
  let precedes: @Sendable (Any, Any) -> Bool

  /// Whether one row comes before another, which it is not: ties go by bucket and key.
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
  /// A row as a closure compares it; nil if it cannot be decoded.
  func compared(
    _ record: RowRecord, bucket: UInt32, key: UnsafeRawBufferPointer, by comparison: RowComparison
  ) throws(TreeRingError) -> ComparedRow? {
    try withInput(of: record, bucket: bucket, key: key, readsMetadata: true) { input in
      (try? comparison.decode(input)).map {
        ComparedRow(reference: RowReference(bucket: bucket, key: Array(key)), content: $0)
      }
    }
  }
}

extension LabeledRows {
  /// Where a row belongs among these. O(log² n).
  func position(of row: ComparedRow, by comparison: RowComparison) throws(TreeRingError) -> Int {
    if let own, try fits(row, at: own, by: comparison) { return own }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if try isBefore(row, middle, by: comparison) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Whether a row is in order with those beside a position.
  private func fits(
    _ row: ComparedRow, at position: Int, by comparison: RowComparison
  ) throws(TreeRingError) -> Bool {
    if position > 0, try isBefore(row, position - 1, by: comparison) { return false }
    if position == count { return true }
    return try isBefore(row, position, by: comparison)
  }

  /// Whether a row comes before the one at a position. One that cannot be decoded any more is behind all.
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
