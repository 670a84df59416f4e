// The versions of buckets as a store knows them: ordinary rows, so that they are part of history
// and every program can read them.

internal import TreeRingLog
internal import TreeRingPlatform

/// The row of a bucket's version.
struct StoredVersion: Codable, Hashable {
  /// The latest version of the bucket's rows.
  var version: UInt32
  /// The version to which all rows have been rewritten; nil if that was never finished.
  var swept: UInt32?
  /// The first key that the rewriting has not reached yet; nil if it has not begun.
  var cursor: Data?

  /// The bucket of these rows; the keys are the names of buckets.
  static let bucket = Bucket<StoredVersion>("treering.versions")
}

extension Readable {
  func storedVersion(of bucket: String) throws -> StoredVersion? {
    try get(Key(bucket), in: StoredVersion.bucket)
  }
}

extension Transaction {
  /// Stores a later version of a bucket's rows.
  func raiseVersion(of bucket: String, to version: UInt32) throws {
    let stored = try storedVersion(of: bucket)
    if stored?.version ?? 1 >= version { return }
    // The rewriting begins again.
    let row = StoredVersion(version: version, swept: stored?.swept, cursor: nil)
    try put(row, for: Key(bucket), in: StoredVersion.bucket)
  }
}
