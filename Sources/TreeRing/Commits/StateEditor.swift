// Turns one state of all trees into the next. Writes, replay and time travel all use this editor,
// so a replay of the log gives exactly the state that the writes made.
//
// For each row written:
//   1. read the old record and keep its digests, since its page may be edited in place;
//   2. build the new record in a separate buffer (it may keep parts of the old one);
//   3. ask every maintained index for the new places, before any edit;
//   4. edit row tree and tombstones, then the index trees; record the change.

internal import TreeRingLog

/// Edits all trees of a store on the way to one commit, and then to another. One thread at a time
/// uses it.
///
/// Its properties are not checked for exclusive access at run time: one thread uses them, none is
/// passed `inout` while code of the caller runs, and the checks cost an eighth of a bulk load.
final class StateEditor {
  let editor: PageEditor
  @exclusivity(unchecked) var roots: Roots
  @exclusivity(unchecked) var catalog: Catalog
  /// The definitions of the maintained indexes: those of `roots.indexes`.
  @exclusivity(unchecked) var active: ActiveIndexes
  @exclusivity(unchecked) var values: ValueSource
  /// The closures that this process has registered.
  let code: [CodeIndex]
  let recorder: ChangeRecorder?
  /// The number of the bucket that is known to be in the catalog, since most puts concern one.
  @exclusivity(unchecked) private var knownBucket: UInt32?
  /// Called repeatedly, while no pointer into pages of the transaction is held.
  @exclusivity(unchecked) var spill: SpillAction?
  /// The checks of rules that the write has to pass; none for a replay.
  @exclusivity(unchecked) var rules = RuleChecks()
  /// The collector of words of text indexes; nil until one is needed.
  @exclusivity(unchecked) var words: TermCollector?
  /// Whether a replayed commit lacks operations that were removed from the log later.
  var hasReplayedStub = false

  /// - Parameters:
  ///   - active: the definitions of `base.indexes`. An index without a definition loses its trees.
  ///   - memory: the memory of an editor that has ended; nil for new memory.
  init(
    pages: PageStore, epoch: CommitNumber, base: Roots, catalog: Catalog, active: ActiveIndexes,
    code: [CodeIndex], values: ValueSource, recorder: ChangeRecorder?, isPrivate: Bool = false,
    memory: EditorMemory? = nil
  ) {
    editor = PageEditor(pages: pages, epoch: epoch, isPrivate: isPrivate, memory: memory)
    roots = base
    self.catalog = catalog
    self.active = active
    self.code = code
    self.values = values
    self.recorder = recorder
    dropUndefinedTrees()
  }

  /// Begins another commit; its page editor has ended the one before.
  func begin(on base: Version, active: ActiveIndexes, pending: PendingValues) {
    editor.begin(base.roots.commit + 1)
    roots = base.roots
    if !catalog.isSame(as: base.catalog) {
      catalog = base.catalog
      knownBucket = nil
    }
    self.active = active
    values.pending = pending
    hasReplayedStub = false
    dropUndefinedTrees()
  }

  /// Releases what a commit has collected.
  func end() {
    values.pending = nil
    if !rules.isUnused { rules = RuleChecks() }
    words = nil
    recorder?.reset()
  }

  private func dropUndefinedTrees() {
    if roots.indexes.count > active.count {
      for index in roots.indexes.all where active[index.number] == nil { dropTrees(index.number) }
    }
    precondition(roots.indexes.count == active.count, "every definition needs its index trees")
  }

  var pages: PageStore { editor.pages }
  var rows: Tree { Tree(roots.rows, pages: pages) }
  var catalogTree: Tree { Tree(roots.catalog, pages: pages) }

  /// The row's record, in place; valid until the next edit.
  func row(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError) -> RowRecord? {
    let found = RowTreeKey.with(bucket: bucket, key: key) { rows.value(of: $0) }
    return try found.map { (bytes) throws(TreeRingError) in try RowRecord(bytes) }
  }

  /// The record of a row that is about to change, as `row` returns it.
  func rowToChange(
    bucket: UInt32, key: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> RowRecord? {
    let found = RowTreeKey.with(bucket: bucket, key: key) {
      editor.find($0, in: &roots.rows)?.value
    }
    return try found.map { (bytes) throws(TreeRingError) in try RowRecord(bytes) }
  }

  /// The commit that last wrote or deleted a row; 0 if it never was.
  func lastWritten(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError)
    -> CommitNumber
  {
    if let row = try row(bucket: bucket, key: key) { return row.written.commit }
    return try tombstone(bucket: bucket, key: key)
  }

  /// The commit that deleted a row; 0 if none did.
  @inline(__always)
  func tombstone(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError) -> CommitNumber
  {
    // The call copies the roots.
    if roots.tombstones.count == 0 { return 0 }
    return try roots.tombstone(bucket: bucket, key: key, pages: pages)
  }

  /// Applies one change to one row.
  ///
  /// - Returns: the commit that last wrote the row before; nil if there is nothing to do (a delete
  ///   of an absent row).
  /// - Throws: the error that prevents the change; then nothing has changed.
  @discardableResult
  func apply(
    _ change: RowChange<StoredValue>, in reference: BucketReference, key: UnsafeRawBufferPointer,
    at stamp: Stamp
  ) throws(TreeRingError) -> CommitNumber? {
    let old = try rowToChange(bucket: reference.number, key: key)
    if old == nil, case .delete = change { return nil }
    let new = try change.successor(of: old, at: stamp)
    return try replace(old, by: new, at: stamp.commit, in: reference, key: key)
  }

  /// Replaces the record of a row by a new record or a tombstone.
  ///
  /// - Parameter commit: the commit that deletes the row, if there is no new record.
  /// - Returns: the commit that last wrote the row before.
  /// - Throws: the error that prevents the replacement; then nothing has changed.
  @discardableResult
  func replace(
    _ old: RowRecord?, by new: RowRecord?, at commit: CommitNumber,
    in reference: BucketReference, key: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> CommitNumber {
    let bucket = reference.number
    if !rules.unknown.isEmpty { try rules.checkKnown(reference.name, deletes: new == nil) }
    let memory = editor.memory
    encode(new)
    guard RowTreeKey.byteCount(of: key) + memory.record.count <= PageLayout.maxCellByteCount else {
      throw ByteReader.damaged
    }

    let hadRow = old != nil
    let deletedAt = hadRow ? 0 : try tombstone(bucket: bucket, key: key)
    let previous = old?.written.commit ?? deletedAt
    let edits = try indexEdits(from: old, to: new, in: reference, key: key)

    if new != nil { add(reference) }
    RowTreeKey.with(bucket: bucket, key: key) { treeKey in
      if new == nil {
        if hadRow { _ = editor.remove(&roots.rows, key: treeKey) }
        var bytes: [UInt8] = []
        bytes.append(integer: commit)
        bytes.withUnsafeBytes { _ = editor.put(&roots.tombstones, key: treeKey, value: $0) }
      } else {
        memory.record.withUnsafeBytes { _ = editor.put(&roots.rows, key: treeKey, value: $0) }
        if deletedAt != 0 { _ = editor.remove(&roots.tombstones, key: treeKey) }
      }
    }
    if new == nil { takeOut(of: reference, key: key) }
    self.commit(edits, bucket: bucket, key: key)
    if new == nil, hadRow, rules.isActive { noteDelete(of: reference, key) }
    return previous
  }

  /// Sets the record in the editor's memory.
  func encode(_ row: RowRecord?) {
    editor.memory.record.removeAll(keepingCapacity: true)
    row?.encode(into: &editor.memory.record)
  }

  // MARK: - Catalog

  /// Adds a bucket and its number to the catalog.
  func add(_ bucket: BucketReference) {
    if isKnown(bucket) { return }
    catalog.add(bucket)
    setCatalog(CatalogKey.bucket, bucket.name.utf8, integer: UInt64(bucket.number))
  }

  /// Whether the catalog has a bucket.
  @inline(__always)
  func isKnown(_ bucket: BucketReference) -> Bool {
    if knownBucket == bucket.number { return true }
    if catalog.name(ofBucket: bucket.number) == nil { return false }
    knownBucket = bucket.number
    return true
  }

  func setCatalog(_ kind: UInt8, _ name: some Sequence<UInt8>, integer: UInt64) {
    var value: [UInt8] = []
    value.append(integer: integer)
    putCatalog(CatalogKey.of(kind, name), value)
  }

  func putCatalog(_ key: [UInt8], _ value: [UInt8]) {
    key.withUnsafeBytes { key in
      value.withUnsafeBytes { _ = editor.put(&roots.catalog, key: key, value: $0) }
    }
  }

  func removeCatalog(_ key: [UInt8]) {
    key.withUnsafeBytes { _ = editor.remove(&roots.catalog, key: $0) }
  }

  /// Sets the commit of the state.
  func setCommit(
    _ commit: CommitNumber, timestamp: Timestamp, operationCount: UInt32, payloadByteCount: Int
  ) {
    roots.commit = commit
    noteForm()
    roots.timestamp = timestamp
    roots.operationCount += UInt64(operationCount)
    roots.payloadByteCount += UInt64(payloadByteCount)
  }

  /// Sets the form of the state: pages of its commit are at most of the editor's present edition.
  func noteForm() {
    roots.form = roots.commit == editor.epoch ? editor.birth.edition : 0
  }
}
