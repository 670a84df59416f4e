// The tombstones that a snapshot keeps of deleted rows. For comparing stores; readers do not need
// them.

package import TreeRingLog

extension Snapshot {
  /// Calls `body` with the key of each deleted row of a bucket and the commit that deleted it, in
  /// key order, until it returns false. Tombstones from before the horizon may be gone. O(graves).
  package func forEachGrave(
    in bucket: String, _ body: (Key, CommitNumber) throws -> Bool
  ) throws {
    let reader = try self.reader
    guard let number = reader.catalog.buckets[bucket] else { return }
    let graves = Tree(reader.roots.graves, pages: reader.pages)
    let positions = try reader.reading { RowKey.positions(in: graves, bucket: number) }
    try reader.forEach(in: positions, of: graves, reversed: false) { key, value in
      var bytes = ByteReader(value)
      return try body(Key(bytes: RowKey.key(of: key)), try bytes.integer())
    }
  }

  /// The commit that deleted a row; 0 if none did, or its tombstone is gone. O(log n).
  package func grave(of key: Key, in bucket: String) throws(TreeRingError) -> CommitNumber {
    let reader = try self.reader
    guard let number = reader.catalog.buckets[bucket] else { return 0 }
    return try reader.read {
      try key.bytes.withUnsafeBytes { try reader.grave(bucket: number, key: $0) }
    }
  }
}
