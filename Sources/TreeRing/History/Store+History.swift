// Reads of the commits themselves: the operations of a commit, every version of a row, the feed of
// commits.

public import TreeRingLog

extension Store {
  /// Returns the properties of a commit. O(size of the commit).
  /// - Throws: `notFound` if there is no such visible commit; `beyondHorizon` if history no longer
  ///   reaches back to it.
  public func commit(_ number: CommitNumber) throws(TreeRingError) -> CommitInfo {
    try readWhole(number, unless: checkReadable) { (header, reader) throws(TreeRingError) in
      info(header, reader.notes)
    }
  }

  /// Returns the properties and the operations of a commit.
  /// - Throws: `beyondHorizon` for a commit up to the horizon, because compaction may have removed
  ///   some of its operations.
  package func operations(
    of number: CommitNumber
  ) throws(TreeRingError) -> (info: CommitInfo, operations: [CommitOperation]) {
    try readWhole(number, unless: checkOperations) { (header, reader) throws(TreeRingError) in
      var operations: [CommitOperation] = []
      while let operation = try reader.next() {
        try append(operation, to: &operations)
      }
      return (info(header, reader.notes), operations)
    }
  }

  /// Throws `beyondHorizon` unless all operations of the commit are known.
  private func checkOperations(of number: CommitNumber) throws(TreeRingError) {
    let horizon = horizon
    if number > horizon || number == 0 { return }
    try checkReadable(number)
    throw TreeRingError(
      .beyondHorizon,
      "Compaction removed operations of commit \(number), because the horizon is \(horizon). Its "
        + "state can be read.", commit: number, current: horizon)
  }

  /// Returns every version of a row that history reaches back to, newest first. The last one may be
  /// the row as of the horizon. O(versions · size of their commits), because each version states
  /// the one before it.
  /// `Bucket.decode` decodes each version.
  public func history(
    of key: some KeyConvertible, in bucket: some BucketName
  ) throws(TreeRingError) -> [RowVersion] {
    try historyPage(of: Key(key), in: bucket, limit: .max, byteLimit: .max).versions
  }

  /// Returns a page of a row's history, newest first. The versions of one commit stay together.
  ///
  /// - Parameters:
  ///   - first: The newest commit of the page; nil for the newest one of all. If it wrote the row,
  ///     as the next page's did, O(versions of the page · size of their commits); otherwise the
  ///     versions after it are read too.
  ///   - limit: The versions from which the page takes no further commit.
  ///   - byteLimit: The bytes of objects and metadata from which it takes none.
  /// - Returns: The versions, and the commit of the next page; nil after the last version. A page
  ///   after the horizon's may be empty.
  package func historyPage(
    of key: Key, in bucket: some BucketName, from first: CommitNumber? = nil, limit: Int,
    byteLimit: Int
  ) throws(TreeRingError) -> (versions: [RowVersion], next: CommitNumber?) {
    let bucket = bucket.bucketName
    var versions: [RowVersion] = []
    var byteCount = 0
    var next = try start(of: key, in: bucket, from: first)
    while next > 0 {
      if versions.count >= limit || byteCount >= byteLimit { return (versions, next) }
      let commit = next
      var found: [RowVersion] = []
      do throws(TreeRingError) {
        (found, next) = try self.versions(of: key, in: bucket, at: commit)
      } catch  where error.code == .beyondHorizon {
        // Compaction has removed the commit.
        next = 0
      }
      if commit > first ?? .max { found = [] }
      // Check now: the horizon may have passed the commit before the read.
      if commit <= horizon {
        // Compaction drops a delete up to the horizon, and every version before the last write; so
        // the walk ends here. If a commit wrote the row twice, the later operation names that same
        // commit as the previous one.
        if let last = found.last, last.kind != .delete { versions.append(last) }
        break
      }
      guard next < commit else { throw ByteReader.damaged }
      versions.append(contentsOf: found.reversed())
      byteCount += found.reduce(0) { $0 + ($1.object?.count ?? 0) + ($1.metadata?.count ?? 0) }
    }
    return (versions, nil)
  }

  /// The commit at which a walk through a row's versions begins; 0 if there never was a row.
  private func start(
    of key: Key, in bucket: String, from first: CommitNumber?
  ) throws(TreeRingError) -> CommitNumber {
    // Up to the horizon, only the walk itself leads to the version that is left.
    if let first, first > horizon, first <= newestCommit,
      !(try versions(of: key, in: bucket, at: first).versions.isEmpty)
    {
      return first
    }
    return try lastWritten(key, in: bucket)
  }

  /// The versions of a row in one commit, in order, and the commit of the version before them.
  private func versions(
    of key: Key, in bucket: String, at commit: CommitNumber
  ) throws(TreeRingError) -> (versions: [RowVersion], previous: CommitNumber) {
    try read(commit) { (header, reader) throws(TreeRingError) in
      var (versions, first): ([RowVersion], CommitNumber?) = ([], nil)
      while let operation = try reader.next() {
        let change = operation.change(of: key.bytes) { $0.name.isSameName(as: bucket) }
        guard let (change, previous) = change else { continue }
        first = first ?? previous
        versions.append(RowVersion(header, try change.map(bytes)))
      }
      return (versions, first ?? 0)
    }
  }

  /// The commits in order, beginning with `first`: those in the log, then each new one as it
  /// becomes visible. The feed ends when the task is cancelled. It throws `closed` when the store
  /// is closed, and `beyondHorizon` when history no longer reaches back to its position.
  ///
  /// - Parameter first: the first commit of the feed; nil for the oldest readable one.
  public func commits(from first: CommitNumber? = nil) -> CommitFeed {
    CommitFeed(store: self, next: max(first ?? horizon, 1))
  }

  // MARK: - Parts

  /// Reads a commit that compaction may be rewriting. The checks before and after the read keep the
  /// remains of a commit from being taken for the whole. A follower may find out by the read alone
  /// that the writer has moved the horizon.
  private func readWhole<R>(
    _ number: CommitNumber, unless refusal: (CommitNumber) throws(TreeRingError) -> Void,
    _ body: (CommitHeader, inout PayloadReader) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    try refusal(number)
    let found = Result { () throws(TreeRingError) in try read(number, body) }
    try refusal(number)
    return try found.get()
  }

  private func read<R>(
    _ number: CommitNumber,
    _ body: (CommitHeader, inout PayloadReader) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    try checkOpen()
    guard number >= 1, number <= newestCommit else {
      throw TreeRingError(
        .notFound, "There is no commit \(number); the newest is \(newestCommit).", commit: number)
    }
    return try log.readPayload(of: number) { (header, payload) throws(TreeRingError) in
      var reader = try PayloadReader(payload, commit: number)
      return try body(header, &reader)
    }
  }

  private func info(_ header: CommitHeader, _ notes: CommitNotes) -> CommitInfo {
    CommitInfo(
      number: header.number, timestamp: header.timestamp,
      operationCount: Int(header.operationCount), byteCount: Int(header.storedByteCount),
      note: notes.note, annotation: notes.annotation, tags: notes.tags)
  }

  /// The visible commit that last wrote or deleted a row; 0 if there is none.
  private func lastWritten(_ key: Key, in bucket: String) throws(TreeRingError) -> CommitNumber {
    try checkOpen()
    let reader = reader(of: queue.visible)
    guard let number = reader.catalog.number(ofBucket: bucket) else { return 0 }
    return try reader.read {
      try key.bytes.withUnsafeBytes { try reader.lastWritten(bucket: number, key: $0) }
    }
  }

  private func bytes(_ value: StoredValue, _ part: ValuePart) throws(TreeRingError) -> [UInt8] {
    try ValueSource(log: log).bytes(of: value, part: part)
  }

  private func append(
    _ operation: Operation, to operations: inout [CommitOperation]
  ) throws(TreeRingError) {
    switch operation {
    case .row, .deleteRange:
      try operation.forEachChange { (row, change) throws(TreeRingError) in
        operations.append(.row(RowID(row), try change.map(bytes)))
      }
    case .tag(let name, let commit): operations.append(.tag(name: name, commit: commit))
    case .index(let record):
      operations.append(
        .index(name: record.name, version: record.version, record.definition))
    case .place(let place, let row, let label):
      operations.append(.place(place, RowID(row), label: Array(label)))
    case .stub, .held: break
    }
  }
}

extension RowID {
  /// Creates the id of the row that an operation writes.
  init(_ row: RowAddress) { self.init(bucket: row.bucket.name, key: Key(bytes: row.key)) }
}
