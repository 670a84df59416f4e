// The beginning of a history that compaction has cut: for each commit before the horizon that can still be
// read, and for the horizon itself, one *base*: what makes its state out of that of the base before.
//
// A base is a list of operations, each with the commit that it is of. Rows come whole, as puts, with the
// commits that made and touched them; deletes only where the base before holds the row. Applied in
// order, each under its own commit's number, they give a log that leads to the same states as what
// compaction has left.
//
// Of one commit the puts come first, under their own numbers, then what else there is. No two of these are
// about one row, so their order does not matter; but places given by hand come last, as operations of the
// base's own commit, for a delete of their row would take them away.

package import TreeRingLog

/// What is known of a commit that begins a history, beside its rows.
package struct BaseInfo: Hashable, Sendable {
  /// The commit whose state it is.
  package var commit: CommitNumber
  /// When that was made.
  package var timestamp: Timestamp
  package var note: String?
  package var annotation: [UInt8]?
  /// Every bucket that has held a row, in the order in which they came to be: it settles how rows of
  /// several buckets lie in an index that orders them the same.
  package var buckets: [String]

  package init(
    commit: CommitNumber, timestamp: Timestamp, note: String? = nil, annotation: [UInt8]? = nil,
    buckets: [String] = []
  ) {
    self.buckets = buckets
    self.commit = commit
    self.timestamp = timestamp
    self.note = note
    self.annotation = annotation
  }
}

/// An operation of a base.
package struct BaseOperation: Hashable, Sendable {
  /// A put, delete, tag, index definition or manual place.
  package var operation: CommitOperation
  /// The operation that it is: its commit, and of a put its number there, which settles where an index by
  /// time of writing has the row. Of others only the commit counts.
  package var stamp: Stamp
  /// When that commit was made.
  package var timestamp: Timestamp
  /// Of a put: the operation that made the row.
  package var created: Stamp
  /// Of a put: the commit that last touched the row; 0 if none did.
  package var touched: CommitNumber

  package init(
    _ operation: CommitOperation, stamp: Stamp, timestamp: Timestamp, created: Stamp? = nil,
    touched: CommitNumber = 0
  ) {
    self.operation = operation
    self.stamp = stamp
    self.timestamp = timestamp
    self.created = created ?? stamp
    self.touched = touched
  }
}
