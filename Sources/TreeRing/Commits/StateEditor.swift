// Turns one state of all trees into the next. Writes, replay and time travel all go through here, so
// that the log replays into exactly what the write made.
//
// For each row written:
//   1. read the old record; note its digests, since its page may be edited in place;
//   2. build the new record in a buffer of its own (it may keep parts of the old one);
//   3. ask every maintained index for the new places, before anything is changed;
//   4. edit row tree and graves, then the index trees; note the change.

internal import TreeRingLog

/// What an operation does to one row.
enum RowChange {
  case put(object: StoredValue, metadata: StoredValue?, coder: UInt32)
  case object(StoredValue, coder: UInt32)
  case metadata(StoredValue)
  case touch
  case delete
  /// The whole row as a compacted log has it.
  case row(RowRecord)
}

/// Edits all trees of a store on the way to one commit. Used by one thread at a time.
final class StateEditor {
  let editor: PageEditor
  var roots: Roots
  private(set) var catalog: Catalog
  /// The indexes maintained, in step with `roots.indexes`.
  private(set) var active: [ActiveIndex]
  var values: ValueSource
  /// Closures that this process has registered.
  let code: [CodeIndex]
  let recorder: ChangeRecorder?
  /// Called now and then while nothing points into pages of the transaction.
  var spill: SpillAction?
  /// Whether a replayed commit lacks operations, taken out of the log after it was written.
  var hasReplayedStub = false
  private var record: [UInt8] = []

  /// - Parameter active: the definition of each of `base.indexes`, in their order; an index without
  ///   one is left behind, its trees given up.
  init(
    pages: PageStore, epoch: CommitNumber, base: Roots, catalog: Catalog, active: [ActiveIndex?],
    code: [CodeIndex], values: ValueSource, recorder: ChangeRecorder?, isPrivate: Bool = false
  ) {
    precondition(active.count == base.indexes.count, "every index tree needs its definition")
    editor = PageEditor(pages: pages, epoch: epoch, isPrivate: isPrivate)
    roots = base
    self.catalog = catalog
    self.active = active.compactMap { $0 }
    self.code = code
    self.values = values
    self.recorder = recorder
    roots.indexes = []
    for (index, definition) in zip(base.indexes, active) {
      if definition == nil { giveUp(index) } else { roots.indexes.append(index) }
    }
  }

  var pages: PageStore { editor.pages }
  var rows: Tree { Tree(roots.rows, pages: pages) }
  var catalogTree: Tree { Tree(roots.catalog, pages: pages) }

  /// The row's record, in place until the next edit.
  func row(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError) -> RowRecord? {
    let found = RowKey.with(bucket: bucket, key: key) { rows.value(of: $0) }
    return try found.map { (bytes) throws(TreeRingError) in try RowRecord(bytes) }
  }

  /// The commit that last wrote or deleted a row; 0 if it never was.
  func lastWritten(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError)
    -> CommitNumber
  {
    if let row = try row(bucket: bucket, key: key) { return row.written.commit }
    return try grave(bucket: bucket, key: key)
  }

  private func grave(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError)
    -> CommitNumber
  {
    let graves = Tree(roots.graves, pages: pages)
    if graves.isEmpty { return 0 }
    guard let bytes = RowKey.with(bucket: bucket, key: key, { graves.value(of: $0) }) else {
      return 0
    }
    var reader = ByteReader(bytes)
    return try reader.integer()
  }

  /// Applies one change to one row.
  ///
  /// - Returns: the commit that last wrote the row before; nil if there is nothing to do (a delete
  ///   of an absent row).
  /// - Throws: if it cannot be done; nothing is changed then.
  @discardableResult
  func apply(
    _ change: RowChange, in reference: BucketReference, key: UnsafeRawBufferPointer,
    at stamp: Stamp
  ) throws(TreeRingError) -> CommitNumber? {
    let old = try row(bucket: reference.number, key: key)
    if old == nil, case .delete = change { return nil }
    let new = try successor(of: old, change, at: stamp)
    return try replace(old, by: new, at: stamp.commit, in: reference, key: key)
  }

  /// Puts a record of a row, or a grave, in the place of its record.
  ///
  /// - Parameter commit: that which deletes the row, if there is no new record.
  /// - Returns: the commit that last wrote the row before.
  /// - Throws: if it cannot be done; nothing is changed then.
  @discardableResult
  func replace(
    _ old: RowRecord?, by new: RowRecord?, at commit: CommitNumber,
    in reference: BucketReference, key: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> CommitNumber {
    let bucket = reference.number
    record.removeAll(keepingCapacity: true)
    new?.encode(into: &record)
    guard RowKey.byteCount(of: key) + record.count <= PageLayout.maxCellByteCount else {
      throw ByteReader.damaged
    }

    let hadRow = old != nil
    let wasGrave = hadRow ? 0 : try grave(bucket: bucket, key: key)
    let previous = old?.written.commit ?? wasGrave
    let edits = try indexEdits(
      from: old, to: new, in: reference, key: key, needsContent: recorder != nil)

    if new != nil { add(reference) }
    RowKey.with(bucket: bucket, key: key) { treeKey in
      if new == nil {
        if hadRow { _ = editor.remove(&roots.rows, key: treeKey) }
        var bytes: [UInt8] = []
        bytes.append(integer: commit)
        bytes.withUnsafeBytes { _ = editor.put(&roots.graves, key: treeKey, value: $0) }
      } else {
        record.withUnsafeBytes { _ = editor.put(&roots.rows, key: treeKey, value: $0) }
        if wasGrave != 0 { _ = editor.remove(&roots.graves, key: treeKey) }
      }
    }
    if new == nil { takeOut(bucket: bucket, key: key) }
    self.commit(edits, bucket: bucket, key: key)
    return previous
  }

  /// The record that a change makes of the old one; nil for a delete.
  func successor(
    of old: RowRecord?, _ change: RowChange, at stamp: Stamp
  ) throws(TreeRingError) -> RowRecord? {
    switch change {
    case .delete: return nil
    case .row(let row): return row
    case .put(let object, let metadata, let coder):
      return RowRecord(
        written: stamp, created: old?.created ?? stamp, touched: old?.touched ?? 0, coder: coder,
        object: object, metadata: metadata)
    case .object(let object, let coder):
      return RowRecord(
        written: stamp, created: old?.created ?? stamp, touched: old?.touched ?? 0, coder: coder,
        object: object, metadata: old?.metadata)
    case .metadata, .touch:
      guard var row = old else { throw Self.noRow }
      row.written = stamp
      if case .metadata(let metadata) = change { row.metadata = metadata }
      if case .touch = change { row.touched = stamp.commit }
      return row
    }
  }

  private static var noRow: TreeRingError {
    TreeRingError(
      .notFound,
      "There is no row of this key, so its metadata cannot be set nor can it be touched. "
        + "Put the row first.")
  }

  // MARK: - Indexes

  /// What becomes of a row's places in one index.
  struct IndexEdit {
    var position: Int
    var old: [EncodedPlace]
    var new: [EncodedPlace]
    /// By how much the number of rows that the index cannot decode grows.
    var undecodable: Int
    var prefix: [UInt8]
  }

  /// What becomes of a row's places in every index, with its content for the change records.
  struct Edits {
    var indexes: [IndexEdit] = []
    /// Other rows, in indexes that compare rows.
    var relabeled: [Relabeled] = []
    var oldContent: RowContent?
    var newContent: RowContent?
  }

  private func indexEdits(
    from old: RowRecord?, to new: RowRecord?, in reference: BucketReference,
    key: UnsafeRawBufferPointer, needsContent: Bool
  ) throws(TreeRingError) -> Edits {
    var edits = Edits()
    let bucket = reference.number
    for position in active.indices where active[position].buckets.contains(reference.name) {
      let prefix = PlaceKey.prefix(bucket: bucket, key: key)
      let places = Tree(roots.indexes[position].places, pages: pages)
      let before = old == nil ? [] : PlaceKey.places(in: places, prefix: prefix)
      let byHand = active[position].manualName.map {
        manualPlaces.places(of: $0, bucket: bucket, key: key)
      }
      var after: [EncodedPlace]? = []
      if let new {
        after = try values.places(
          of: new, bucket: bucket, key: key, index: active[position], byHand: byHand ?? [])
      }
      if let new, let groups = after, active[position].comparison != nil {
        let labeling = try labeling(
          groups, of: new, after: old, before: before, in: reference, key: key, position: position)
        after = labeling.places
        edits.relabeled += labeling.relabeled.values
      }
      var undecodable = after == nil ? 1 : 0
      if let old, before.isEmpty, roots.indexes[position].undecodable > 0,
        try values.places(
          of: old, bucket: bucket, key: key, index: active[position], byHand: byHand ?? []) == nil
      {
        undecodable -= 1
      }
      if before.isEmpty, after?.isEmpty ?? true, undecodable == 0 { continue }
      edits.indexes.append(
        IndexEdit(
          position: position, old: before, new: after ?? [], undecodable: undecodable,
          prefix: prefix))
    }
    if needsContent, !edits.indexes.isEmpty {
      edits.oldContent = old?.content
      edits.newContent = new?.content
    }
    return edits
  }

  /// Carries out what `indexEdits` found.
  func commit(_ edits: Edits, bucket: UInt32, key: UnsafeRawBufferPointer) {
    commit(edits.relabeled)
    let indexEditor = IndexEditor(editor: editor)
    for edit in edits.indexes {
      if edit.undecodable > 0 { roots.indexes[edit.position].undecodable += 1 }
      if edit.undecodable < 0 { roots.indexes[edit.position].undecodable -= 1 }
      if edit.old.isEmpty, edit.new.isEmpty { continue }
      if edit.old != edit.new {
        indexEditor.replace(
          &roots.indexes[edit.position], bucket: bucket, key: key, prefix: edit.prefix,
          old: edit.old, new: edit.new)
      }
      recorder?.note(
        index: active[edit.position].number, bucket: bucket, key: key, old: edit.old,
        new: edit.new, oldContent: edits.oldContent, newContent: edits.newContent)
    }
  }

  // MARK: - Catalog

  /// Makes a bucket known under its number.
  func add(_ bucket: BucketReference) {
    if catalog.bucketNames[bucket.number] != nil { return }
    catalog.add(bucket)
    setCatalog(CatalogKey.bucket, bucket.name.utf8, integer: UInt64(bucket.number))
  }

  /// Names a commit; 0 takes the name away.
  func setTag(_ name: String, commit: CommitNumber) {
    if commit == 0 {
      CatalogKey.of(CatalogKey.tag, name.utf8).withUnsafeBytes {
        _ = editor.remove(&roots.catalog, key: $0)
      }
      return
    }
    setCatalog(CatalogKey.tag, name.utf8, integer: commit)
  }

  func setIdempotencyKey(_ key: [UInt8], commit: CommitNumber) {
    setCatalog(CatalogKey.idempotencyKey, key, integer: commit)
  }

  private func setCatalog(_ kind: UInt8, _ name: some Sequence<UInt8>, integer: UInt64) {
    var value: [UInt8] = []
    value.append(integer: integer)
    putCatalog(CatalogKey.of(kind, name), value)
  }

  func putCatalog(_ key: [UInt8], _ value: [UInt8]) {
    key.withUnsafeBytes { key in
      value.withUnsafeBytes { _ = editor.put(&roots.catalog, key: key, value: $0) }
    }
  }

  /// Puts an index definition in force, or takes it out of force.
  func setDefinition(_ record: IndexRecord) {
    if let old = catalog.indexes[record.name] {
      forget { $0.number == old.number }
      if case .manual = old.definition {
        // What shows its places, maybe under a later definition of that name, is built from them anew.
        forget { $0.manualName == record.name }
        hand(on: old, to: record)
      }
    }
    catalog.set(record)
    // A removed definition stays, so that its number is not given out again.
    var value: [UInt8] = []
    record.encode(into: &value)
    putCatalog(CatalogKey.of(CatalogKey.index, record.name.utf8), value)
  }

  /// Builds an index and puts its definition in force, or only the latter if its closure is not
  /// registered here.
  /// - Throws: what keeps it from being built; nothing is changed then.
  func define(
    _ record: IndexRecord, progress: (Int) -> Bool
  ) throws(TreeRingError) {
    let index = try record.active(code: code)
    let built = try index.map { (index) throws(TreeRingError) in
      let old = catalog.indexes[record.name]?.number
      let position = active.firstIndex { $0.number == old && $0.comparison != nil }
      let labeled = position.map { Tree(roots.indexes[$0].places, pages: pages) }
      return try build(index, labeled: labeled, progress)
    }
    setDefinition(record)
    if let index, let built {
      active.append(index)
      roots.indexes.append(built)
    }
  }

  private func build(
    _ index: ActiveIndex, labeled: Tree? = nil, _ progress: (Int) -> Bool
  ) throws(TreeRingError) -> IndexRoots {
    try IndexEditor(editor: editor).build(
      index, rows: rows, catalog: catalog, catalogTree: catalogTree, values: values,
      labeled: labeled, spill: spill, progress: progress)
  }

  private func forget(where isGone: (ActiveIndex) -> Bool) {
    for position in active.indices.reversed() where isGone(active[position]) {
      active.remove(at: position)
      giveUp(roots.indexes.remove(at: position))
    }
  }

  private func giveUp(_ index: IndexRoots) {
    var order = index.order
    var places = index.places
    editor.removeAll(&order)
    editor.removeAll(&places)
  }

  /// Builds every index that is in force, can be evaluated here and is not maintained yet.
  ///
  /// - Parameter base: a state still readable, of whose indexes that compare rows the labels are kept as
  ///   far as the order allows, if they are defined anew.
  func buildMissingIndexes(
    keepingLabelsOf base: Version? = nil, progress: (Int) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    for record in catalog.indexes.values.sorted(by: { $0.number < $1.number }) {
      if active.contains(where: { $0.number == record.number }) { continue }
      guard let index = try record.active(code: code) else { continue }
      var labeled: Tree?
      if let base, let old = base.catalog.indexes[record.name],
        try old.active(code: code)?.comparison != nil, let known = base.roots.index(old.number)
      {
        labeled = Tree(known.places, pages: pages)
      }
      let built = try build(index, labeled: labeled, progress)
      active.append(index)
      roots.indexes.append(built)
    }
  }

  /// Stamps the state with its commit.
  func setCommit(
    _ commit: CommitNumber, timestamp: Timestamp, operationCount: UInt32, payloadByteCount: Int
  ) {
    roots.commit = commit
    roots.timestamp = timestamp
    roots.operationCount += UInt64(operationCount)
    roots.payloadByteCount += UInt64(payloadByteCount)
  }
}
