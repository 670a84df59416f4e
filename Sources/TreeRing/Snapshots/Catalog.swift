// What a store knows beside its rows: bucket numbers, tags, index definitions, idempotency keys.
// The catalog tree holds all of it; buckets and definitions, which are few and asked for at every
// operation, are also kept decoded here. Both are edited together, through `StateEditor`.
//
//   1 · bucket name       → number (LEB128)
//   2 · tag               → commit (LEB128)
//   3 · index name        → definition (as in the log)
//   4 · idempotency key   → commit (LEB128)
//   5 · manual place      → label (ManualPlaces.swift)

package import TreeRingLog

/// The decoded part of a catalog at one commit. Every commit copies it a few times, so it is one reference.
package struct Catalog: Sendable {
  private struct Content {
    var buckets: [String: UInt32] = [:]
    var bucketNames: [UInt32: String] = [:]
    var indexes: [String: IndexRecord] = [:]
    var manualNumbers: [UInt32] = []
    var nextIndexNumber: UInt32 = 1
    var nextBucketNumber: UInt32 = 1
  }
  // Changed only while one catalog alone refers to it.
  private final class Storage: @unchecked Sendable {
    var content: Content
    init(_ content: Content) { self.content = content }
  }
  private var storage = Storage(Content())

  /// Bucket numbers by name.
  package var buckets: [String: UInt32] { storage.content.buckets }
  /// Bucket names by number.
  package var bucketNames: [UInt32: String] { storage.content.bucketNames }
  /// Index definitions in force, by name.
  package var indexes: [String: IndexRecord] { storage.content.indexes }
  /// The numbers of the manual indexes among them, ascending.
  var manualNumbers: [UInt32] { storage.content.manualNumbers }
  /// The number that the next index definition gets.
  package var nextIndexNumber: UInt32 { storage.content.nextIndexNumber }
  /// The number that the next bucket gets.
  package var nextBucketNumber: UInt32 { storage.content.nextBucketNumber }

  package init() {}

  /// The catalog that a catalog tree holds. O(buckets + definitions). Inside a read section.
  init(_ tree: Tree) throws {
    try Self.forEach(CatalogKey.bucket, in: tree) { name, value in
      var reader = ByteReader(value)
      add(BucketReference(number: try reader.integer32(), name: name))
    }
    try Self.forEach(CatalogKey.index, in: tree) { _, value in
      var reader = ByteReader(value)
      set(try IndexRecord(&reader))
    }
  }

  private static func forEach(
    _ kind: UInt8, in tree: Tree, _ body: (String, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    try [kind].withUnsafeBytes { lower in
      try [kind + 1].withUnsafeBytes { upper in
        try tree.forEach(from: lower, to: upper) { key, value in
          try body(String(decoding: key.dropFirst(), as: UTF8.self), value)
          return true
        }
      }
    }
  }

  /// The indexes that filter another one, in name order.
  func filters(of name: String) -> [IndexRecord] {
    indexes.values.filter { $0.parent?.name == name }.sorted { $0.name < $1.name }
  }

  /// Whether every definition of an earlier catalog is still in force.
  func keepsDefinitions(of old: Catalog) -> Bool {
    old.indexes.allSatisfy { indexes[$0.key]?.number == $0.value.number }
  }

  mutating func add(_ bucket: BucketReference) {
    change { content in
      content.buckets[bucket.name] = bucket.number
      content.bucketNames[bucket.number] = bucket.name
      content.nextBucketNumber = max(content.nextBucketNumber, bucket.number &+ 1)
    }
  }

  mutating func set(_ record: IndexRecord) {
    change { content in
      content.nextIndexNumber = max(content.nextIndexNumber, record.number &+ 1)
      if let old = content.indexes[record.name] {
        content.manualNumbers.removeAll { $0 == old.number }
      }
      if case .removed = record.definition {
        content.indexes[record.name] = nil
      } else {
        content.indexes[record.name] = record
      }
      if case .manual = record.definition {
        content.manualNumbers.append(record.number)
        content.manualNumbers.sort()
      }
    }
  }

  private mutating func change(_ body: (inout Content) -> Void) {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.content) }
    body(&storage.content)
  }
}

/// Keys of the catalog tree: what kind of entry, then its name.
enum CatalogKey {
  static let bucket: UInt8 = 1
  static let tag: UInt8 = 2
  static let index: UInt8 = 3
  static let idempotencyKey: UInt8 = 4
  static let place: UInt8 = 5

  static func of(_ kind: UInt8, _ name: some Sequence<UInt8>) -> [UInt8] { [kind] + name }
}

/// The roots of a group index's two trees.
package struct IndexRoots: Hashable, Sendable {
  /// The number of the definition they were built by.
  package var number: UInt32
  /// (group, sort key, bucket, key) → lengths of group and sort key.
  package var order = TreeRoot.empty
  /// (bucket, key, group) → sort key.
  package var places = TreeRoot.empty
  /// How many rows are left out because the index's closure cannot decode them.
  package var undecodable: UInt64 = 0

  package init(number: UInt32) { self.number = number }
}

/// The roots of all trees at one commit.
package struct Roots: Sendable {
  package var commit: CommitNumber = 0
  package var timestamp = Timestamp(microseconds: .min)
  /// How many operations all commits so far had, and how many bytes their payloads took.
  package var operationCount: UInt64 = 0
  package var payloadByteCount: UInt64 = 0
  /// (bucket, key) → row record.
  package var rows = TreeRoot.empty
  /// (bucket, key) → commit of the delete.
  package var graves = TreeRoot.empty
  package var catalog = TreeRoot.empty
  /// The trees of the group indexes maintained at this commit.
  package var indexes: [IndexRoots] = []

  package init() {}

  /// Every tree, those of the indexes last.
  package var trees: [TreeRoot] {
    [rows, graves, catalog] + indexes.flatMap { [$0.order, $0.places] }
  }

  /// The trees of one index definition, if they are maintained at this commit.
  package func index(_ number: UInt32) -> IndexRoots? { indexes.first { $0.number == number } }
}
