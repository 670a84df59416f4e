// The reads that snapshots and transactions share.

public import TreeRingLog

/// A source of rows: a `Snapshot`, or a `Transaction` with its own writes. A type that wraps one of
/// them conforms by returning the source of the wrapped one.
public protocol Readable {
  /// The snapshot or transaction that all methods read.
  var readSource: ReadSource { get }
}

/// The snapshot or transaction behind a ``Readable``.
public struct ReadSource {
  let state: any ReadableState

  /// Calls `body` with an object, as `Readable.withObject` does.
  @usableFromInline
  func withObject(
    of key: Key, in bucket: String, _ body: (UnsafeRawBufferPointer, UInt32) throws -> Void
  ) throws {
    try state.withObject(of: key, in: bucket, body)
  }
}

/// A state with rows and indexes. A transaction's reader ends with its next write.
protocol ReadableState: AnyObject {
  var reader: StateReader { get throws(TreeRingError) }
  /// Calls `body` with an object, as `Readable.withObject` does. A requirement, so that a snapshot
  /// need not count a reference for the most frequent read.
  func withObject(
    of key: Key, in bucket: String, _ body: (UnsafeRawBufferPointer, UInt32) throws -> Void
  ) throws
  /// The catalog with the definitions by which indexes are read.
  var definitions: Catalog { get }
  func index(_ name: String) throws(TreeRingError) -> IndexReader
  /// A text index by name.
  func text(_ name: String) throws(TreeRingError) -> TextReader
}

extension ReadableState {
  func withObject(
    of key: Key, in bucket: String, _ body: (UnsafeRawBufferPointer, UInt32) throws -> Void
  ) throws {
    try reader.readObject(of: key, in: bucket, body)
  }
}

extension StateReader {
  /// Calls `body` with an object, as `Readable.withObject` does.
  @inline(__always)
  func readObject(
    of key: Key, in bucket: String, _ body: (UnsafeRawBufferPointer, UInt32) throws -> Void
  ) throws {
    try reading {
      guard let record = try record(bucket: bucket, key: key) else { return }
      try values.withBytes(of: record.object, part: .object) { try body($0, record.coder) }
    }
  }
}

extension Readable {
  @inline(__always)
  var reader: StateReader {
    get throws(TreeRingError) { try readSource.state.reader }
  }

  /// A group index by name. O(1); O(n log n) for the first reader of an index at a commit that did
  /// not maintain it.
  /// - Throws: `notFound` if no index of that name is in force; `indexDefinedInCode` if its closure
  ///   is not registered.
  public func index(_ name: String) throws(TreeRingError) -> IndexReader {
    try readSource.state.index(name)
  }

  /// A row; nil if there is none of that key. O(log n).
  @inlinable
  public func get<Row>(_ key: Key, in bucket: Bucket<Row>) throws -> Row? {
    try withObject(of: key, in: bucket.name) { bytes, coder in
      try bucket.coder.decode(bytes, coder)
    }
  }

  /// Several rows, in the order of the keys; nil where there is none. O(log n) each.
  @inlinable
  public func get<Row>(_ keys: [Key], in bucket: Bucket<Row>) throws -> [Row?] {
    try keys.map { try get($0, in: bucket) }
  }

  /// Calls `body` with the bytes of an object, without a copy, and the version of its coder;
  /// returns nil if there is no such row. The bytes are valid inside `body` only. O(log n). An
  /// object that lies in the log is copied.
  @inlinable
  public func withObject<R>(
    of key: Key, in bucket: some BucketName, _ body: (UnsafeRawBufferPointer, UInt32) throws -> R
  ) throws -> R? {
    // Inlinable, so that callers need not look up the metadata of their `R?` for each read.
    var result: R?
    try readSource.withObject(of: key, in: bucket.bucketName) { result = try body($0, $1) }
    return result
  }

  /// A row with its bytes; nil if there is none of that key. O(log n).
  public func row(_ key: Key, in bucket: some BucketName) throws(TreeRingError) -> StoredRow? {
    try reader.storedRow(bucket: bucket.bucketName, key: key)
  }

  /// A row's metadata; nil if it has none or there is no such row. O(log n).
  public func metadata(of key: Key, in bucket: some BucketName) throws(TreeRingError) -> [UInt8]? {
    let (reader, name) = (try self.reader, bucket.bucketName)
    return try reader.read {
      try reader.record(bucket: name, key: key)?.metadata.map {
        try reader.values.bytes(of: $0, part: .metadata)
      }
    }
  }

  /// Whether there is a row of that key. O(log n).
  public func contains(_ key: Key, in bucket: some BucketName) throws(TreeRingError) -> Bool {
    let (reader, name) = (try self.reader, bucket.bucketName)
    return try reader.read { try reader.record(bucket: name, key: key) != nil }
  }

  /// The commit that last wrote a row; nil if there is none of that key. O(log n).
  public func written(_ key: Key, in bucket: some BucketName) throws(TreeRingError) -> CommitNumber?
  {
    let (reader, name) = (try self.reader, bucket.bucketName)
    return try reader.read { try reader.record(bucket: name, key: key)?.written.commit }
  }

  /// The number of a bucket's rows with `lower` ≤ key < `upper`; nil is no bound. O(log n).
  public func count(
    in bucket: some BucketName, from lower: Key? = nil, to upper: Key? = nil
  ) throws(TreeRingError) -> Int {
    let reader = try self.reader
    guard let number = reader.catalog.number(ofBucket: bucket.bucketName) else { return 0 }
    return try reader.read {
      RowTreeKey.positions(in: reader.rows, bucket: number, from: lower, to: upper).count
    }
  }

  /// Calls `body` with every row of a bucket with `lower` ≤ key < `upper`, ascending by key or, if
  /// `reversed`, descending, until it returns false. O(log n + rows read).
  public func forEach<Row>(
    in bucket: Bucket<Row>, from lower: Key? = nil, to upper: Key? = nil, reversed: Bool = false,
    _ body: (Key, Row) throws -> Bool
  ) throws {
    let reader = try self.reader
    var keys = KeyBuffer()
    try forEachRecord(in: bucket.name, from: lower, to: upper, reversed: reversed) { key, record in
      let row = try reader.values.withBytes(of: record.object, part: .object) {
        try bucket.coder.decode($0, record.coder)
      }
      return try body(keys.copy(key), row)
    }
  }

  /// Calls `body` with every such row, as `forEach` does, with the rows' bytes undecoded.
  public func forEachRow(
    in bucket: some BucketName, from lower: Key? = nil, to upper: Key? = nil,
    reversed: Bool = false,
    _ body: (StoredRow) throws -> Bool
  ) throws {
    let (reader, name) = (try self.reader, bucket.bucketName)
    var keys = KeyBuffer()
    try forEachRecord(in: name, from: lower, to: upper, reversed: reversed) { key, record in
      try body(try reader.stored(record, key: keys.copy(key), bucket: name))
    }
  }

  /// The rows of a bucket with `lower` ≤ key < `upper`, in key order, at most `limit` of them.
  /// O(log n + rows read).
  public func rows<Row>(
    in bucket: Bucket<Row>, from lower: Key? = nil, to upper: Key? = nil, reversed: Bool = false,
    limit: Int = .max
  ) throws -> [(key: Key, row: Row)] {
    var rows: [(key: Key, row: Row)] = []
    if limit <= 0 { return rows }
    try forEach(in: bucket, from: lower, to: upper, reversed: reversed) { key, row in
      rows.append((key, row))
      return rows.count < limit
    }
    return rows
  }

  /// Every bucket that has held a row, in name order, with the number of rows it has now.
  public func buckets() throws(TreeRingError) -> [(name: String, rows: Int)] {
    let reader = try self.reader
    return try reader.read {
      reader.catalog.buckets.all.sorted { Key($0.name) < Key($1.name) }.map {
        ($0.name, RowTreeKey.positions(in: reader.rows, bucket: $0.number).count)
      }
    }
  }

  /// Every tag, in name order.
  public func tags() throws(TreeRingError) -> [Tag] { try reader.tags() }

  func forEachRecord(
    in bucket: String, from lower: Key?, to upper: Key?, reversed: Bool,
    _ body: (UnsafeRawBufferPointer, RowRecord) throws -> Bool
  ) throws {
    let reader = try self.reader
    guard let number = reader.catalog.number(ofBucket: bucket) else { return }
    let positions = try reader.reading {
      RowTreeKey.positions(in: reader.rows, bucket: number, from: lower, to: upper)
    }
    try reader.forEach(in: positions, of: reader.rows, reversed: reversed) { key, bytes in
      try body(RowTreeKey.key(of: key), try RowRecord(bytes))
    }
  }
}
