// Replays many commits to their last state. The replay collects their changes, sorts them by row,
// and writes each row once, as its last change leaves it. So a row that was written ten times is
// put once. A row that was put and deleted within the range costs one tombstone. The trees are
// edited in key order.
//
// The state equals that of a replay commit by commit; only the shape of the trees may differ.

internal import TreeRingLog

extension StateEditor {
  /// Applies the commits after the editor's own, up to `commit`. An index definition changes only
  /// the catalog; `buildMissingIndexes` builds the trees.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of pending operations.
  ///   - goesOn: called after each commit; false ends the replay there.
  /// - Throws: the error that prevents the replay. Some operations may have been applied by then,
  ///   so the caller has to discard the editor.
  func replay(
    _ log: CommitLog, through commit: CommitNumber, limit: Int = FoldedReplay.limit,
    while goesOn: () -> Bool = { true }
  ) throws(TreeRingError) {
    let replay = FoldedReplay(self, limit: limit)
    let first = roots.commit + 1
    try typed {
      try log.replay(from: first, through: commit) { header, payload in
        try replay.add(header, payload)
        return goesOn()
      }
    }
    try replay.finish()
  }
}

/// Applies commits from the log to a state in batches.
final class FoldedReplay {
  private let editor: StateEditor
  private let limit: Int
  /// The payloads of the pending commits; the pending changes point into them.
  private let payloads = ByteArena()
  private var changes: [Change] = []
  private var buckets: [UInt32: BucketReference] = [:]

  /// A pending change of one row.
  private struct Change {
    /// The row's key in the row tree.
    var key: UnsafeRawBufferPointer
    var stamp: Stamp
    var change: RowChange<StoredValue>
  }

  /// The default for the maximum number of pending operations.
  static let limit = 32_768
  private static let payloadByteLimit = 8 << 20

  /// - Parameter limit: the maximum number of pending operations.
  init(_ editor: StateEditor, limit: Int = FoldedReplay.limit) {
    self.editor = editor
    self.limit = limit
  }

  /// Adds one commit. The next `finish` brings the state to that commit; number, date and tags are
  /// set immediately. An index definition changes only the catalog; `buildMissingIndexes` builds
  /// the trees later.
  ///
  /// - Throws: the error that prevents the replay. Some operations may have been applied by then,
  ///   so the caller has to discard the editor.
  func add(
    _ header: CommitHeader, _ payload: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    let payload = payloads.copy(payload)
    try reading { () throws(TreeRingError) in
      try editor.replay(header, payload) { (operation, stamp) throws(TreeRingError) in
        try add(operation, at: stamp)
      }
    }
    if changes.count >= limit || payloads.byteCount >= Self.payloadByteLimit { try finish() }
  }

  /// Applies the pending changes.
  func finish() throws(TreeRingError) {
    try applyChanges()
    payloads.removeAll()
  }

  private func add(_ operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    guard canFold else { return try editor.replay(operation, at: stamp) }
    switch operation {
    case .row(let row, let change): try add(row, change, stamp)
    case .deleteRange(let bucket, let rows):
      for row in rows { try add(row.address(in: bucket), .delete, stamp) }
    case .tag, .index, .place, .stub, .held:
      try applyChanges()
      try editor.replay(operation, at: stamp)
    }
  }

  /// Whether only the last state of a row matters. Labels of compared rows depend on the order in
  /// which rows arrive. Manual places end with a delete of the row, whatever follows it.
  private var canFold: Bool {
    editor.catalog.manualNumbers.isEmpty && editor.active.comparing.isEmpty
  }

  private func add(
    _ row: RowAddress, _ change: RowChange<StoredValue>, _ stamp: Stamp
  ) throws(TreeRingError) {
    try editor.checkBucket(row.bucket)
    if buckets[row.bucket.number] == nil { buckets[row.bucket.number] = row.bucket }
    if !change.isDelete { editor.add(row.bucket) }
    let key = RowTreeKey.with(bucket: row.bucket.number, key: row.key) { payloads.copy($0) }
    changes.append(Change(key: key, stamp: stamp, change: change))
  }

  private func applyChanges() throws(TreeRingError) {
    let order = KeySorter.order(of: changes.map(\.key))
    var start = 0
    while start < order.count {
      let enough = start + Self.sectionChangeCount
      try reading { () throws(TreeRingError) in
        while start < order.count, start < enough {
          let key = changes[order[start]].key
          var end = start + 1
          while end < order.count, KeyOrder.compare(changes[order[end]].key, key) == 0 { end += 1 }
          try apply(order[start..<end], to: key)
          start = end
        }
      }
    }
    changes.removeAll(keepingCapacity: true)
  }

  /// Runs `body` in a read section. A section covers some hundred changes, so that a long replay
  /// does not delay the reclaiming of memory.
  private func reading(_ body: () throws(TreeRingError) -> Void) throws(TreeRingError) {
    try editor.pages.read(body)
  }

  private static let sectionChangeCount = 512

  /// Applies the changes of one row.
  private func apply(
    _ positions: ArraySlice<Int>, to treeKey: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    let key = RowTreeKey.key(of: treeKey)
    guard let bucket = buckets[RowTreeKey.bucket(of: treeKey)] else { throw ByteReader.damaged }
    let old = try editor.row(bucket: bucket.number, key: key)
    var new = old
    var deleted: CommitNumber?
    for position in positions {
      let change = changes[position]
      // A delete of an absent row leaves no tombstone.
      if new != nil, change.change.isDelete { deleted = change.stamp.commit }
      do throws(TreeRingError) {
        new = try change.change.successor(of: new, at: change.stamp)
      } catch { throw StateEditor.replayError(error, at: change.stamp) }
    }
    if new != nil {
      try editor.replace(old, by: new, at: 0, in: bucket, key: key)
    } else if let deleted {
      try editor.replace(old, by: nil, at: deleted, in: bucket, key: key)
    }
  }
}
