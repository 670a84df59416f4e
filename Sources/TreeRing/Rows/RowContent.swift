// The part of a row that decides whether it has changed.

package import TreeRingLog

/// The part of a row's content that a change record needs to report the changed parts.
package struct RowContent: Hashable, Sendable {
  /// A 64-bit digest of the object.
  package var object: UInt64
  /// A 64-bit digest of the metadata; nil without metadata.
  package var metadata: UInt64?
  /// The commit of the row's last touch; 0 if it was never touched.
  package var touched: CommitNumber

  package init(object: UInt64, metadata: UInt64?, touched: CommitNumber) {
    self.object = object
    self.metadata = metadata
    self.touched = touched
  }
}
