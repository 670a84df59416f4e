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

  /// Defines a group index that filters another one by fields, or replaces its filter, in a commit of
  /// its own.
  /// - Returns: the commit; the newest one if this is the definition in force.
  /// - Throws: `notFound` if the other index is not in force; `invalidInput` if it filters this one.
  @discardableResult
  public func define(
    _ name: String, _ filter: FieldFilter, progress: (Int) -> Bool = { _ in true }
  ) throws -> CommitNumber {
    try write { try $0.define(name, filter, progress: progress) }.commit
  }

  /// Defines a group index whose rows are placed by hand, in a commit of its own. A manual index that
  /// is defined anew keeps its rows as far as it is still over their buckets.
  /// - Returns: the commit; the newest one if this is the definition in force.
  @discardableResult
  public func define(_ name: String, _ manual: ManualIndex) throws -> CommitNumber {
    try write { try $0.define(name, manual) }.commit
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
        index, rows: state.rows, catalog: version.catalog,
        catalogTree: Tree(version.roots.catalog, pages: version.pages), values: state.values)
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
    if usesRecords, let rows = try recordedRows(of: record, from: old.commit, to: new) {
      return rows
    }
    guard let rows = try comparedRows(from: (record, old), to: (record, new), limit: .max) else {
      preconditionFailure("no index has more rows than there are numbers")
    }
    return rows
  }

  /// What differs between what one definition shows at one snapshot and another, or the same, at another;
  /// nil if that is more rows than the limit.
  func comparedRows(
    from old: (definition: IndexRecord, snapshot: Snapshot),
    to new: (definition: IndexRecord, snapshot: Snapshot), limit: Int
  ) throws(TreeRingError) -> TouchedRows? {
    // Erasing makes the trees anew; then states are compared that lie in the same ones.
    var (before, after) = (old.snapshot, new.snapshot)
    while before.pin.reader.pages !== after.pin.reader.pages {
      before = try snapshot(at: .commit(before.commit))
      after = try snapshot(at: .commit(after.commit))
    }
    return try IndexDiff.touchedRows(
      from: try reader(of: old.definition, at: before.pin),
      to: try reader(of: new.definition, at: after.pin),
      within: old.definition.buckets + new.definition.buckets, limit: limit)
  }
}
