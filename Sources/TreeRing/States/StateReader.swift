// Reads the rows of one state of the trees: of a snapshot, or of a transaction between two writes.

internal import TreeRingLog

// Sendable: its properties are constants of Sendable types, and so are those of its subclass. The
// compiler checks that for final classes without a superclass alone.
class StateReader: @unchecked Sendable {
  let rows: Tree
  let roots: Roots
  let catalog: Catalog
  let values: ValueSource
  /// The version that it reads, whose pages may be freed as soon as nobody holds it; nil if `life`
  /// or a transaction keeps them.
  private let version: Version?
  /// For a snapshot: the validity of its pin.
  let life: PinLife?
  /// For a transaction: the counts of reads under way and of writes.
  private let reads: TransactionReads?
  private let edition: Int

  init(
    roots: Roots, catalog: Catalog, pages: PageStore, values: ValueSource,
    version: Version? = nil, life: PinLife? = nil, reads: TransactionReads? = nil
  ) {
    self.version = version
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
  /// caller may run inside. A transaction refuses to edit its pages until `body` returns.
  @inline(__always)
  func reading<R>(_ body: () throws -> R) throws -> R {
    // Optimised code may release a reader as soon as it has its trees.
    defer { withExtendedLifetime(self) {} }
    guard let reads else {
      return try rows.pages.reading {
        // Inside the section, because pages are freed once the earlier sections have ended. A
        // constant for the life would count a reference to it while the section runs.
        try life?.check()
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
      // Set by closures that do not escape: a local function would check each access at run time.
      var goesOn = true
      try reading {
        if reversed {
          try tree.forEachBackward(in: part.startIndex..<part.endIndex) { key, value in
            goesOn = try body(key, value)
            return goesOn
          }
        } else {
          try tree.forEach(in: part.startIndex..<part.endIndex) { key, value in
            goesOn = try body(key, value)
            return goesOn
          }
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
    guard let bytes = RowTreeKey.with(bucket: bucket, key: key, { rows.value(of: $0) }) else {
      return nil
    }
    return try RowRecord(bytes)
  }

  /// The commit that deleted a row; 0 if none did, or its tombstone is gone. Inside a read section.
  func tombstone(bucket: UInt32, key: UnsafeRawBufferPointer) throws(TreeRingError) -> CommitNumber
  {
    try roots.tombstone(bucket: bucket, key: key, pages: pages)
  }

  /// The commit that last wrote or deleted a row; 0 if none is known. Inside a read section.
  func lastWritten(
    bucket: UInt32, key: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> CommitNumber {
    if let record = try record(bucket: bucket, key: key) { return record.written.commit }
    return try tombstone(bucket: bucket, key: key)
  }

  /// The number of a bucket; nil if there is none of that name. Not inlined: the caller would count
  /// a reference to the catalog.
  @inline(never)
  func number(ofBucket name: String) -> UInt32? { catalog.number(ofBucket: name) }

  /// The record of a row named by bucket and key, in place. Inside a read section.
  @inline(__always)
  func record(bucket name: String, key: Key) throws(TreeRingError) -> RowRecord? {
    guard let bucket = catalog.number(ofBucket: name) else { return nil }
    return try key.bytes.withUnsafeBytes { (key) throws(TreeRingError) in
      try record(bucket: bucket, key: key)
    }
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
  @exclusivity(unchecked) var depth = 0
  /// Incremented by every write, and by the transaction's end.
  @exclusivity(unchecked) var edition = 0
}
