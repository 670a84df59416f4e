// Group indexes of the store: readers at any commit, definitions, and the changes of an index
// between two commits.

public import TreeRingLog
internal import TreeRingPlatform

extension Store {
  /// Defines a group index by fields, or replaces its definition, in a commit of its own. The
  /// commit has the date of the newest one, or one before any data; so do the commits of the
  /// variants. All of them block their thread; in asynchronous code their name means the
  /// asynchronous forms.
  /// - Returns: The commit.
  @discardableResult
  public func define(
    _ name: String, _ fields: FieldIndex, progress: (Int) -> Bool = { _ in true }
  ) throws -> CommitNumber {
    try defining { try $0.define(name, fields, progress: progress) }
  }

  /// Defines a group index that filters another one by fields, or replaces its filter, in a commit
  /// of its own.
  /// - Returns: The commit; the newest one if this definition is already in force.
  /// - Throws: `notFound` if the other index is not in force; `invalidInput` if it filters this
  ///   one.
  @discardableResult
  public func define(
    _ name: String, _ filter: FieldFilter, progress: (Int) -> Bool = { _ in true }
  ) throws -> CommitNumber {
    try defining { try $0.define(name, filter, progress: progress) }
  }

  /// Declares the rule that rows refer to rows that exist, or replaces it, in a commit of its own.
  /// - Returns: The commit; the newest one if this definition is already in force.
  /// - Throws: `referenceMissing` if rows break the rule; the error names the first of them.
  @discardableResult
  public func define(
    _ name: String, _ reference: Reference, progress: (Int) -> Bool = { _ in true }
  ) throws -> CommitNumber {
    try defining { try $0.define(name, reference, progress: progress) }
  }

  /// Declares the rule that rows vanish at a date of theirs, or replaces it, in a commit of its
  /// own.
  /// - Returns: The commit; the newest one if this definition is already in force.
  /// - Throws: `invalidInput` if a reference restricts the deletes of these rows.
  @discardableResult
  public func define(
    _ name: String, _ expiry: Expiry, progress: (Int) -> Bool = { _ in true }
  ) throws -> CommitNumber {
    try defining { try $0.define(name, expiry, progress: progress) }
  }

  /// Defines a text index, or replaces its definition, and builds it, in a commit of its own.
  /// - Returns: The commit; the newest one if this definition is already in force.
  @discardableResult
  public func define(
    _ text: TextIndex, progress: (Int) -> Bool = { _ in true }
  ) throws -> CommitNumber {
    try defining { try $0.define(text, progress: progress) }
  }

  /// Defines a group index whose rows are placed manually, in a commit of its own. If it exists
  /// already, it keeps its rows in the buckets that it still covers.
  /// - Returns: The commit; the newest one if this definition is already in force.
  @discardableResult
  public func define(_ name: String, _ manual: ManualIndex) throws -> CommitNumber {
    try defining { try $0.define(name, manual) }
  }

  /// Removes a group index in a commit of its own, which has the date of the newest one.
  /// - Returns: The commit.
  @discardableResult
  public func removeIndex(_ name: String) throws -> CommitNumber {
    try defining { try $0.removeIndex(name) }
  }

  /// Writes a commit that defines or removes an index. It has the date of the newest commit, or one
  /// before any data.
  private func defining(_ body: (Transaction) throws -> Void) throws -> CommitNumber {
    try write { tx in
      tx.takesDateOfNewest = true
      try body(tx)
    }.commit
  }

  /// The indexes in force, in name order.
  public var indexes: [IndexInfo] { IndexInfo.all(in: queue.visible.catalog) }

  /// Returns a reader of an index at one snapshot. Builds the index there if it was not maintained
  /// then.
  func reader(
    of record: IndexRecord, at pin: SnapshotPin
  ) throws(TreeRingError) -> IndexReader {
    if record.isText { throw TextIndex.noGroups(record.name) }
    let roots = try trees(of: record, at: pin)
    return IndexReader(
      name: record.name, state: pin, roots: roots, decimals: record.decimals,
      isByFields: record.isByFields, pin: pin)
  }

  /// Returns the trees of an index at one snapshot. Builds them there if the index was not
  /// maintained then.
  func trees(
    of record: IndexRecord, at pin: SnapshotPin
  ) throws(TreeRingError) -> IndexRoots {
    let version = try pin.version
    if let existing = version.existingIndex(record.number) { return existing }
    let engine = engine
    let roots = try version.index(record.number) { (editor) throws(TreeRingError) in
      guard let index = try record.active(code: code.withLock { $0 }) else {
        throw TreeRingError(
          .indexDefinedInCode,
          "The index \(record.name) is defined by a closure that this process has not "
            + "registered. Give its GroupIndex to `Store(at:indexes:)`.")
      }
      let indexEditor = IndexEditor(editor: editor)
      if let (nearest, donor) = engine.donor(of: record.number, for: version) {
        // The lease keeps the pages of the index only; the reader keeps those of its rows.
        let roots = try indexEditor.derive(
          index, from: donor.roots, of: reader(of: nearest), for: pin,
          limit: max(512, pin.rows.count / 8))
        if let roots { return (roots, donor.lease) }
      }
      return (try indexEditor.build(index, of: pin), nil)
    }
    // The next reader of this commit, or of one nearby, reuses the trees.
    if engine.pages === version.pages { engine.timeTravel.keep(version) }
    return roots
  }

  /// The changes of one index between two snapshots, in either direction: from merged change
  /// records while these are in memory, otherwise from a diff of the two states.
  ///
  /// O(rows affected), or O(rows that differ · log n) with a diff.
  package func affectedRows(
    ofIndex name: String, from old: Snapshot, to new: Snapshot, usesRecords: Bool = true
  ) throws(TreeRingError) -> AffectedRows {
    let record = try new.definition(ofIndex: name)
    if usesRecords,
      let rows = try recordedRows(of: record, from: old.commit, readBy: old, to: new)
    {
      return rows
    }
    guard let rows = try comparedRows(from: (record, old), to: (record, new), limit: .max) else {
      preconditionFailure("no index has more rows than there are numbers")
    }
    return rows
  }

  /// The differences between a definition at one snapshot and the same or another definition at
  /// another snapshot; nil if more rows differ than the limit.
  func comparedRows(
    from old: (definition: IndexRecord, snapshot: Snapshot),
    to new: (definition: IndexRecord, snapshot: Snapshot), limit: Int
  ) throws(TreeRingError) -> AffectedRows? {
    let (before, after) = try Snapshot.sharingPages(old.snapshot, new.snapshot)
    var rows = try IndexDiff.affectedRows(
      from: try reader(of: old.definition, at: before.pin),
      to: try reader(of: new.definition, at: after.pin),
      within: old.definition.buckets + new.definition.buckets, limit: limit)
    // Two definitions may order the same rows differently.
    if old.definition.number == new.definition.number {
      let index = try new.definition.active(code: code.withLock { $0 })
      rows?.comparesRows = index?.comparison != nil
    }
    return rows
  }
}

extension Engine {
  /// The version nearest to another one that has the trees of an index, and those trees.
  fileprivate func donor(
    of number: UInt32, for version: Version
  ) -> (Version, Version.LeasedIndex)? {
    guard version.pages === pages else { return nil }
    let commit = version.roots.commit
    func distance(_ other: Version) -> CommitNumber {
      max(other.roots.commit, commit) - min(other.roots.commit, commit)
    }
    // The version keeps the pages of its origin, so that one may donate in any case.
    let origin = version.origin.flatMap { $0.leasedIndex(number) == nil ? nil : [$0] } ?? []
    let others = (timeTravel.versions + [queue.visible])
      .filter { $0 !== version && $0.canDonateIndex(number) }
    let nearest = (origin + others).min { distance($0) < distance($1) }
    guard let nearest, let index = nearest.leasedIndex(number) else { return nil }
    return (nearest, index)
  }
}
