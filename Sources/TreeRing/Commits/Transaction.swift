// A commit under construction. A transaction reads its own writes. Nobody else sees them before the
// commit, and nothing of them remains if the closure throws.

public import TreeRingLog

/// A commit under construction, passed to the closure of `Store.write`. It is valid only inside
/// that closure.
public final class Transaction: Readable, ReadableState {
  /// The number that the commit will have.
  public var commit: CommitNumber { number }
  @exclusivity(unchecked) private var number: CommitNumber
  /// The date for the commit. Nil stands for the clock's date, or for the newest commit's if the
  /// clock is behind that; or for one just before many rows that expire during the write. The write
  /// throws `dateRefused` for a date earlier than the newest commit's, or more than a minute ahead
  /// of the clock, unless ``timestampAllowance`` allows it.
  @exclusivity(unchecked) public var timestamp: Timestamp?
  /// The kinds of otherwise refused dates that are allowed; none at first.
  @exclusivity(unchecked) public var timestampAllowance: TimestampAllowance = []
  /// A remark for people.
  public var note: String? {
    get { notes.note }
    set { notes.note = newValue }
  }
  /// JSON for programs, stored verbatim.
  public var annotation: [UInt8]? {
    get { notes.annotation }
    set { notes.annotation = newValue }
  }
  /// Names for this commit.
  public var tags: [String] {
    get { notes.tags }
    set { notes.tags = newValue }
  }
  /// A key of your own for this write. A second write under the same key writes nothing and
  /// returns the first commit's number, which settles an `unknown` outcome.
  ///
  ///     try store.write { tx in
  ///       tx.idempotencyKey = Array("order 17".utf8)
  ///       try tx.put(mobyDick, for: "moby", in: books)
  ///     }
  public var idempotencyKey: [UInt8]? {
    get { notes.idempotencyKey }
    set { notes.idempotencyKey = newValue }
  }

  // The properties that every commit uses are not checked for exclusive access at run time: one
  // thread uses them, and none but those of trivial types is passed `inout` while code of the
  // caller runs.
  let editor: StateEditor
  /// The content of the commit besides its operations.
  @exclusivity(unchecked) var notes = CommitNotes()
  @exclusivity(unchecked) var payload: PayloadWriter
  @exclusivity(unchecked) private(set) var pending: PendingValues
  /// For a copy of another log's commit: the parts of that commit that are used unchanged.
  @exclusivity(unchecked) var adopted: AdoptedCommit?
  @exclusivity(unchecked) private var isOpen = true
  /// The error that ended an operation half-way. With one, the commit fails.
  @exclusivity(unchecked) var failure: TreeRingError?
  /// True if a commit without a given date gets that of the newest one, or one before any data.
  /// Used by commits without data, whose dates must not limit the dates of data.
  @exclusivity(unchecked) var takesDateOfNewest = false
  /// True if the commit deletes expired rows itself, and possibly leaves others that are due.
  @exclusivity(unchecked) var isSweep = false
  /// True if an empty commit is written too.
  @exclusivity(unchecked) package var keepsEmptyCommit = false
  /// The commits before the horizon whose states are in the log although possibly no tag names them
  /// yet.
  @exclusivity(unchecked) package var baseCommits: Set<CommitNumber> = []
  @exclusivity(unchecked) private var cachedReader: StateReader?
  /// The reads of pages that this transaction may edit; nil before the first.
  @exclusivity(unchecked) private var reads: TransactionReads?
  /// The number of edits so far.
  @exclusivity(unchecked) private(set) var editCount: UInt = 0
  /// The bucket of the last write, because the next one usually concerns the same bucket.
  @exclusivity(unchecked) private var lastBucket: BucketReference?

  /// The store's horizon; it moves only between two transactions.
  @exclusivity(unchecked) private(set) var horizon: CommitNumber

  /// - Parameter memory: An array whose memory the payload takes over.
  init(
    editor: StateEditor, commit: CommitNumber, pending: PendingValues, horizon: CommitNumber,
    memory: consuming [UInt8]
  ) {
    self.horizon = horizon
    self.editor = editor
    number = commit
    self.pending = pending
    payload = PayloadWriter(commit: commit, memory: memory, compresses: true)
  }

  /// Ends the transaction: every later use of it throws. Releases what it has collected.
  func end() {
    isOpen = false
    reads?.edition += 1
    (adopted, cachedReader, reads) = (nil, nil, nil)
    if case .some = failure { failure = nil }
    if !notes.isBare { notes = CommitNotes() }
    if !baseCommits.isEmpty { baseCommits = [] }
    if pending.count > 0 { pending = PendingValues(commit: 0) }
    payload.end()
    editor.end()
  }

  /// Begins another commit in a transaction that has ended and to which nobody else refers.
  func begin(
    _ commit: CommitNumber, on base: Version, active: ActiveIndexes, horizon: CommitNumber,
    memory: inout [UInt8]
  ) {
    number = commit
    self.horizon = horizon
    pending.commit = commit
    if !editor.catalog.isSame(as: base.catalog) { lastBucket = nil }
    editor.begin(on: base, active: active, pending: pending)
    payload.begin(commit, memory: &memory)
    (timestamp, timestampAllowance) = (nil, [])
    (takesDateOfNewest, isSweep, keepsEmptyCommit) = (false, false, false)
    isOpen = true
  }

  private func check() throws(TreeRingError) {
    guard isOpen else {
      throw TreeRingError(
        .closed, "This transaction has ended. Use it inside the closure of `write` only.")
    }
  }

  // MARK: - Reading

  public var readSource: ReadSource { ReadSource(state: self) }

  /// Forgets the reader, because a name has changed.
  func forgetReader() { cachedReader = nil }

  var reader: StateReader {
    get throws(TreeRingError) {
      try check()
      if let cachedReader { return cachedReader }
      let reads = reads ?? TransactionReads()
      self.reads = reads
      let reader = StateReader(
        roots: editor.roots, catalog: editor.catalog, pages: editor.pages, values: editor.values,
        reads: reads)
      cachedReader = reader
      return reader
    }
  }

  var definitions: Catalog { editor.catalog }

  func index(_ name: String) throws(TreeRingError) -> IndexReader {
    let reader = try self.reader
    guard let record = editor.catalog.indexes[name] else {
      throw TreeRingError.noIndex(named: name, in: editor.catalog)
    }
    if record.isText { throw TextIndex.noGroups(name) }
    guard let roots = editor.roots.index(record.number) else {
      throw TreeRingError(
        .indexDefinedInCode,
        "The index \(name) is defined by a closure that this process has not registered. "
          + "Give its GroupIndex to `Store(at:indexes:)`.")
    }
    return IndexReader(
      name: name, state: reader, roots: roots, decimals: record.decimals,
      isByFields: record.isByFields, pin: nil)
  }

  func text(_ name: String) throws(TreeRingError) -> TextReader {
    let reader = try self.reader
    guard let record = editor.catalog.indexes[name], let roots = editor.roots.index(record.number)
    else { throw TreeRingError.noIndex(named: name, for: .words, in: editor.catalog) }
    return TextReader(
      definition: try record.textDefinition(), state: reader, roots: roots, pin: nil)
  }

  // MARK: - Writing rows

  /// Puts a row: replaces the object and the metadata; without metadata, the row has none
  /// afterwards.
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
  public func put(metadata: [UInt8], for key: Key, in bucket: some BucketName) throws {
    try metadata.withUnsafeBytes { metadata in
      try key.bytes.withUnsafeBytes {
        try putMetadata($0, in: bucket.bucketName, metadata: metadata)
      }
    }
  }

  /// Marks a row as changed without changing it: observers see the part `touched`.
  /// - Throws: `notFound` if there is no such row.
  public func touch(_ key: Key, in bucket: some BucketName) throws {
    try key.bytes.withUnsafeBytes { try touch($0, in: bucket.bucketName) }
  }

  /// Deletes a row.
  /// - Returns: `true` if the row existed.
  @discardableResult
  public func delete(_ key: Key, in bucket: some BucketName) throws -> Bool {
    try key.bytes.withUnsafeBytes { try delete($0, in: bucket.bucketName) }
  }

  // MARK: - Preconditions

  /// Refuses the commit unless the given commit was the last to write the row. With 0, refuses it
  /// unless the row is absent.
  ///
  ///     let seen = try store.snapshot().written("moby", in: books) ?? 0
  ///     try store.write { tx in
  ///       try tx.require("moby", in: books, lastWrittenAt: seen)
  ///       try tx.put(mobyDick, for: "moby", in: books)
  ///     }
  ///
  /// - Throws: `conflict`, whose `current` is the commit that last wrote the row; 0 if it is
  ///   absent.
  public func require(
    _ key: Key, in bucket: some BucketName, lastWrittenAt expected: CommitNumber
  ) throws(TreeRingError) {
    let current = try written(key, in: bucket) ?? 0
    guard current == expected else {
      throw TreeRingError(
        .conflict,
        "The row \(bucket.bucketName)/\(key) was last written at commit \(current), not "
          + "\(expected). Read it again, and repeat the write.", current: current)
    }
  }

  // MARK: - Raw writes

  package func put(
    _ key: UnsafeRawBufferPointer, in bucket: String, object: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer?, coder: UInt32 = 0
  ) throws(TreeRingError) {
    let bucket = try begin(key, in: bucket, values: object, metadata)
    if metadata == nil, editor.active.covering(bucket.name).isEmpty,
      Limits.isInline(byteCount: object.count, beside: 0, keyByteCount: key.count)
    {
      let stamp = payload.stamp
      let previous = try editor.putPlain(object, coder: coder, for: key, in: bucket, at: stamp)
      payload.append(put: object, coder: coder, for: key, in: bucket, previous: previous)
      return
    }
    let object = NewValue(object, beside: 0, keyByteCount: key.count)
    let inline = object.isLogged ? 0 : object.bytes.count
    let metadata = metadata.map { NewValue($0, beside: inline, keyByteCount: key.count) }
    try write(.put(coder: coder, object: object, metadata: metadata), of: key, in: bucket)
  }

  package func putObject(
    _ key: UnsafeRawBufferPointer, in bucket: String, object: UnsafeRawBufferPointer,
    coder: UInt32 = 0
  ) throws(TreeRingError) {
    let bucket = try begin(key, in: bucket, values: object, nil)
    let old = try editor.row(bucket: bucket.number, key: key)
    let object = NewValue(
      object, beside: old?.metadata?.inlineByteCount ?? 0, keyByteCount: key.count)
    try write(.object(coder: coder, object), of: key, in: bucket)
  }

  package func putMetadata(
    _ key: UnsafeRawBufferPointer, in bucket: String, metadata: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    let bucket = try begin(key, in: bucket, values: metadata, nil)
    let old = try editor.row(bucket: bucket.number, key: key)
    let metadata = NewValue(
      metadata, beside: old?.object.inlineByteCount ?? 0, keyByteCount: key.count)
    try write(.metadata(metadata), of: key, in: bucket)
  }

  package func touch(_ key: UnsafeRawBufferPointer, in bucket: String) throws(TreeRingError) {
    try write(.touch, of: key, in: try begin(key, in: bucket, values: nil, nil))
  }

  @discardableResult
  package func delete(_ key: UnsafeRawBufferPointer, in bucket: String) throws(TreeRingError)
    -> Bool
  {
    try beginEdit()
    try Limits.check(key: key)
    guard let number = editor.catalog.number(ofBucket: bucket) else { return false }
    return try write(.delete, of: key, in: BucketReference(number: number, name: bucket))
  }

  /// Prepares every write.
  func beginEdit() throws(TreeRingError) {
    try check()
    if let reads {
      guard reads.depth == 0 else {
        throw TreeRingError(
          .notAllowed,
          "A closure that was reading the transaction's rows wrote to it. Collect the changes, and "
            + "make them when the reading call has returned.")
      }
      reads.edition += 1
      cachedReader = nil
    }
    try noteEdit()
  }

  /// Counts an edit, and writes some pages early if there are too many. Called between two edits,
  /// while no pointer into pages is held.
  func noteEdit() throws(TreeRingError) {
    editCount &+= 1
    if editCount & 63 == 0 { try editor.spill?(editor.editor) }
  }

  /// Checks the limits and returns the bucket with its number, a new number if the bucket is new.
  func begin(
    _ key: UnsafeRawBufferPointer, in bucket: String, values first: UnsafeRawBufferPointer?,
    _ second: UnsafeRawBufferPointer?
  ) throws(TreeRingError) -> BucketReference {
    try beginEdit()
    try Limits.check(key: key)
    if let first { try Limits.check(value: first) }
    if let second { try Limits.check(value: second) }
    if let lastBucket, lastBucket.name.isSameName(as: bucket) { return lastBucket }
    if let number = editor.catalog.number(ofBucket: bucket) {
      let reference = BucketReference(number: number, name: bucket)
      lastBucket = reference
      return reference
    }
    try Limits.check(name: bucket, of: "bucket")
    return BucketReference(number: editor.catalog.nextBucketNumber, name: bucket)
  }

  /// Applies and logs a change.
  /// - Returns: whether it changed anything.
  @discardableResult
  private func write(
    _ change: RowChange<NewValue>, of key: UnsafeRawBufferPointer, in bucket: BucketReference
  ) throws(TreeRingError) -> Bool {
    let stamp = payload.stamp
    let mark = pending.count
    let (_, object, metadata) = change.written
    if let object, object.isLogged { pending.append(.object, object, of: stamp) }
    if let metadata, metadata.isLogged { pending.append(.metadata, metadata, of: stamp) }
    let stored = change.stored(by: stamp)
    do throws(TreeRingError) {
      guard let previous = try editor.apply(stored, in: bucket, key: key, at: stamp) else {
        return false
      }
      payload.append(RowAddress(bucket: bucket, key: key, previous: previous), stored)
      return true
    } catch {
      pending.truncate(to: mark)
      throw error
    }
  }

  /// Takes the payload of the finished transaction.
  func takePayload() -> [UInt8] {
    // No copy of bare notes, as most commits have: it would take 630 instructions, as ten locks do.
    payload.takePayload(notes: notes.isBare ? nil : notes)
  }

  /// The stamp that the next operation gets.
  package var nextStamp: Stamp { payload.stamp }

  var pendingValues: [LoggedValue] { pending.all }
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
