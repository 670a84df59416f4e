// Which operations of the history before a horizon are still needed.
//
// Let K be the first kept point at or after an operation. If a later operation wrote the row by K,
// then also by every kept point after K. So K alone decides:
//
//   · the row's record at K was written by this operation: it stays, as a whole row;
//   · the record at K refers to values that this operation logged: they stay, held;
//   · there is no row at K and this operation deleted it: the last such delete of a segment stays while
//     anything before it, in an older segment or kept in this one, would bring the row back;
//   · else it goes.
//
// Which delete was the very last one is not asked of the graves: they do not know which deletes earlier
// runs have left in the log. One too many does no harm.
//
// A row as it lies in the log needs nothing before it, so it does not matter that the segments before
// have not been rewritten yet; that is why segments are rewritten newest first.

internal import TreeRingLog

/// Decides about the operations between two kept points.
struct KeepRule {
  /// The state at the kept point.
  let state: StateReader
  /// Whether a delete is needed because something before it may hold the row.
  let keepsDelete: (_ row: UInt64, _ stamp: Stamp) -> Bool

  func verdict(on operation: RowOperation) throws(TreeRingError) -> Verdict {
    let (row, stamp) = (operation.row, operation.stamp)
    if operation.kind == .place { return .keep }
    guard let record = try state.record(bucket: row.bucket.number, key: row.key) else {
      guard operation.kind == .delete || operation.kind == .deleteRange else { return .drop }
      return keepsDelete(RowDigest.of(row), stamp) ? .keep : .drop
    }
    if record.written == stamp { return .row(record) }
    let parts = record.loggedParts(of: stamp)
    return parts.isEmpty ? .drop : .hold(parts)
  }
}

/// Digests that stand for rows in filters.
enum RowDigest {
  static func of(_ row: RowAddress) -> UInt64 {
    RowKey.with(bucket: row.bucket.number, key: row.key) { Digest.of($0) }
  }

  /// A row as one operation wrote it.
  static func of(_ row: UInt64, at stamp: Stamp) -> UInt64 {
    var mixed = row ^ stamp.commit &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ mixed >> 29) &* 0xBF58_476D_1CE4_E5B9 &+ UInt64(stamp.operation)
    return (mixed ^ mixed >> 32) &* 0x94D0_49BB_1331_11EB
  }
}
