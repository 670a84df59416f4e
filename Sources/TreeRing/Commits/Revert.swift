// Bringing an earlier state back, as a new commit: history only grows.

public import TreeRingLog

extension Store {
  /// Writes one commit that makes every row what it was at a point in history, also where it stands in
  /// manual indexes.
  /// - Returns: the commit, and the number of its operations; 0 if nothing differed.
  @discardableResult
  public func revert(to point: ReadPoint) throws -> (commit: CommitNumber, operations: Int) {
    let target = try snapshot(at: point)
    let reader = try target._reader
    let written = try write { tx in
      // Collected before anything is written, since writing changes what is being compared.
      var differences: [RowDifference] = []
      try reader.diff(from: tx._reader) {
        differences.append($0)
        return true
      }
      for difference in differences { try tx.write(difference.after, of: difference.id) }
      return try differences.count + tx.revertPlaces(to: reader)
    }
    return (written.commit, written.value)
  }
}

extension Transaction {
  /// Places rows by hand where they stood, in the manual indexes in force now.
  /// - Returns: how many places differed.
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
        guard let bucket = editor.catalog.bucketNames[place.bucket], buckets.contains(bucket),
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

  /// Makes a row what it was; nil deletes it.
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
