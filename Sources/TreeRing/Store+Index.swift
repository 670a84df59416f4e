// Group indexes seen from the store: readers at any commit, definitions, and what changed in an index
// between two commits.

internal import Synchronization
public import TreeRingLog

extension Store {
  /// Defines a group index by fields, or replaces its definition, in a commit of its own.
  /// - Returns: the commit.
  @discardableResult
  public func define(
    _ name: String, _ fields: FieldIndex, progress: (Int) -> Bool = { _ in true }
  ) throws -> CommitNumber {
    try write { try $0.define(name, fields, progress: progress) }.commit
  }

  /// Removes a group index in a commit of its own.
  /// - Returns: the commit.
  @discardableResult
  public func removeIndex(_ name: String) throws -> CommitNumber {
    try write { try $0.removeIndex(name) }.commit
  }

  /// The indexes in force, in name order.
  public var indexes: [IndexInfo] { IndexInfo.all(in: queue.visible.catalog) }

  /// A reader of an index at one snapshot; builds the index there if it was not maintained then.
  func reader(
    of record: IndexRecord, at pin: SnapshotPin
  ) throws(TreeRingError) -> IndexReader {
    let (version, state) = (try pin.life.version(), pin.reader)
    let roots = try version.index(record.number) { (editor) throws(TreeRingError) in
      guard let index = try record.active(code: code.withLock { $0 }) else {
        throw TreeRingError(
          .indexDefinedInCode,
          "The index \(record.name) is defined by a closure that this process has not "
            + "registered. Give its GroupIndex to `Store(at:indexes:)`.")
      }
      return try IndexEditor(editor: editor).build(
        index, rows: state.rows, catalog: version.catalog, values: state.values)
    }
    return IndexReader(name: record.name, state: state, roots: roots, pin: pin)
  }

  /// What happened to one index between two snapshots, in either direction: merged change records
  /// while they last, else a diff of the two states.
  ///
  /// O(rows touched), or O(rows that differ · log n) by diff.
  package func touchedRows(
    ofIndex name: String, from old: Snapshot, to new: Snapshot, usesRecords: Bool = true
  ) throws(TreeRingError) -> TouchedRows {
    guard let record = new.pin.definitions.indexes[name] else {
      throw TreeRingError(.notFound, "There is no index named \(name).")
    }
    let (low, high) = (min(old.commit, new.commit), max(old.commit, new.commit))
    if usesRecords,
      let rows = records.changes(of: record.number, from: low, to: high)
    {
      return old.commit <= new.commit ? rows : rows.reversed
    }
    // Erasing makes the trees anew; then states are compared that lie in the same ones.
    var (before, after) = (old, new)
    while before.pin.reader.pages !== after.pin.reader.pages {
      before = try snapshot(at: .commit(old.commit))
      after = try snapshot(at: .commit(new.commit))
    }
    let oldReader = try reader(of: record, at: before.pin)
    let newReader = try reader(of: record, at: after.pin)
    return try IndexDiff.touchedRows(from: oldReader, to: newReader)
  }
}
