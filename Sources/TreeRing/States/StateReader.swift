// Reads the rows of one state of the trees: of a snapshot, or of a transaction between two writes.

public import TreeRingLog

/// The state that a ``Readable`` reads, through the protocol's methods.
public final class StateReader: Sendable {
  let rows: Tree
  let roots: Roots
  let catalog: Catalog
  let values: ValueSource
  /// For a snapshot: tells whether it may still be read.
  private let life: PinLife?
  /// For a transaction: counts the reads under way, and the writes.
  private let reads: TransactionReads?
  private let edition: Int

  init(
    roots: Roots, catalog: Catalog, pages: PageStore, values: ValueSource,
    life: PinLife? = nil, reads: TransactionReads? = nil
  ) {
    rows = Tree(roots.rows, pages: pages)
    self.life = life
    self.reads = reads
    edition = reads?.edition ?? 0
    self.roots = roots
    self.catalog = catalog
    self.values = values
  }

  var pages: PageStore { rows.pages }

  /// Runs `body`, which reads pages, inside a read section; see `PageStore.reading`. Code of the
  /// caller may run in it. A transaction refuses to edit its pages until it returns.
  @inline(__always)
  func reading<R>(_ body: () throws -> R) throws -> R {
    guard let reads else {
      guard let life else { return try rows.pages.reading(body) }
      // The check is inside the section, because pages are freed once the earlier sections have
      // ended.
      return try rows.pages.reading {
        try life.check()
        return try body()
      }
    }
    checkCurrent()
    reads.depth += 1
    defer { reads.depth -= 1 }
    return try rows.pages.reading(body)
  }

  /// The same for a body that throws only errors of this library.
  @inline(__always)
  func read<R>(_ body: () throws -> R) throws(TreeRingError) -> R {
    try typed { try reading(body) }
  }

  /// Traps if the state belongs to a transaction that has written again or ended since.
  @inline(__always)
  func checkCurrent() {
    if let reads {
      precondition(
        reads.edition == edition,
        "an index reader of a transaction was used after the transaction's next write or end")
    }
  }

  /// Calls `body` with the entries of a tree at these positions, until it returns false. One read
  /// section covers at most `sectionEntryCount` entries, so that a long scan does not keep memory
  /// from being freed.
  func forEach(
    in positions: Range<Int>, of tree: Tree, reversed: Bool,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var rest = positions
    while !rest.isEmpty {
      let part =
        reversed ? rest.suffix(Self.sectionEntryCount) : rest.prefix(Self.sectionEntryCount)
      var goesOn = true
      func visit(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool {
        goesOn = try body(key, value)
        return goesOn
      }
      try reading {
        if reversed {
          try tree.forEachBackward(in: part.startIndex..<part.endIndex, visit)
        } else {
          try tree.forEach(in: part.startIndex..<part.endIndex, visit)
        }
      }
      if !goesOn { return }
      rest = reversed ? rest.lowerBound..<part.startIndex : part.endIndex..<rest.upperBound
    }
  }

  static let sectionEntryCount = 512

  /// The record of a row, in place. Inside a read section.
  @inline(__always)
  func record(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError) -> RowRecord? {
    guard let bytes = RowKey.with(bucket: bucket, key: key, { rows.value(of: $0) }) else {
      return nil
    }
    return try RowRecord(bytes)
  }

  /// The commit that deleted a row; 0 if none did, or its tombstone is gone. Inside a read section.
  func grave(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError) -> CommitNumber {
    let graves = Tree(roots.graves, pages: pages)
    guard let bytes = RowKey.with(bucket: bucket, key: key, { graves.value(of: $0) }) else {
      return 0
    }
    var reader = ByteReader(bytes)
    return try reader.integer()
  }

  /// The record of a row named by bucket and key, in place. Inside a read section.
  @inline(__always)
  func record(bucket name: String, key: Key) throws(TreeRingError) -> RowRecord? {
    guard let bucket = catalog.buckets[name] else { return nil }
    return try typed { try key.bytes.withUnsafeBytes { try record(bucket: bucket, key: $0) } }
  }

  /// A copy of a row; nil if there is none.
  func storedRow(bucket: String, key: Key) throws(TreeRingError) -> StoredRow? {
    try read {
      try record(bucket: bucket, key: key).map { try stored($0, key: key, bucket: bucket) }
    }
  }

  /// A copy of a row. Inside a read section.
  func stored(_ record: RowRecord, key: Key, bucket: String) throws(TreeRingError) -> StoredRow {
    StoredRow(
      bucket: bucket, key: key, object: try values.bytes(of: record.object, part: .object),
      metadata: try record.metadata.map { (value) throws(TreeRingError) in
        try values.bytes(of: value, part: .metadata)
      },
      written: record.written.commit, created: record.created.commit, coder: record.coder)
  }

  /// The commit that a tag names; nil if there is no such tag.
  func tag(_ name: String) throws(TreeRingError) -> CommitNumber? {
    try read { try tagReader.commit(of: name) }
  }

  /// Whether a tag names a commit.
  func isTagged(_ commit: CommitNumber) throws(TreeRingError) -> Bool {
    try read { try tagReader.contains(commit) }
  }

  /// The tags of commits below one, oldest commit first.
  func tags(below bound: CommitNumber) throws(TreeRingError) -> [Tag] {
    try read { try tagReader.tags(below: bound) }
  }

  private var tagReader: TagReader { TagReader(Tree(roots.catalog, pages: pages)) }

  /// The commit written under an idempotency key; nil if there is none.
  func commit(idempotencyKey key: [UInt8]) throws(TreeRingError) -> CommitNumber? {
    let tree = Tree(roots.catalog, pages: pages)
    let key = CatalogKey.of(CatalogKey.idempotencyKey, key)
    return try read {
      guard let bytes = key.withUnsafeBytes({ tree.value(of: $0) }) else { return nil }
      var reader = ByteReader(bytes)
      return try reader.integer()
    }
  }

  /// Every tag, in name order.
  func tags() throws(TreeRingError) -> [Tag] {
    var tags: [Tag] = []
    try read {
      try tagReader.forEachByName { tag in
        tags.append(tag)
        return true
      }
    }
    return tags
  }
}

/// The reads of pages that a transaction may edit in place. Unchecked, because only the thread that
/// runs the transaction uses it.
final class TransactionReads: @unchecked Sendable {
  /// The number of reading calls that have not returned.
  var depth = 0
  /// Incremented by every write, and by the transaction's end.
  var edition = 0
}

/// A row with its bytes, as it was at some commit.
public struct StoredRow: Hashable, Sendable {
  /// The bucket of the row.
  public let bucket: String
  /// The key of the row.
  public let key: Key
  /// The object's bytes.
  public let object: [UInt8]
  /// The metadata's bytes; nil if the row has no metadata.
  public let metadata: [UInt8]?
  /// The commit that last wrote the row.
  public let written: CommitNumber
  /// The commit that created the row.
  public let created: CommitNumber
  /// The version of the coder that wrote the object.
  public let coder: UInt32

  package init(
    bucket: String, key: Key, object: [UInt8], metadata: [UInt8]?, written: CommitNumber,
    created: CommitNumber, coder: UInt32
  ) {
    self.bucket = bucket
    self.key = key
    self.object = object
    self.metadata = metadata
    self.written = written
    self.created = created
    self.coder = coder
  }

  public static func == (a: StoredRow, b: StoredRow) -> Bool {
    a.key == b.key && a.written == b.written && a.created == b.created && a.coder == b.coder
      && a.object == b.object && a.metadata == b.metadata && a.bucket.isSameName(as: b.bucket)
  }
  public func hash(into hasher: inout Hasher) {
    bucket.hashName(into: &hasher)
    hasher.combine(key)
    hasher.combine(written)
  }
}

extension Bucket {
  /// A stored row of this bucket, decoded.
  ///
  ///     let titles = try index.rows(in: "sci-fi").map { try books.decode($0).title }
  ///
  /// - Throws: The errors of the bucket's coder.
  public func decode(_ row: StoredRow) throws -> Row {
    try row.object.withUnsafeBytes { try coder.decode($0, row.coder) }
  }
}
