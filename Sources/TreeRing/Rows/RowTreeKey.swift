// Keys of the row tree and the tombstones: the bucket's number (4 bytes, big-endian), then the key.

internal import TreeRingLog

/// Builds keys of the row tree.
enum RowTreeKey {
  /// The tree key of a row.
  static func of(bucket: UInt32, key: some Sequence<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(4 + key.underestimatedCount)
    bytes.append(ordered32: bucket)
    bytes.append(contentsOf: key)
    return bytes
  }

  /// The length of a row's tree key, in bytes.
  static func byteCount(of key: UnsafeRawBufferPointer) -> Int { 4 + key.count }

  /// Calls `body` with the tree key of a row, built on the stack.
  @inline(__always)
  static func with<R, E: Error>(
    bucket: UInt32, key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try withUnsafeTemporaryAllocation(byteCount: 4 + key.count, alignment: 8) {
      (buffer) throws(E) in
      buffer.storeBytes(of: bucket.bigEndian, as: UInt32.self)
      UnsafeMutableRawBufferPointer(rebasing: buffer[4...]).copyMemory(from: key)
      return try body(UnsafeRawBufferPointer(buffer))
    }
  }

  /// The positions in the row tree of a bucket's rows with `lower` ≤ key < `upper`. O(log n).
  static func positions(
    in rows: Tree, bucket: UInt32, from lower: Key? = nil, to upper: Key? = nil
  ) -> Range<Int> {
    let start = of(bucket: bucket, key: lower?.bytes ?? []).withUnsafeBytes { rows.rank(of: $0) }
    let end: Int
    if let upper {
      end = of(bucket: bucket, key: upper.bytes).withUnsafeBytes { rows.rank(of: $0) }
    } else if bucket == .max {
      end = rows.count
    } else {
      end = of(bucket: bucket + 1, key: []).withUnsafeBytes { rows.rank(of: $0) }
    }
    return start..<max(start, end)
  }

  /// The bucket's number in a tree key.
  static func bucket(of treeKey: UnsafeRawBufferPointer) -> UInt32 {
    UInt32(bigEndian: treeKey.loadUnaligned(as: UInt32.self))
  }

  /// The row's key in a tree key.
  static func key(of treeKey: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: treeKey[4...])
  }
}

extension Tree {
  /// Calls `body` with key and record of every row of a bucket in key order, until it returns
  /// false.
  func forEachRow(
    in bucket: UInt32,
    _ body: (_ key: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) -> Bool
  ) {
    forEach(in: RowTreeKey.positions(in: self, bucket: bucket)) { treeKey, record in
      body(RowTreeKey.key(of: treeKey), record)
    }
  }
}
