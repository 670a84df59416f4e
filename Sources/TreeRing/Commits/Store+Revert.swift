// Restores an earlier state by a new commit, so that no history is lost.

public import TreeRingLog

extension Store {
  /// Writes one commit that restores every row to its state at a point in history, including its
  /// places in manual indexes. Memory holds the commit, as for every write, and some megabytes.
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  /// - Parameters:
  ///   - point: The point in history.
  ///   - progress: Called from time to time with the number of operations so far. If it returns
  ///     false, nothing is written.
  /// - Returns: the commit, and the number of its operations; 0 if nothing differed.
  /// - Throws: What `snapshot(at:)` and `write` throw; `cancelled` if `progress` returned false.
  @discardableResult
  public func revert(
    to point: ReadPoint, progress: (Int) -> Bool = { _ in true }
  ) throws -> (commit: CommitNumber, operations: Int) {
    let target = try snapshot(at: point)
    let reader = try target.reader
    let written = try write { tx in
      // The state to restore decides about every row, so no rule changes further ones.
      tx.editor.rules.appliesDeletions = false
      // The state before the first write stays readable, since writes go to other pages.
      let editor = tx.editor
      let before = StateReader(
        roots: editor.roots, catalog: editor.catalog, pages: editor.pages, values: editor.values)
      var count = 0
      try reader.diffByPieces(from: before) { piece in
        for difference in piece { try tx.write(difference.after, of: difference.id) }
        count += piece.count
        guard progress(count) else {
          throw TreeRingError(.cancelled, "The reverting was cancelled; nothing was written.")
        }
      }
      return try count + tx.revertPlaces(to: reader)
    }
    return (written.commit, written.value)
  }
}

extension Transaction {
  /// Restores the places of rows in the manual indexes in force now.
  /// - Returns: the number of places that differed.
  fileprivate func revertPlaces(to reader: StateReader) throws -> Int {
    var count = 0
    for index in editor.catalog.indexes.values.sorted(by: { $0.number < $1.number }) {
      guard case .manual(let buckets) = index.definition else { continue }
      var places: [ManualPlace] = []
      try reader.reading {
        try reader.manualPlaces.forEachDifference(from: editor.manualPlaces, of: index.name) {
          places.append($0)
        }
      }
      for place in places {
        guard let bucket = editor.catalog.name(ofBucket: place.bucket),
          buckets.containsName(bucket),
          try row(Key(bytes: place.key), in: bucket) != nil
        else { continue }
        let address = PlaceAddress(index: index.name, group: place.group)
        try place.key.withUnsafeBytes {
          try self.place($0, in: bucket, address, label: place.label)
        }
        count += 1
      }
    }
    return count
  }

  /// Restores a row; nil deletes it.
  fileprivate func write(_ row: StoredRow?, of id: RowID) throws {
    guard let row else {
      try delete(id.key, in: id.bucket)
      return
    }
    let coder = RowCoder<[UInt8]>(
      version: row.coder, encode: { $0 }, decode: { bytes, _ in Array(bytes) })
    let bucket = Bucket(id.bucket, coder: coder)
    try put(row.object, metadata: row.metadata, for: id.key, in: bucket)
  }
}
