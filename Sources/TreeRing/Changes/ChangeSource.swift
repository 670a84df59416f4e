// What observers of an index need of the engine: names of rows, and the changes since a commit that
// they need not have pinned.

internal import Synchronization
package import TreeRingLog

/// The names of the buckets that a store has had, which are never forgotten.
package struct RowNames: Sendable {
  fileprivate let catalog: Catalog

  /// A row's public identity.
  package func id(of row: RowReference) throws(TreeRingError) -> RowID {
    guard let bucket = catalog.bucketNames[row.bucket] else { throw ByteReader.damaged }
    return RowID(bucket: bucket, key: Key(bytes: row.key))
  }

  /// A row's identity inside the engine; nil if its bucket never was.
  package func reference(of id: RowID) -> RowReference? {
    catalog.buckets[id.bucket].map { RowReference(bucket: $0, key: id.key.bytes) }
  }
}

extension Store {
  /// The names of rows at any commit up to now.
  package var rowNames: RowNames { RowNames(catalog: queue.visible.catalog) }

  /// What happened to one index between a commit and a snapshot, in either direction, without a pin
  /// on that commit: merged change records while they last, else a diff with a reading of it.
  package func touchedRows(
    ofIndex name: String, from commit: CommitNumber, to new: Snapshot
  ) throws(TreeRingError) -> TouchedRows {
    if commit == new.commit { return TouchedRows(from: commit, to: commit) }
    guard let record = new.pin.definitions.indexes[name] else {
      throw TreeRingError(.notFound, "There is no index named \(name).")
    }
    let (low, high) = (min(commit, new.commit), max(commit, new.commit))
    if let rows = records.changes(of: record.number, from: low, to: high) {
      return commit <= new.commit ? rows : rows.reversed
    }
    return try touchedRows(
      ofIndex: name, from: try snapshot(at: .commit(commit)), to: new, usesRecords: false)
  }

  /// What leads from what another definition of an index showed at a commit to what the present one
  /// shows at a later snapshot; nil if that is no longer at hand.
  package func touchedRows(
    ofIndex name: String, from commit: CommitNumber, shownBy definition: UInt32, to new: Snapshot
  ) -> TouchedRows? {
    new.pin.definitions.indexes[name].flatMap {
      records.changes(of: $0.number, replacing: definition, from: commit, to: new.commit)
    }
  }
}
