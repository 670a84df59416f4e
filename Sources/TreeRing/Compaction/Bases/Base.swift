// The beginning of a history that compaction has cut. It consists of one *base* for each commit
// before the horizon that can still be read, and one for the horizon itself. A base turns the state
// of the base before it into its own.
//
// A base is a list of operations, each with the commit that it belongs to. Rows come whole, as
// puts, with the commits that created and touched them. A delete comes only if the base before
// holds the row. Applied in order, each under its own commit's number, the operations give a log
// that leads to the same states as the compacted one.
//
// Within one commit the puts come first, under their own numbers, and the other operations follow.
// No two of these concern the same row, so their order does not matter. Manual places come last, as
// operations of the base's own commit, because a delete of their row would remove them.

package import TreeRingLog

/// The properties of a commit that begins a history, beside its rows.
package struct BaseInfo: Hashable, Sendable {
  /// The commit whose state the base holds.
  package var commit: CommitNumber
  /// The date of that commit.
  package var timestamp: Timestamp
  package var note: String?
  package var annotation: [UInt8]?
  /// Every bucket that has held a row, in the order of their first use. This order settles how an
  /// index that orders rows of several buckets alike arranges them.
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
  /// The operation's commit and, for a put, its number in that commit, which settles the row's
  /// position in an index by time of writing. For other operations only the commit counts.
  package var stamp: Stamp
  /// The date of that commit.
  package var timestamp: Timestamp
  /// For a put: the operation that created the row.
  package var created: Stamp
  /// For a put: the commit that last touched the row; 0 if none did.
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
