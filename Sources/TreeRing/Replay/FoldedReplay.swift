// Replays many commits to their last state. The replay collects their changes, sorts them by row
// (ChangeSorter.swift), and writes each row once, as its last change leaves it. So a row that was
// written ten times is put once. A row that was put and deleted within the range costs one
// tombstone. The trees are edited in key order, so each page is made once.
//
// The state equals that of a replay commit by commit; only the shape of the trees may differ.

internal import TreeRingLog

extension StateEditor {
  /// Applies the commits after the editor's own, up to `commit`. An index definition changes only
  /// the catalog; `buildMissingIndexes` builds the trees.
  ///
  /// - Parameters:
  ///   - byteLimit: The maximum number of bytes of pending changes in memory.
  ///   - makeFile: Makes a file for further pending changes; nil if there can be none.
  ///   - goesOn: Called after each commit; false ends the replay there.
  /// - Throws: The error that prevents the replay. Some operations may have been applied by then,
  ///   so the caller has to discard the editor.
  func replay(
    _ log: CommitLog, through commit: CommitNumber, byteLimit: Int = FoldedReplay.byteLimit,
    makeFile: ChangeSorter.MakeFile? = nil, while goesOn: (CommitNumber) -> Bool = { _ in true }
  ) throws(TreeRingError) {
    let sorter = ChangeSorter(byteLimit: byteLimit, makeFile: makeFile)
    let replay = FoldedReplay(self, sorter)
    let first = roots.commit + 1
    try log.replay(from: first, through: commit) { (header, payload) throws(TreeRingError) in
      try replay.add(header, payload)
      return goesOn(header.number)
    }
    try replay.finish()
  }
}

/// Applies commits from the log to a state in batches.
final class FoldedReplay {
  private let editor: StateEditor
  private let sorter: ChangeSorter
  private let aheadByteCount: UInt64
  /// The buckets that commits have named.
  @exclusivity(unchecked) private var buckets: [UInt32: BucketReference] = [:]
  /// The bucket of the last change that puts a row: it is in the catalog.
  @exclusivity(unchecked) private var known: UInt32?

  /// The default for the maximum number of bytes of pending changes in memory.
  static let byteLimit = 8 << 20

  /// - Parameters:
  ///   - sorter: Holds the pending changes.
  ///   - aheadByteCount: The number of bytes in runs from which on another thread merges them.
  init(_ editor: StateEditor, _ sorter: ChangeSorter, aheadByteCount: UInt64 = 4 << 20) {
    self.editor = editor
    self.sorter = sorter
    self.aheadByteCount = aheadByteCount
  }

  /// Adds one commit. The next `finish` brings the state to that commit; number, date and tags are
  /// set immediately. An index definition changes only the catalog; `buildMissingIndexes` builds
  /// the trees later.
  ///
  /// - Throws: The error that prevents the replay. Some operations may have been applied by then,
  ///   so the caller has to discard the editor.
  func add(
    _ header: CommitHeader, _ payload: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    try reading { () throws(TreeRingError) in
      try editor.replay(
        header, payload,
        name: { (bucket) throws(TreeRingError) in
          try editor.checkBucket(bucket)
          if let named = buckets.updateValue(bucket, forKey: bucket.number), named != bucket {
            throw ByteReader.damaged
          }
        },
        { (operation, fields, stamp) throws(TreeRingError) in
          try add(operation, fields, at: stamp)
        })
    }
    if sorter.isFull { try makeRoom() }
  }

  /// Applies the pending changes.
  func finish() throws(TreeRingError) { try applyChanges() }

  /// Moves the pending changes from memory to a file. Where that is impossible, it applies them.
  private func makeRoom() throws(TreeRingError) {
    do throws(TreeRingError) {
      if try sorter.writeRun() { return }
    } catch  where error.code == .noSpace {}
    try applyChanges()
  }

  private func add(
    _ operation: Operation, _ fields: UnsafeRawBufferPointer, at stamp: Stamp
  ) throws(TreeRingError) {
    guard canFold else { return try editor.replay(operation, at: stamp) }
    switch operation {
    case .row(let row, let change):
      if !change.isDelete, known != row.bucket.number {
        editor.add(row.bucket)
        known = row.bucket.number
      }
      try sorter.add(row.key, in: row.bucket.number, change.kind, fields, at: stamp)
    case .deleteRange(let bucket, let rows):
      let fields = UnsafeRawBufferPointer(start: nil, count: 0)
      for row in rows { try sorter.add(row.key, in: bucket.number, .delete, fields, at: stamp) }
    // They depend on no pending change, and none depends on them.
    case .tag, .stub, .held: try editor.replay(operation, at: stamp)
    case .index, .place:
      try applyChanges()
      try editor.replay(operation, at: stamp)
    }
  }

  /// Whether only the last state of a row matters. Labels of compared rows depend on the order in
  /// which rows arrive. Manual places end with a delete of the row, whatever follows it.
  private var canFold: Bool {
    editor.catalog.manualNumbers.isEmpty && editor.active.comparing.isEmpty
  }

  private func applyChanges() throws(TreeRingError) {
    let sorted = try SortedChanges(sorter)
    let supply = BatchSupply(sorted, fillsAhead: sorter.runByteCount >= aheadByteCount)
    // A row that the replay itself adds does not come again, and each one lies behind those before.
    let hadRows = editor.roots.rows.count > 0
    let appends = !hadRows && editor.active.count == 0 && editor.roots.tombstones.count == 0
    var end: TreeEnd?
    while let batch = try supply.next() {
      var records = batch.records[...]
      while !records.isEmpty {
        try reading { () throws(TreeRingError) in
          for _ in 0..<Self.sectionRowCount {
            guard let first = records.first else { return }
            let count = records.firstIndex { !$0.hasKey(of: first) } ?? records.endIndex
            try apply(records[..<count], to: first.key, mayExist: hadRows, appends, &end)
            records = records[count...]
          }
        }
        try editor.spill?(editor.editor)
      }
    }
    sorter.removeAll()
  }

  /// Runs `body` in a read section. A section covers some hundred rows, so that a long replay does
  /// not delay the reclaiming of memory.
  private func reading(_ body: () throws(TreeRingError) -> Void) throws(TreeRingError) {
    try editor.pages.read(body)
  }

  private static let sectionRowCount = 512

  /// Applies the changes of one row.
  /// - Parameters:
  ///   - mayExist: Whether there may be a row now.
  ///   - appends: Whether the row lies behind all others, and neither indexes nor tombstones of
  ///     other commits concern it.
  ///   - end: The end of the row tree after the last row.
  private func apply(
    _ records: ArraySlice<SortRecord>, to treeKey: UnsafeRawBufferPointer, mayExist: Bool,
    _ appends: Bool, _ end: inout TreeEnd?
  ) throws(TreeRingError) {
    let key = RowTreeKey.key(of: treeKey)
    guard let bucket = buckets[RowTreeKey.bucket(of: treeKey)] else { throw ByteReader.damaged }
    let old = mayExist ? try editor.rowToChange(bucket: bucket.number, key: key) : nil
    var new = old
    var deleted: CommitNumber?
    for record in records {
      let next = try record.change()
      // A delete of an absent row leaves no tombstone.
      if new != nil, next.change.isDelete { deleted = next.stamp.commit }
      do throws(TreeRingError) {
        new = try next.change.successor(of: new, at: next.stamp)
      } catch { throw StateEditor.replayError(error, at: next.stamp) }
    }
    if appends, let new { return try editor.append(new, treeKey: treeKey, end: &end) }
    end = nil
    if new != nil {
      try editor.replace(old, by: new, at: 0, in: bucket, key: key)
    } else if let deleted {
      try editor.replace(old, by: nil, at: deleted, in: bucket, key: key)
    }
  }
}
