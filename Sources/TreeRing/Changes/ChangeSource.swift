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

extension Snapshot {
  /// The definition by which this snapshot reads an index: the one in force when it was taken.
  ///
  /// - Throws: `notFound` if there is no such index.
  package func definition(ofIndex name: String) throws(TreeRingError) -> IndexRecord {
    guard let record = pin.definitions.indexes[name] else {
      throw TreeRingError(
        .notFound, "There is no index named \(name). `index list` shows those that exist.")
    }
    return record
  }

  /// The definition of an index that has this number, if it is the one by which this snapshot reads it or
  /// the one that was in force at its commit; else nil.
  package func definition(
    ofIndex name: String, number: UInt32
  ) throws(TreeRingError) -> IndexRecord? {
    [pin.definitions.indexes[name], try version.catalog.indexes[name]]
      .lazy.compactMap(\.self).first { $0.number == number }
  }

  /// An index as a definition shows it at this commit, in force or not.
  ///
  /// - Throws: `indexDefinedInCode` if its trees are not there and its closure is not registered.
  package func index(by definition: IndexRecord) throws(TreeRingError) -> IndexReader {
    try pin.store.checkOpen()
    return try pin.store.reader(of: definition, at: pin)
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
    if let rows = try recordedRows(of: record, from: commit, to: new) { return rows }
    return try touchedRows(
      ofIndex: name, from: try snapshot(at: .commit(commit)), to: new, usesRecords: false)
  }

  /// The merged change records of an index between a commit and a snapshot, in either direction; nil if
  /// they do not last, or are about other trees than the snapshot's.
  func recordedRows(
    of record: IndexRecord, from commit: CommitNumber, to new: Snapshot
  ) throws(TreeRingError) -> TouchedRows? {
    let (low, high) = (min(commit, new.commit), max(commit, new.commit))
    guard let (rows, labels) = records.changes(of: record.number, from: low, to: high) else {
      return nil
    }
    let isForward = commit <= new.commit
    if let labels {
      let shown = try reader(of: record, at: new.pin).roots.order
      guard shown == (isForward ? labels.after : labels.before) else { return nil }
    }
    return isForward ? rows : rows.reversed
  }

  /// What leads from what another definition of an index showed at a commit to what the present one
  /// shows at a snapshot: merged change records while they last, else a diff of the two states. nil if
  /// neither is to be had, because the commit can no longer be read, or the other definition cannot be
  /// evaluated here; or if more rows differ than both a commit records and the limit.
  package func touchedRows(
    from commit: CommitNumber, shownBy definition: IndexRecord, to new: Snapshot, limit: Int
  ) throws(TreeRingError) -> TouchedRows? {
    guard let record = new.pin.definitions.indexes[definition.name] else { return nil }
    if let rows = records.changes(
      of: record.number, replacing: definition.number, from: commit, to: new.commit)
    {
      return rows
    }
    do throws(TreeRingError) {
      return try comparedRows(
        from: (definition, try snapshot(at: .commit(commit))), to: (record, new),
        limit: max(limit, IndexReplacement.rowLimit))
    } catch {
      let isGone = [.beyondHorizon, .snapshotExpired, .notFound, .indexDefinedInCode]
        .contains(error.code)
      if isGone { return nil }
      throw error
    }
  }
}
