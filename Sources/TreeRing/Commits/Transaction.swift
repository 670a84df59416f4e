// One commit in the making. A transaction reads its own writes; nothing of it is seen by others
// before it is committed, and nothing remains of it if its closure throws.

public import TreeRingLog

/// One commit in the making, as the closure of `Store.write` gets it. It is good inside that closure
/// only.
public final class Transaction: Readable {
  /// The number the commit will have.
  public let commit: CommitNumber
  /// When the commit is made; nil for now. Never earlier than the commit before: it is clamped.
  public var timestamp: Timestamp?
  /// A remark for people.
  public var note: String?
  /// JSON for programs, stored verbatim.
  public var annotation: [UInt8]?
  /// Names for this commit.
  public var tags: [String] = []
  /// A key of your own for this commit. Writing again under the same key writes nothing and returns
  /// the first commit's number, which settles an `unknown` outcome.
  public var idempotencyKey: [UInt8]?

  let editor: StateEditor
  var payload: PayloadWriter
  let pending: PendingValues
  /// The payload of another log's commit that this one takes over as it is, and its operations.
  var adopted: (payload: [UInt8], operationCount: UInt32)?
  private var isOpen = true
  /// Whether an empty commit is written too.
  package var keepsEmptyCommit = false
  /// Commits before the horizon whose states are in the log though no tag may say so yet.
  package var baseCommits: Set<CommitNumber> = []
  private var cachedReader: StateReader?
  /// Who reads what this transaction may edit.
  private let reads = TransactionReads()
  private var edits: UInt = 0
  /// The known bucket written to last: most edits go to it again.
  private var lastBucket: BucketReference?

  /// The store's horizon; it moves only between two transactions.
  private let horizon: CommitNumber

  init(
    editor: StateEditor, commit: CommitNumber, pending: PendingValues, horizon: CommitNumber = 0
  ) {
    self.horizon = horizon
    self.editor = editor
    self.commit = commit
    self.pending = pending
    payload = PayloadWriter(commit: commit)
  }

  /// Ends the transaction: whoever kept it gets an error from now on.
  func end() {
    isOpen = false
    reads.edition += 1
  }

  private func check() throws(TreeRingError) {
    guard isOpen else {
      throw TreeRingError(
        .closed, "This transaction has ended. Use it inside the closure of `write` only.")
    }
  }

  // MARK: - Reading

  public var _reader: StateReader {
    get throws(TreeRingError) {
      try check()
      if let cachedReader { return cachedReader }
      let reader = StateReader(
        roots: editor.roots, catalog: editor.catalog, pages: editor.pages, values: editor.values,
        reads: reads)
      cachedReader = reader
      return reader
    }
  }

  public func index(_ name: String) throws(TreeRingError) -> IndexReader {
    let reader = try _reader
    guard let record = editor.catalog.indexes[name] else {
      throw TreeRingError(.notFound, "There is no index named \(name).")
    }
    guard let roots = editor.roots.index(record.number) else {
      throw TreeRingError(
        .indexDefinedInCode,
        "The index \(name) is defined by a closure that this process has not registered. "
          + "Give its GroupIndex to `Store(at:indexes:)`.")
    }
    return IndexReader(name: name, state: reader, roots: roots, pin: nil)
  }

  // MARK: - Writing rows

  /// Puts a row: replaces the object, and the metadata too (none given: none from now on).
  public func put<Row>(
    _ row: Row, metadata: [UInt8]? = nil, for key: Key, in bucket: Bucket<Row>
  ) throws {
    let object = try bucket.coder.encode(row)
    try object.withUnsafeBytes { object in
      try key.bytes.withUnsafeBytes { key in
        try withOptionalBytes(metadata) { metadata in
          try put(
            key, in: bucket.name, object: object, metadata: metadata, coder: bucket.coder.version)
        }
      }
    }
  }

  /// Puts a row's object and keeps its metadata.
  public func put<Row>(object row: Row, for key: Key, in bucket: Bucket<Row>) throws {
    let object = try bucket.coder.encode(row)
    try object.withUnsafeBytes { object in
      try key.bytes.withUnsafeBytes { key in
        try putObject(key, in: bucket.name, object: object, coder: bucket.coder.version)
      }
    }
  }

  /// Sets a row's metadata and keeps its object.
  /// - Throws: `notFound` if there is no such row.
  public func put(metadata: [UInt8], for key: Key, in bucket: String) throws {
    try metadata.withUnsafeBytes { metadata in
      try key.bytes.withUnsafeBytes { try putMetadata($0, in: bucket, metadata: metadata) }
    }
  }

  /// Marks a row as changed without changing it: observers see the part `touched`.
  /// - Throws: `notFound` if there is no such row.
  public func touch(_ key: Key, in bucket: String) throws {
    try key.bytes.withUnsafeBytes { try touch($0, in: bucket) }
  }

  /// Deletes a row.
  /// - Returns: whether there was one.
  @discardableResult
  public func delete(_ key: Key, in bucket: String) throws -> Bool {
    try key.bytes.withUnsafeBytes { try delete($0, in: bucket) }
  }

  /// Deletes the rows of a bucket with `lower` ≤ key < `upper`; nil is no bound, so without bounds
  /// the whole bucket.
  /// - Returns: how many there were. O(rows deleted · log n).
  @discardableResult
  public func deleteAll(
    in bucket: String, from lower: Key? = nil, to upper: Key? = nil
  ) throws(TreeRingError) -> Int {
    try beginEdit()
    guard let number = editor.catalog.buckets[bucket] else { return 0 }
    var keys: [[UInt8]] = []
    let positions = RowKey.positions(in: editor.rows, bucket: number, from: lower, to: upper)
    editor.rows.forEach(in: positions) { key, _ in
      keys.append(Array(RowKey.key(of: key)))
      return true
    }
    if keys.isEmpty { return 0 }
    let stamp = Stamp(commit: commit, operation: payload.next)
    let bucket = BucketReference(number: number, name: bucket)
    var rows: [(key: [UInt8], previous: CommitNumber)] = []
    for key in keys {
      let previous = try typed {
        try key.withUnsafeBytes { try editor.apply(.delete, in: bucket, key: $0, at: stamp) }
      }
      rows.append((key, previous ?? 0))
    }
    payload.deleteRange(bucket, rows: rows)
    return keys.count
  }

  // MARK: - Preconditions

  /// Refuses the commit unless a row was last written by the commit given; 0: unless it is absent.
  /// - Throws: `conflict`, whose `current` is the commit that last wrote the row, 0 if it is absent.
  public func require(
    _ key: Key, in bucket: String, lastWrittenAt expected: CommitNumber
  ) throws(TreeRingError) {
    let current = try written(key, in: bucket) ?? 0
    guard current == expected else {
      throw TreeRingError(
        .conflict,
        "The row \(bucket)/\(key) was last written at commit \(current), not \(expected). "
          + "Read it again and decide anew.", current: current)
    }
  }

  // MARK: - Names of commits

  /// Names an earlier commit, or moves a name to it.
  /// - Throws: `notFound` if there is no such commit; `beyondHorizon` if it can no longer be read.
  public func tag(_ name: String, commit tagged: CommitNumber) throws(TreeRingError) {
    try beginEdit()
    try Limits.check(name: name, of: "tag")
    guard tagged >= 1, tagged <= commit else {
      throw TreeRingError(
        .notFound, "There is no commit \(tagged) to name; the newest is \(commit - 1).")
    }
    if tagged < horizon, !baseCommits.contains(tagged),
      try !_reader.tags().contains(where: { $0.commit == tagged })
    {
      throw TreeRingError.beyond(horizon, commit: tagged)
    }
    editor.setTag(name, commit: tagged)
    payload.tag(name: name, commit: tagged)
  }

  /// Takes a name away.
  /// - Throws: `notFound` if there is no such tag.
  public func removeTag(_ name: String) throws(TreeRingError) {
    try beginEdit()
    guard try _reader.tag(name) != nil else {
      throw TreeRingError(.notFound, "There is no tag named \(name).")
    }
    editor.setTag(name, commit: 0)
    payload.tag(name: name, commit: 0)
    cachedReader = nil
  }

  // MARK: - Raw writes

  package func put(
    _ key: UnsafeRawBufferPointer, in bucket: String, object: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer?, coder: UInt32 = 0
  ) throws(TreeRingError) {
    let bucket = try begin(key, in: bucket, values: object, metadata)
    let object = NewValue(object, beside: 0, keyByteCount: key.count)
    let inline = object.isLogged ? 0 : object.bytes.count
    let metadata = metadata.map { NewValue($0, beside: inline, keyByteCount: key.count) }
    let stamp = Stamp(commit: commit, operation: payload.next)
    let change = RowChange.put(
      object: object.stored(by: stamp), metadata: metadata?.stored(by: stamp), coder: coder)
    guard let previous = try apply(change, bucket, key, stamp, object, metadata) else { return }
    payload.put(
      RowAddress(bucket: bucket, key: key, previous: previous), coder: coder, object: object,
      metadata: metadata)
  }

  package func putObject(
    _ key: UnsafeRawBufferPointer, in bucket: String, object: UnsafeRawBufferPointer,
    coder: UInt32 = 0
  ) throws(TreeRingError) {
    let bucket = try begin(key, in: bucket, values: object, nil)
    let old = try editor.row(bucket: bucket.number, key: key)
    let object = NewValue(
      object, beside: old?.metadata?.inlineByteCount ?? 0, keyByteCount: key.count)
    let stamp = Stamp(commit: commit, operation: payload.next)
    let change = RowChange.object(object.stored(by: stamp), coder: coder)
    guard let previous = try apply(change, bucket, key, stamp, object, nil) else { return }
    payload.object(
      RowAddress(bucket: bucket, key: key, previous: previous), coder: coder, object: object)
  }

  package func putMetadata(
    _ key: UnsafeRawBufferPointer, in bucket: String, metadata: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    let bucket = try begin(key, in: bucket, values: metadata, nil)
    let old = try editor.row(bucket: bucket.number, key: key)
    let metadata = NewValue(
      metadata, beside: old?.object.inlineByteCount ?? 0, keyByteCount: key.count)
    let stamp = Stamp(commit: commit, operation: payload.next)
    let change = RowChange.metadata(metadata.stored(by: stamp))
    guard let previous = try apply(change, bucket, key, stamp, nil, metadata) else { return }
    payload.metadata(
      RowAddress(bucket: bucket, key: key, previous: previous), metadata: metadata)
  }

  package func touch(_ key: UnsafeRawBufferPointer, in bucket: String) throws(TreeRingError) {
    let bucket = try begin(key, in: bucket, values: nil, nil)
    let stamp = Stamp(commit: commit, operation: payload.next)
    guard let previous = try apply(.touch, bucket, key, stamp, nil, nil) else { return }
    payload.touch(RowAddress(bucket: bucket, key: key, previous: previous))
  }

  @discardableResult
  package func delete(_ key: UnsafeRawBufferPointer, in bucket: String) throws(TreeRingError)
    -> Bool
  {
    try beginEdit()
    try Limits.check(key: key)
    guard let number = editor.catalog.buckets[bucket] else { return false }
    let bucket = BucketReference(number: number, name: bucket)
    let stamp = Stamp(commit: commit, operation: payload.next)
    guard let previous = try apply(.delete, bucket, key, stamp, nil, nil) else { return false }
    payload.delete(RowAddress(bucket: bucket, key: key, previous: previous))
    return true
  }

  /// What comes before every write.
  func beginEdit() throws(TreeRingError) {
    try check()
    guard reads.depth == 0 else {
      throw TreeRingError(
        .notAllowed,
        "The transaction was written to inside a closure that was reading its rows. Collect what "
          + "is to be written, and write it when the reading call has returned.")
    }
    reads.edition += 1
    cachedReader = nil
    edits &+= 1
    if edits & 63 == 0 { try editor.spill?(editor.editor) }
  }

  /// Checks limits and finds the bucket's number, giving it one if it is new.
  private func begin(
    _ key: UnsafeRawBufferPointer, in bucket: String, values first: UnsafeRawBufferPointer?,
    _ second: UnsafeRawBufferPointer?
  ) throws(TreeRingError) -> BucketReference {
    try beginEdit()
    try Limits.check(key: key)
    if let first { try Limits.check(value: first) }
    if let second { try Limits.check(value: second) }
    if let lastBucket, lastBucket.name == bucket { return lastBucket }
    if let number = editor.catalog.buckets[bucket] {
      let reference = BucketReference(number: number, name: bucket)
      lastBucket = reference
      return reference
    }
    try Limits.check(name: bucket, of: "bucket")
    return BucketReference(number: editor.catalog.nextBucketNumber, name: bucket)
  }

  private func apply(
    _ change: RowChange, _ bucket: BucketReference, _ key: UnsafeRawBufferPointer,
    _ stamp: Stamp, _ object: NewValue?, _ metadata: NewValue?
  ) throws(TreeRingError) -> CommitNumber? {
    let mark = pending.count
    if let object, object.isLogged { pending.append(.object, object, of: stamp) }
    if let metadata, metadata.isLogged { pending.append(.metadata, metadata, of: stamp) }
    do throws(TreeRingError) {
      return try editor.apply(change, in: bucket, key: key, at: stamp)
    } catch {
      pending.truncate(to: mark)
      throw error
    }
  }

  var pendingValues: [LoggedValue] { pending.all }

  /// Everything the commit carries beside its operations.
  var notes: CommitNotes {
    var notes = CommitNotes()
    notes.note = note
    notes.annotation = annotation
    notes.idempotencyKey = idempotencyKey
    notes.tags = tags
    return notes
  }
}

@available(*, unavailable)
extension Transaction: Sendable {}

/// Calls `body` with the bytes of an array that may be absent.
private func withOptionalBytes<R>(
  _ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws -> R
) rethrows -> R {
  guard let bytes else { return try body(nil) }
  return try bytes.withUnsafeBytes { try body($0) }
}
