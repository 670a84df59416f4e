// Notes what one commit does to each group index: the commit's change records.

internal import TreeRingLog

/// The change records of one commit in the making. Used by the writing thread only.
final class ChangeRecorder {
  private(set) var indexes: [UInt32: [RowReference: TouchedRow]] = [:]

  /// Notes one change of one row in one index; later ones of the same row are merged into it.
  func note(
    index: UInt32, bucket: UInt32, key: UnsafeRawBufferPointer, old: [EncodedPlace],
    new: [EncodedPlace], oldContent: RowContent?, newContent: RowContent?
  ) {
    func places(_ encoded: [EncodedPlace]) -> [RowPlace] {
      encoded.map {
        RowPlace(
          group: $0.group, order: OrderKey.order(sortKey: $0.sortKey, bucket: bucket, key: key))
      }
    }
    let row = RowReference(bucket: bucket, key: Array(key))
    let change = TouchedRow(
      oldPlaces: places(old), newPlaces: places(new), oldContent: old.isEmpty ? nil : oldContent,
      newContent: new.isEmpty ? nil : newContent)
    if indexes[index, default: [:]][row]?.follow(with: change) == nil {
      indexes[index, default: [:]][row] = change
    }
  }
}
