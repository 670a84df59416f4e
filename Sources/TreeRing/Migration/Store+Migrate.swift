// Rewrites the rows of earlier versions, in bounded commits.

public import TreeRingLog
internal import TreeRingPlatform

/// The state of a rewriting of old rows.
public struct MigrationProgress: Hashable, Sendable {
  /// The number of rows that this call has rewritten.
  public internal(set) var rewritten = 0
  /// The number of rows that this call has looked at.
  public internal(set) var scanned = 0
  /// The rows that could not be migrated, and the reasons: the first ten. They stay as they are.
  public internal(set) var failures: [MigrationFailure] = []
  /// Whether every row has been looked at, and none has failed.
  public internal(set) var isComplete = false
}

/// A row that could not be migrated.
public struct MigrationFailure: Hashable, Sendable {
  /// The row's key.
  public let key: Key
  /// The reason.
  public let reason: String
}

extension Store {
  /// Rewrites the rows of a bucket that are of earlier versions, so that reading them no longer
  /// takes migrations. Reads give the same before, during and after it.
  ///
  /// The rows of at most `batchCount` keys are one ordinary commit; between two commits, other
  /// writes run. It may stop after any commit, also by a crash: the next call continues there, and
  /// a call after the end does nothing. Rewritten rows count as written; observers see them as
  /// updated. Metadata stays.
  ///
  /// - Parameters:
  ///   - bucket: The bucket, with its version and migrations.
  ///   - batchCount: The most rows of a commit. A commit also ends after a megabyte of objects.
  ///   - durability: The durability of the commits; nil for the store's.
  ///   - progress: Called after each commit; return false to stop.
  /// - Returns: The work of this call.
  /// - Throws: `newerVersion` if the store has rows of a later version; the errors of `write`.
  @discardableResult
  public func migrate<Row>(
    _ bucket: Bucket<Row>, batchCount: Int = 256, durability: Durability? = nil,
    progress: (MigrationProgress) -> Bool = { _ in true }
  ) throws -> MigrationProgress {
    var done = MigrationProgress()
    var sweep = MigrationSweep(bucket, batchCount: max(1, batchCount))
    while !sweep.isOver {
      let batch = try write(durability: durability) { try sweep.batch(in: $0) }.value
      sweep.finish(batch)
      done.add(batch)
      if !progress(done) { break }
    }
    return done
  }

  /// Rewrites the rows of earlier versions without blocking the caller's thread. It stops after a
  /// commit when the task is cancelled.
  @discardableResult
  public func migrate<Row: Sendable>(
    _ bucket: Bucket<Row>, batchCount: Int = 256, durability: Durability? = nil
  ) async throws -> MigrationProgress {
    var done = MigrationProgress()
    var sweep = MigrationSweep(bucket, batchCount: max(1, batchCount))
    while !sweep.isOver, !Task.isCancelled {
      let batch = try await write(durability: durability) { [sweep] in
        try sweep.batch(in: $0)
      }.value
      sweep.finish(batch)
      done.add(batch)
    }
    return done
  }
}

extension MigrationProgress {
  fileprivate mutating func add(_ batch: MigrationBatch) {
    rewritten += batch.rewritten
    scanned += batch.scanned
    failures += batch.failures.prefix(max(0, 10 - failures.count))
    isComplete = batch.isComplete
  }
}

/// The work of one commit.
private struct MigrationBatch: Sendable {
  var rewritten = 0
  var scanned = 0
  var failures: [MigrationFailure] = []
  /// The first key that was not looked at; nil at the end of the bucket.
  var next: Key?
  /// Whether all rows are of the present version.
  var isComplete = false
}

/// A pass over a bucket.
private struct MigrationSweep<Row>: Sendable {
  private let bucket: Bucket<Row>
  private let batchCount: Int
  /// The first key to look at; nil before the first batch, which takes it from the store.
  private var next: Key?
  private var hasFailed = false
  private(set) var isOver = false

  init(_ bucket: Bucket<Row>, batchCount: Int) {
    self.bucket = bucket
    self.batchCount = batchCount
  }

  mutating func finish(_ batch: MigrationBatch) {
    next = batch.next
    hasFailed = hasFailed || !batch.failures.isEmpty
    isOver = batch.next == nil
  }

  /// Rewrites the next rows.
  func batch(in tx: Transaction) throws -> MigrationBatch {
    var batch = MigrationBatch()
    let version = bucket.version
    let stored = try tx.storedVersion(of: bucket.name)
    if let stored, stored.version > version {
      throw TreeRingError.newer(stored.version, of: bucket.name, than: version)
    }
    if stored?.swept == version, next == nil {
      batch.isComplete = true
      return batch
    }
    try tx.raiseVersion(of: bucket.name, to: version)
    let start = next ?? (stored?.version == version ? stored?.cursor : nil).map { Key(bytes: $0) }
    var rows: [(key: Key, row: Row)] = []
    var byteCount = 0
    try tx.forEachCoded(in: bucket.name, from: start) { key, object, coder in
      if rows.count == batchCount || byteCount >= Self.byteLimit || batch.scanned == Self.scanLimit
      {
        batch.next = key
        return false
      }
      batch.scanned += 1
      if MigrationChain.version(ofCoder: coder) == version { return true }
      byteCount += object.count
      do {
        rows.append((key, try bucket.coder.decode(object, coder)))
      } catch let error as TreeRingError where error.code == .newerVersion {
        throw error
      } catch {
        batch.failures.append(MigrationFailure(key: key, reason: "\(error)"))
      }
      return true
    }
    for (key, row) in rows { try tx.put(object: row, for: key, in: bucket) }
    batch.rewritten = rows.count
    let isAtEnd = batch.next == nil
    let failed = hasFailed || !batch.failures.isEmpty
    batch.isComplete = isAtEnd && !failed
    if isAtEnd || !rows.isEmpty {
      // After a failure the next call begins again.
      let cursor = isAtEnd || failed ? nil : batch.next.map { Data($0.bytes) }
      let row = StoredVersion(
        version: version, swept: batch.isComplete ? version : stored?.swept, cursor: cursor)
      if try tx.storedVersion(of: bucket.name) != row {
        try tx.put(row, for: Key(bucket.name), in: StoredVersion.bucket)
      }
    }
    return batch
  }

  /// The most bytes of objects of a batch, and the most rows that it looks at.
  private static var byteLimit: Int { 1 << 20 }
  private static var scanLimit: Int { 20_000 }
}

extension Readable {
  /// Calls `body` with the rows of a bucket from a key on, each with its object's bytes and the
  /// number of its coder, until it returns false.
  fileprivate func forEachCoded(
    in bucket: String, from start: Key?,
    _ body: (Key, UnsafeRawBufferPointer, UInt32) throws -> Bool
  ) throws {
    let reader = try self.reader
    try forEachRecord(in: bucket, from: start, to: nil, reversed: false) { key, record in
      try reader.values.withBytes(of: record.object, part: .object) {
        try body(Key(bytes: key), $0, record.coder)
      }
    }
  }
}
