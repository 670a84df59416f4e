// A store's index as the changeset algorithm reads it.

package import TreeRing
package import TreeRingLog

/// An index of a store at one commit. Holds the snapshot, which keeps its pages.
package struct StoreGroups: OrderedGroups {
  let snapshot: Snapshot
  let reader: IndexReader
  let names: RowNames

  /// An index as a snapshot reads it.
  package init(snapshot: Snapshot, reader: IndexReader, names: RowNames) {
    self.snapshot = snapshot
    self.reader = reader
    self.names = names
  }

  package func groupNames() throws(TreeRingError) -> [GroupName] { try reader.groups() }
  package func group(_ name: GroupName) throws(TreeRingError) -> GroupReader {
    try reader.group(name)
  }
  package func places(of row: RowReference) throws(TreeRingError) -> [RowPlace] {
    try reader.places(of: row)
  }
  package func stored(_ row: RowReference) throws(TreeRingError) -> StoredRow? {
    let id = try names.id(of: row)
    return try snapshot.row(id.key, in: id.bucket)
  }
  package func id(of row: RowReference) throws(TreeRingError) -> RowID { try names.id(of: row) }
  package func reference(of id: RowID) -> RowReference? { names.reference(of: id) }
}

extension GroupReader: OrderedGroup {}
