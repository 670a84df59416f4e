// The store's state besides its rows: bucket numbers, tags, index definitions, idempotency keys.
// The catalog tree holds all of it. Buckets and definitions are few and every operation reads them,
// so they are also kept decoded here. `StateEditor` edits both together.
//
//   1 · bucket name       → number (LEB128)
//   2 · tag               → commit (LEB128)
//   3 · index name        → definition (as in the log)
//   4 · idempotency key   → commit (LEB128)
//   5 · manual place      → label (ManualPlaces.swift)
//   6 · commit, tag       → nothing (TagReader.swift)

internal import TreeRingLog

/// The decoded part of a catalog at one commit. It is a single reference, because every commit
/// copies it a few times.
package struct Catalog: Sendable {
  private struct Content {
    var buckets = BucketTable()
    /// Replaced after each change of a definition.
    var definitions = Definitions()
    var indexes = IndexTable()
    var manualNumbers: [UInt32] = []
    var manualNumbersByBucket: [StoreName: [UInt32]] = [:]
    var rules: [IndexRecord] = []
    var nextIndexNumber: UInt32 = 1
    var nextBucketNumber: UInt32 = 1
  }
  /// An identity: two catalogs with the same object have the same definitions.
  private final class Definitions: Sendable {}
  // Changed only while a single catalog refers to it, which makes it Sendable. So checks for
  // exclusive access, of which each commit would make a dozen, find nothing.
  private final class Storage: @unchecked Sendable {
    @exclusivity(unchecked) var content: Content
    let bucketNumbers = BucketNumberCache()
    init(_ content: Content) { self.content = content }
  }
  private var storage = Storage(Content())

  /// The number of a bucket, compared byte by byte; nil if there is none of that name. O(log n);
  /// for names looked up before usually O(length of the name), without counting references.
  @inline(__always)
  func number(ofBucket name: String) -> UInt32? {
    let known = name.utf8.withContiguousStorageIfAvailable { storage.bucketNumbers.number(of: $0) }
    if let number = known ?? nil { return number }
    return lookUp(bucket: name)
  }

  @inline(never)
  private func lookUp(bucket name: String) -> UInt32? {
    guard let number = buckets[name] else { return nil }
    var name = name
    name.withUTF8 { storage.bucketNumbers.insert(number, name: $0) }
    return number
  }

  /// The name of a bucket; nil if there is none of that number. O(log n), without counting
  /// references to the table, as `buckets` would.
  @inline(__always)
  func name(ofBucket number: UInt32) -> String? { storage.content.buckets.name(of: number) }

  /// The buckets that have been written to.
  package var buckets: BucketTable { storage.content.buckets }
  /// The index definitions in force, by name.
  package var indexes: IndexTable { storage.content.indexes }
  /// The numbers of the manual indexes in force, ascending.
  var manualNumbers: [UInt32] { storage.content.manualNumbers }
  /// The numbers of the manual indexes over a bucket, ascending. O(1).
  func manualNumbers(over bucket: String) -> [UInt32] {
    storage.content.manualNumbersByBucket[StoreName(bucket)] ?? []
  }
  /// The definitions in force that are rules, in the order of their numbers.
  var rules: [IndexRecord] { storage.content.rules }
  /// Whether there are rules. O(1), without counting references.
  var hasRules: Bool { !storage.content.rules.isEmpty }
  /// The numbers of the text indexes in force. O(n).
  var textNumbers: Set<UInt32> {
    Set(indexes.values.lazy.filter(\.isText).map(\.number))
  }
  /// The number that the next index definition gets.
  var nextIndexNumber: UInt32 { storage.content.nextIndexNumber }
  /// The number that the next bucket gets.
  var nextBucketNumber: UInt32 { storage.content.nextBucketNumber }

  init() {}

  /// Reads the catalog that a catalog tree holds. O(buckets + definitions). Inside a read section.
  init(_ tree: Tree) throws(TreeRingError) {
    try Self.forEach(CatalogKey.bucket, in: tree) { (name, value) throws(TreeRingError) in
      var reader = ByteReader(value)
      add(BucketReference(number: try reader.integer32(), name: name))
    }
    try Self.forEach(CatalogKey.index, in: tree) { (_, value) throws(TreeRingError) in
      var reader = ByteReader(value)
      set(try IndexRecord(&reader))
    }
  }

  private static func forEach(
    _ kind: UInt8, in tree: Tree,
    _ body: (String, UnsafeRawBufferPointer) throws(TreeRingError) -> Void
  ) throws(TreeRingError) {
    try tree.forEach(from: [kind], to: [kind + 1]) { (key, value) throws(TreeRingError) in
      try body(String(decoding: key.dropFirst(), as: UTF8.self), value)
      return true
    }
  }

  /// The indexes that filter another index, in name order.
  func filters(of name: String) -> [IndexRecord] {
    indexes.values.filter { $0.parent?.name.isSameName(as: name) ?? false }
      .sorted { StoreName($0.name) < StoreName($1.name) }
  }

  /// Whether the two are one object, so that everything in them is the same. O(1).
  func isSame(as other: Catalog) -> Bool { storage === other.storage }

  /// Whether every definition of an earlier catalog is still in force. O(1) if none has changed.
  func keepsDefinitions(of old: Catalog) -> Bool {
    if storage.content.definitions === old.storage.content.definitions { return true }
    return old.indexes.values.allSatisfy { indexes[$0.name]?.number == $0.number }
  }

  mutating func add(_ bucket: BucketReference) {
    change { content in
      content.buckets.add(bucket)
      content.nextBucketNumber = max(content.nextBucketNumber, bucket.number &+ 1)
    }
  }

  mutating func set(_ record: IndexRecord) {
    change { content in
      content.definitions = Definitions()
      content.nextIndexNumber = max(content.nextIndexNumber, record.number &+ 1)
      if let old = content.indexes[record.name] {
        content.manualNumbers.removeAll { $0 == old.number }
        if case .manual(let buckets) = old.definition {
          for bucket in buckets.names {
            content.manualNumbersByBucket[bucket]?.removeAll { $0 == old.number }
          }
        }
      }
      if case .removed = record.definition {
        content.indexes[record.name] = nil
      } else {
        content.indexes[record.name] = record
      }
      content.rules.removeAll { $0.name.isSameName(as: record.name) }
      if record.isRule { content.rules.append(record) }
      content.rules.sort { $0.number < $1.number }
      if case .manual(let buckets) = record.definition {
        content.manualNumbers.append(record.number)
        content.manualNumbers.sort()
        for bucket in Set(buckets.names) {
          content.manualNumbersByBucket[bucket, default: []].append(record.number)
          content.manualNumbersByBucket[bucket]?.sort()
        }
      }
    }
  }

  private mutating func change(_ body: (inout Content) -> Void) {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.content) }
    body(&storage.content)
  }
}

/// Index definitions by name.
package struct IndexTable: Sendable {
  private var byName: [StoreName: IndexRecord] = [:]

  /// The definition of an index; setting nil removes it. O(1).
  subscript(name: String) -> IndexRecord? {
    get { byName[StoreName(name)] }
    set { byName[StoreName(name)] = newValue }
  }

  /// All definitions, in no order.
  package var values: Dictionary<StoreName, IndexRecord>.Values { byName.values }
}

extension Tree {
  /// Calls `body` with the entries of `lower` ≤ key < `upper` in ascending order, until it returns
  /// false.
  func forEach<E: Error>(
    from lower: [UInt8], to upper: [UInt8],
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(E) -> Bool
  ) throws(E) {
    try lower.withUnsafeBytes { (lower) throws(E) in
      try upper.withUnsafeBytes { (upper) throws(E) in try forEach(from: lower, to: upper, body) }
    }
  }
}

/// Keys of the catalog tree: the kind of the entry, then its name.
enum CatalogKey {
  static let bucket: UInt8 = 1
  static let tag: UInt8 = 2
  static let index: UInt8 = 3
  static let idempotencyKey: UInt8 = 4
  static let place: UInt8 = 5
  static let taggedCommit: UInt8 = 6

  static func of(_ kind: UInt8, _ name: some Sequence<UInt8>) -> [UInt8] { [kind] + name }

  /// The key of a tag by its commit; without a name, the lower bound of the tags of that commit.
  static func tag(
    of commit: CommitNumber, _ name: some Sequence<UInt8> = EmptyCollection()
  ) -> [UInt8] {
    [taggedCommit] + withUnsafeBytes(of: commit.bigEndian) { Array($0) } + name
  }

  /// The offset of the name in such a key.
  static let tagNameOffset = 9
}
