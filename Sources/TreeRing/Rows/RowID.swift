// The identities of a row: its bucket and its key, by name for callers and by number inside the
// engine.

/// A row's identity: its bucket and its key.
public struct RowID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The bucket's name.
  public let bucket: String
  /// The key in that bucket.
  public let key: Key

  /// The row of a key in the named bucket.
  public init(bucket: String, key: Key) {
    self.bucket = bucket
    self.key = key
  }

  /// The row of a key in a bucket.
  public init(_ key: Key, in bucket: some BucketName) {
    self.init(bucket: bucket.bucketName, key: key)
  }

  public static func == (a: RowID, b: RowID) -> Bool {
    a.key == b.key && a.bucket.isSameName(as: b.bucket)
  }
  public func hash(into hasher: inout Hasher) {
    bucket.hashName(into: &hasher)
    hasher.combine(key)
  }
  public static func < (a: RowID, b: RowID) -> Bool {
    (StoreName(a.bucket), a.key) < (StoreName(b.bucket), b.key)
  }
  public var description: String { "\(bucket)/\(key)" }
}

/// A row's identity inside the engine: its bucket's number and its key.
package struct RowReference: Hashable, Comparable, Sendable {
  /// The bucket's number in this store.
  package var bucket: UInt32
  /// The key's bytes.
  package var key: [UInt8]

  package init(bucket: UInt32, key: [UInt8]) {
    self.bucket = bucket
    self.key = key
  }

  package static func < (a: RowReference, b: RowReference) -> Bool {
    a.bucket == b.bucket ? KeyOrder.precedes(a.key, b.key) : a.bucket < b.bucket
  }
}
