// The engine's interface for observers of an index: the names of rows, and the changes since a
// commit, which need not be pinned.

package import TreeRingLog
internal import TreeRingPlatform

extension Snapshot {
  /// The definition by which this snapshot reads an index: the one in force when it was taken.
  ///
  /// - Throws: `notFound` if there is no such index, with the indexes for this use.
  package func definition(
    ofIndex name: String, for use: IndexUse = .groups
  ) throws(TreeRingError) -> IndexRecord {
    guard let record = pin.definitions.indexes[name] else {
      throw TreeRingError.noIndex(named: name, for: use, in: pin.definitions)
    }
    return record
  }

  /// The definition of an index that was in force at this snapshot's commit; nil if there was none.
  package func formerDefinition(ofIndex name: String) throws(TreeRingError) -> IndexRecord? {
    try version.catalog.indexes[name]
  }

  /// The definition of an index with this number, if this snapshot reads the index by it or if it
  /// was in force at the snapshot's commit; otherwise nil.
  package func definition(
    ofIndex name: String, number: UInt32
  ) throws(TreeRingError) -> IndexRecord? {
    [pin.definitions.indexes[name], try version.catalog.indexes[name]]
      .lazy.compactMap(\.self).first { $0.number == number }
  }

  /// The index by a definition at this commit, whether or not the definition is in force.
  ///
  /// - Throws: `indexDefinedInCode` if the index has no trees and its closure is not registered.
  package func index(by definition: IndexRecord) throws(TreeRingError) -> IndexReader {
    try pin.store.checkOpen()
    return try pin.store.reader(of: definition, at: pin)
  }
}

extension Store {
  /// The names of rows at any commit up to the visible one.
  package var rowNames: RowNames { RowNames(catalog: queue.visible.catalog) }

  /// The changes of one index between a commit and a snapshot, in either direction, without a pin
  /// on that commit. They come from merged change records while these are in memory, otherwise from
  /// a diff with the state at that commit.
  package func affectedRows(
    ofIndex name: String, from commit: CommitNumber, to new: Snapshot
  ) throws(TreeRingError) -> AffectedRows {
    if commit == new.commit { return AffectedRows(from: commit, to: commit) }
    let record = try new.definition(ofIndex: name)
    if let rows = try recordedRows(of: record, from: commit, to: new) { return rows }
    return try affectedRows(
      ofIndex: name, from: try snapshot(at: .commit(commit)), to: new, usesRecords: false)
  }

  /// The merged change records of an index between a commit and a snapshot, in either direction.
  /// nil if they are gone, or if they belong to other trees than the snapshots'.
  ///
  /// - Parameter old: The snapshot at that commit, if the caller needs its places and not only the
  ///   order of its rows.
  func recordedRows(
    of record: IndexRecord, from commit: CommitNumber, readBy old: Snapshot? = nil,
    to new: Snapshot
  ) throws(TreeRingError) -> AffectedRows? {
    let (low, high) = (min(commit, new.commit), max(commit, new.commit))
    guard let (rows, labels) = records.changes(of: record.number, from: low, to: high) else {
      return nil
    }
    let isForward = commit <= new.commit
    if let labels {
      let (before, after) =
        isForward ? (labels.before, labels.after) : (labels.after, labels.before)
      guard try reader(of: record, at: new.pin).roots.order == after else { return nil }
      if let old, try reader(of: record, at: old.pin).roots.order != before { return nil }
    }
    return isForward ? rows : rows.reversed
  }

  /// The changes from another definition of an index at a commit to the present one at a snapshot.
  /// They come from merged change records while these are in memory, otherwise from a diff of the
  /// two states.
  ///
  /// - Parameter limit: The maximum number of rows that differ, if it is above the number that a
  ///   commit records.
  /// - Returns: Nil if there are no records and the commit is no longer readable, or the other
  ///   definition cannot be evaluated here; also if too many rows differ.
  package func affectedRows(
    from commit: CommitNumber, shownBy definition: IndexRecord, to new: Snapshot, limit: Int
  ) throws(TreeRingError) -> AffectedRows? {
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
