// The tombstones that a snapshot keeps of deleted rows. For comparing stores; readers do not need
// them.

package import TreeRingLog

extension Snapshot {
  /// Calls `body` with the key of each deleted row of a bucket and the commit that deleted it, in
  /// key order, until it returns false. Tombstones from before the horizon may be gone.
  /// O(tombstones).
  package func forEachTombstone(
    in bucket: String, _ body: (Key, CommitNumber) throws -> Bool
  ) throws {
    let reader = try self.reader
    guard let number = reader.catalog.number(ofBucket: bucket) else { return }
    let tombstones = Tree(reader.roots.tombstones, pages: reader.pages)
    let positions = try reader.reading { RowTreeKey.positions(in: tombstones, bucket: number) }
    try reader.forEach(in: positions, of: tombstones, reversed: false) { key, value in
      var bytes = ByteReader(value)
      return try body(Key(bytes: RowTreeKey.key(of: key)), try bytes.integer())
    }
  }

  /// The commit that deleted a row; 0 if none did, or its tombstone is gone. O(log n).
  package func tombstone(of key: Key, in bucket: String) throws(TreeRingError) -> CommitNumber {
    let reader = try self.reader
    guard let number = reader.catalog.number(ofBucket: bucket) else { return 0 }
    return try reader.read {
      try key.bytes.withUnsafeBytes { try reader.tombstone(bucket: number, key: $0) }
    }
  }
}
