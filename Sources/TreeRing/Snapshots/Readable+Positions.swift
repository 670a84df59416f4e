// Rows by their position in key order.

package import TreeRingLog

extension Readable {
  /// The key at a position of a bucket's key order; nil beyond its end. O(log n).
  package func key(
    at position: Int, in bucket: some BucketName
  ) throws(TreeRingError) -> Key? {
    let reader = try self.reader
    guard let number = reader.catalog.number(ofBucket: bucket.bucketName) else { return nil }
    return try reader.read {
      let positions = RowTreeKey.positions(in: reader.rows, bucket: number, from: nil, to: nil)
      let place = positions.lowerBound + position
      guard positions.contains(place) else { return nil }
      return reader.rows.withEntry(at: place) { key, _ in
        // Empty if a page could not be fetched.
        key.isEmpty ? nil : Key(bytes: RowTreeKey.key(of: key))
      }
    }
  }
}
