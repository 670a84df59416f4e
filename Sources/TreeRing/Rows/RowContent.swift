// The digest of a row's content, for change records.

package import TreeRingLog

/// A row's content as change records hold it: enough to tell which parts have changed.
package struct RowContent: Hashable, Sendable {
  /// A 64-bit digest of the object.
  package var object: UInt64
  /// A 64-bit digest of the metadata; nil without metadata.
  package var metadata: UInt64?
  /// The commit of the row's last touch; 0 if it was never touched.
  package var touched: CommitNumber

  init(object: UInt64, metadata: UInt64?, touched: CommitNumber) {
    self.object = object
    self.metadata = metadata
    self.touched = touched
  }
}
