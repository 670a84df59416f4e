// Replaying many commits at once, of which only the last state is wanted. What they do is collected,
// sorted by row, and each row is written once, as the last of its changes leaves it. So a row that
// was written ten times is put once, one that came and went in between costs no more than a grave, and
// the trees are edited in the order of their keys.
//
// The state is the one that commit after commit leads to; only the shape of the trees may differ.

internal import TreeRingLog

extension StateEditor {
  /// Applies the commits after its own, up to one. Of index definitions only the catalog learns;
  /// `buildMissingIndexes` does the rest.
  ///
  /// - Parameters:
  ///   - limit: how many operations are held back at most.
  ///   - goesOn: asked after each commit; false ends it there.
  /// - Throws: if it cannot be done; some of it may have been applied then, so the editor has to be
  ///   discarded.
  func replay(
    _ log: CommitLog, through commit: CommitNumber, limit: Int = FoldedReplay.limit,
    while goesOn: () -> Bool = { true }
  ) throws {
    let replay = FoldedReplay(self, limit: limit)
    try log.replay(from: roots.commit + 1, through: commit) { header, payload in
      try replay.add(header, payload)
      return goesOn()
    }
    try replay.finish()
  }
}

/// Applies commits from the log to a state, some at a time.
final class FoldedReplay {
  private let editor: StateEditor
  private let limit: Int
  /// The payloads of the commits not applied yet; their changes point into them.
  private let payloads = ByteArena()
  private var changes: [Change] = []
  private var buckets: [UInt32: BucketReference] = [:]

  /// What one operation does to one row.
  private struct Change {
    /// The row's key in the row tree.
    var key: UnsafeRawBufferPointer
    var stamp: Stamp
    var change: RowChange
  }

  /// How many operations are held back at most, if nothing else is said.
  static let limit = 32_768
  private static let payloadByteLimit = 8 << 20

  /// - Parameter limit: how many operations are held back at most.
  init(_ editor: StateEditor, limit: Int = FoldedReplay.limit) {
    self.editor = editor
    self.limit = limit
  }

  /// Takes one commit. The state is that of the commit after the next `finish`; number, date and tags
  /// are set at once. Of index definitions only the catalog learns; `buildMissingIndexes` does the rest
  /// later.
  ///
  /// - Throws: if it cannot be done; some of it may have been applied then, so the editor has to be
  ///   discarded.
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

  /// Applies what is held back.
  func finish() throws(TreeRingError) {
    try applyChanges()
    payloads.removeAll()
  }

  private func add(_ operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    guard canFold else { return try editor.replay(operation, at: stamp) }
    switch operation {
    case .put(let row, let coder, let object, let metadata):
      add(row, .put(object: object, metadata: metadata, coder: coder), stamp)
    case .object(let row, let coder, let object): add(row, .object(object, coder: coder), stamp)
    case .metadata(let row, let metadata): add(row, .metadata(metadata), stamp)
    case .touch(let row): add(row, .touch, stamp)
    case .delete(let row): add(row, .delete, stamp)
    case .row(let row, let record): add(row, .row(record), stamp)
    case .deleteRange(let bucket, let rows):
      for row in rows {
        add(RowAddress(bucket: bucket, key: row.key, previous: row.previous), .delete, stamp)
      }
    case .tag, .index, .place, .stub, .held:
      try applyChanges()
      try editor.replay(operation, at: stamp)
    }
  }

  /// Whether only the last state of a row matters: labels found by comparing depend on the order in
  /// which rows came, and places given by hand end with a row's delete, whatever comes after it.
  private var canFold: Bool {
    editor.catalog.manualNumbers.isEmpty && !editor.active.contains { $0.comparison != nil }
  }

  private func add(_ row: RowAddress, _ change: RowChange, _ stamp: Stamp) {
    if buckets[row.bucket.number] == nil { buckets[row.bucket.number] = row.bucket }
    if case .delete = change {} else { editor.add(row.bucket) }
    let key = RowKey.with(bucket: row.bucket.number, key: row.key) { payloads.copy($0) }
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

  /// A read section is as long as some hundred changes, so that a long replay does not keep memory from
  /// being given back.
  private func reading(_ body: () throws(TreeRingError) -> Void) throws(TreeRingError) {
    try typed { try editor.pages.reading { try body() } }
  }

  private static let sectionChangeCount = 512

  /// Applies the changes of one row.
  private func apply(
    _ positions: ArraySlice<Int>, to treeKey: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    let key = RowKey.key(of: treeKey)
    guard let bucket = buckets[RowKey.bucket(of: treeKey)] else { throw ByteReader.damaged }
    let old = try editor.row(bucket: bucket.number, key: key)
    var new = old
    var deleted: CommitNumber?
    for position in positions {
      let change = changes[position]
      // A delete of a row that is not there leaves no grave.
      if new != nil, case .delete = change.change { deleted = change.stamp.commit }
      new = try editor.successor(of: new, change.change, at: change.stamp)
    }
    if new != nil {
      try editor.replace(old, by: new, at: 0, in: bucket, key: key)
    } else if let deleted {
      try editor.replace(old, by: nil, at: deleted, in: bucket, key: key)
    }
  }
}
