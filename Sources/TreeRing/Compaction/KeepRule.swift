// Decides which operations of the history before a horizon are still needed.
//
// Let K be the first kept point at or after an operation. If a later operation wrote the row by K,
// then also by every kept point after K. So K alone decides:
//
//   · The row's record at K was written by this operation: it stays, as a whole row.
//   · The record at K refers to values that this operation logged: they stay, held.
//   · There is no row at K and this operation deleted it. The last such delete of a segment stays
//     while anything before it, in an older segment or kept in this one, would bring the row back.
//   · Otherwise the operation goes.
//
// Manual places are labels, so each is kept on its own, beside the row, whose last write may come
// later than its placing:
//
//   · The row has that very label at K: the operation stays. An earlier operation with the same
//     label may stay too, which does no harm.
//   · The operation removes the row from a group that the row is not in at K. It stays while
//     anything before it may bring the place back.
//   · A delete removes all places. So it stays for them too, even if the row exists again at K.
//   · Otherwise the operation goes.
//
// The tombstones do not tell which delete was the very last one, because they do not know which
// deletes earlier runs have left in the log. One delete too many does no harm.
//
// A row in the log needs nothing before it, so it does not matter that the earlier segments have
// not been rewritten yet. That is why segments are rewritten newest first.

internal import TreeRingLog

/// Decides on the operations between two kept points.
struct KeepRule {
  /// The state at the kept point.
  let state: StateReader
  /// The thing that an operation removes.
  enum Removal { case row, places, place }
  /// Returns whether an operation must stay because an earlier one may hold the thing that it
  /// removes.
  let keepsRemoval: (_ removed: Removal, _ row: RowAddress, _ stamp: Stamp) -> Bool

  func verdict(on operation: RowOperation) throws(TreeRingError) -> Verdict {
    let (row, stamp) = (operation.row, operation.stamp)
    if let place = operation.place { return verdict(on: place, of: row, stamp) }
    guard let record = try state.record(bucket: row.bucket.number, key: row.key) else {
      guard operation.isDelete else { return .drop }
      return keepsRemoval(.row, row, stamp) || keepsRemoval(.places, row, stamp) ? .keep : .drop
    }
    if operation.isDelete { return keepsRemoval(.places, row, stamp) ? .keep : .drop }
    if record.written == stamp { return .row(record) }
    let parts = record.loggedParts(of: stamp)
    return parts.isEmpty ? .drop : .hold(parts)
  }

  private func verdict(
    on place: (address: PlaceAddress, label: UnsafeRawBufferPointer), of row: RowAddress,
    _ stamp: Stamp
  ) -> Verdict {
    let known = state.manualPlaces.label(
      in: place.address.group, of: place.address.index, bucket: row.bucket.number, key: row.key)
    if let known { return place.label.elementsEqual(known) ? .keep : .drop }
    return place.label.isEmpty && keepsRemoval(.place, row, stamp) ? .keep : .drop
  }
}

/// Digests that represent rows in filters.
enum RowDigest {
  static func of(_ row: RowAddress) -> UInt64 {
    RowTreeKey.with(bucket: row.bucket.number, key: row.key) { Digest.of($0) }
  }

  /// The digest of the manual places of a row.
  static func ofPlaces(_ row: RowAddress) -> UInt64 { of(row) &* 0xD6E8_FEB8_6659_FD93 &+ 1 }

  /// The digest of a row as one operation wrote it.
  static func of(_ row: UInt64, at stamp: Stamp) -> UInt64 {
    var mixed = row ^ stamp.commit &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ mixed >> 29) &* 0xBF58_476D_1CE4_E5B9 &+ UInt64(stamp.operation)
    return (mixed ^ mixed >> 32) &* 0x94D0_49BB_1331_11EB
  }
}
