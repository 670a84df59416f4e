// Makes the change records of one commit: its effect on each group index.

internal import TreeRingLog

/// The growing change records of one commit. Used by the writing thread only.
final class ChangeRecorder {
  @exclusivity(unchecked) private var rows = RecordedRows()
  /// The maximum number of bytes of the records.
  let byteLimit: Int
  @exclusivity(unchecked) private(set) var byteCount = 0
  /// True if the limit was exceeded: then there are no records, and observers compare trees.
  @exclusivity(unchecked) private(set) var isOverLimit = false

  /// Creates a recorder.
  /// - Parameter byteLimit: The limit for the records of all commits, in bytes. A commit that
  ///   exceeds it alone keeps no records.
  init(byteLimit: Int) { self.byteLimit = byteLimit }

  /// Forgets everything. The records that it has made stay.
  func reset() {
    if byteCount > 0 { rows = RecordedRows() }
    byteCount = 0
    isOverLimit = false
  }

  /// Records one change of one row in one index; merges it into earlier changes of the same row.
  func record(
    index: UInt32, bucket: UInt32, key: UnsafeRawBufferPointer, old: [EncodedPlace],
    new: [EncodedPlace], oldContent: RowContent?, newContent: RowContent?
  ) {
    if isOverLimit { return }
    let row = RowReference(bucket: bucket, key: Array(key))
    let change = AffectedRow(
      oldPlaces: old.entries(of: row), newPlaces: new.entries(of: row),
      oldContent: old.isEmpty ? nil : oldContent, newContent: new.isEmpty ? nil : newContent)
    if let earlier = rows.add(change, of: row, in: index) {
      byteCount += RecordSize.of(change.newPlaces) - RecordSize.of(earlier)
    } else {
      byteCount += RecordSize.of(change, keyByteCount: key.count)
    }
    if byteCount > byteLimit {
      isOverLimit = true
      rows = RecordedRows()
    }
  }

  /// The records of a commit between two states of the index trees; nil if there are none, because
  /// no index was maintained, or because too much changed to be recorded.
  /// - Parameter active: The definitions that maintain the trees after the commit.
  func changes(
    from before: IndexTrees, to after: IndexTrees, by active: ActiveIndexes,
    replacements: [UInt32: IndexReplacement]
  ) -> CommitChanges? {
    if isOverLimit || (before.isEmpty || after.isEmpty) && replacements.isEmpty { return nil }
    return CommitChanges(
      rows: rows, rowByteCount: byteCount, before: before, after: after,
      comparing: active.comparing, replacements: replacements)
  }
}
