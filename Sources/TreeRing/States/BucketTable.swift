// The buckets known at one commit, in persistent maps: adding a bucket costs O(log n), and states
// share the nodes that are equal.

internal import TreeRingLog

/// The names and numbers of the buckets known at one commit.
package struct BucketTable: Sendable {
  private var names = PersistentMap<String>()
  /// The buckets by the digest of their name. Several buckets may share a digest.
  private var byDigest = PersistentMap<[BucketReference]>()

  /// The number of the bucket of this name, compared byte by byte; nil if there is none. O(log n).
  subscript(name: String) -> UInt32? {
    byDigest[Self.digest(of: name)]?.first { $0.name.utf8.elementsEqual(name.utf8) }?.number
  }

  /// The name of the bucket of this number; nil if there is none. O(log n).
  package func name(of number: UInt32) -> String? { names[UInt64(number)] }

  /// The number of buckets.
  package var count: Int { names.count }

  /// All buckets, in the order of their numbers. O(n log n).
  package var all: [BucketReference] {
    var all: [BucketReference] = []
    all.reserveCapacity(count)
    names.forEach { all.append(BucketReference(number: UInt32($0), name: $1)) }
    return all.sorted { $0.number < $1.number }
  }

  /// Makes a bucket known. O(log n).
  mutating func add(_ bucket: BucketReference) {
    names[UInt64(bucket.number)] = bucket.name
    let digest = Self.digest(of: bucket.name)
    let others = byDigest[digest]?.filter { !$0.name.utf8.elementsEqual(bucket.name.utf8) }
    byDigest[digest] = (others ?? []) + [bucket]
  }

  private static func digest(of name: String) -> UInt64 {
    var name = name
    return name.withUTF8 { Digest.of(UnsafeRawBufferPointer($0)) }
  }
}
