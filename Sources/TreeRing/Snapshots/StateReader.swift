// Reads rows of one state of the trees: a snapshot's, or a transaction's between two writes.

public import TreeRingLog

/// The readable state behind a snapshot or a transaction.
public final class StateReader: Sendable {
  let rows: Tree
  let roots: Roots
  let catalog: Catalog
  let values: ValueSource
  /// Of a snapshot: whether it may still be read.
  private let life: PinLife?
  /// Of a transaction: what its pages' readers must keep to.
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

  /// Runs `body`, which looks at pages: a read section, see `PageStore.reading`. Code of the caller may
  /// run in it; a transaction refuses to edit its pages meanwhile.
  @inline(__always)
  func reading<R>(_ body: () throws -> R) throws -> R {
    guard let reads else {
      guard let life else { return try rows.pages.reading(body) }
      // Inside the section, because pages are given back when the sections begun before have ended.
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

  /// The same where only our own errors can come up.
  @inline(__always)
  func read<R>(_ body: () throws -> R) throws(TreeRingError) -> R {
    try typed { try reading(body) }
  }

  /// Of a transaction: stops whoever reads a state that is no more.
  @inline(__always)
  func checkCurrent() {
    if let reads {
      precondition(
        reads.edition == edition,
        "an index reader of a transaction was used after the transaction's next write or end")
    }
  }

  /// Calls `body` with the entries of a tree at these positions, until it returns false. A read section
  /// is as long as some hundred entries, so that whoever goes through many does not keep memory from
  /// being given back.
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

  /// The commit that deleted a row that is not there; 0 if none did, or nobody remembers. Inside a
  /// read section.
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

  /// The commit a tag names.
  func tag(_ name: String) throws(TreeRingError) -> CommitNumber? {
    try catalogInteger(CatalogKey.tag, name.utf8)
  }

  /// The commit written under an idempotency key.
  func commit(idempotencyKey key: [UInt8]) throws(TreeRingError) -> CommitNumber? {
    try catalogInteger(CatalogKey.idempotencyKey, key)
  }

  private func catalogInteger(
    _ kind: UInt8, _ name: some Sequence<UInt8>
  ) throws(TreeRingError) -> CommitNumber? {
    let tree = Tree(roots.catalog, pages: pages)
    let key = CatalogKey.of(kind, name)
    return try read {
      guard let bytes = key.withUnsafeBytes({ tree.value(of: $0) }) else { return nil }
      var reader = ByteReader(bytes)
      return try reader.integer()
    }
  }

  /// Every tag, in name order.
  func tags() throws(TreeRingError) -> [Tag] {
    let tree = Tree(roots.catalog, pages: pages)
    var tags: [Tag] = []
    try read {
      try [CatalogKey.tag].withUnsafeBytes { lower in
        try [CatalogKey.tag + 1].withUnsafeBytes { upper in
          try tree.forEach(from: lower, to: upper) { key, value in
            var reader = ByteReader(value)
            let name = String(decoding: key[1...], as: UTF8.self)
            tags.append(Tag(name: name, commit: try reader.integer()))
            return true
          }
        }
      }
    }
    return tags
  }
}

/// Who reads the pages that a transaction may edit in place. Unchecked, because only the thread that
/// runs the transaction uses it.
final class TransactionReads: @unchecked Sendable {
  /// Reading calls that have not returned.
  var depth = 0
  /// Raised by every write, and by the transaction's end.
  var edition = 0
}

/// A row with its bytes, as it was at some commit.
public struct StoredRow: Hashable, Sendable {
  /// The bucket it is in.
  public let bucket: String
  /// Its key.
  public let key: Key
  /// The object's bytes.
  public let object: [UInt8]
  /// The metadata's bytes, if there is metadata.
  public let metadata: [UInt8]?
  /// The commit that last wrote it.
  public let written: CommitNumber
  /// The commit that made it.
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
}

/// A name for a commit.
public struct Tag: Hashable, Sendable {
  /// The name.
  public let name: String
  /// The commit that it names.
  public let commit: CommitNumber
}

extension Bucket {
  /// A stored row of this bucket, decoded.
  ///
  ///     let titles = try index.rows(in: "sci-fi").map { try books.decode($0).title }
  ///
  /// - Throws: what the bucket's coder throws.
  public func decode(_ row: StoredRow) throws -> Row {
    try row.object.withUnsafeBytes { try coder.decode($0, row.coder) }
  }
}
