// Erases a row from all of history, and proves it.
//
//   1. Refuse if a live snapshot or a follower holds older commits; delete the row, if it exists.
//      From here to the end older commits cannot be pinned.
//   2. Unlink the page file: its earlier roots refer to values that are about to be removed, and
//      after a crash half-way only the log is right. The process uses the file, without a name,
//      until step 3. Seal the active segment; remove the row from every segment (RowEraser).
//   3. Rebuild the trees from the log, in a new page file; pages of the old one may hold the key
//      where no tree reaches it. Commits wait for that. Snapshots taken since the delete keep the
//      old trees.
//   4. Scan every frame and page for the row (EraseProof).
//
// An erasing is refused if other files in the log's folder may hold the row and must not be removed
// automatically. If the trees cannot be rebuilt, the store accepts no further commit and refuses
// reads of the past, where the old trees and the log would differ.

public import TreeRingLog
internal import TreeRingPlatform

/// The report of an erasing.
public struct EraseReport: Hashable, Sendable {
  /// The commit that deleted the row; nil if the row did not exist.
  public var deleted: CommitNumber?
  /// The number of operations on the row that were removed from the log.
  public var operations: Int
  /// The number of segments rewritten to remove them.
  public var rewrittenSegments: Int
  /// The bytes of payloads, trees and page file that the proof scanned.
  public var scannedByteCount: UInt64
  /// The number of logged values checked against the operations that refer to them.
  public var scannedValues: Int
  /// Whether the whole page file was searched for the key's bytes, besides the scan of every entry
  /// of every tree. It is not searched if commits mention the key; if the key is shorter than 8
  /// bytes, which occur by chance; nor in a store without a page file.
  public var searchedPageFile: Bool
  /// The number of commits, including those made during the erasing, that hold the key's bytes as
  /// part of something else: of other rows, or of texts.
  public var mentioningCommitCount: Int
}

extension Store {
  /// Deletes a row and removes every byte of its history from the log and the page file. Then
  /// proves it by a scan of both, which the report measures. O(store). Everything else stays,
  /// including commit numbers, and notes, annotations and tags whose text names the key.
  ///
  /// Earlier backups still hold the row until they are refreshed. So may processes that follow the
  /// store but cannot write to its folder, because they cannot be listed. After an interruption,
  /// call this again: until then commits of the past may show an older version of the row.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Parameters:
  ///   - key: The row's key.
  ///   - bucket: The row's bucket.
  ///   - progress: Called from time to time with the part of the log processed.
  /// - Throws: `notAllowed` if live snapshots or followers in other processes hold older commits,
  ///   or if the log's folder holds other files that may hold the row (recovery mode `prefix` sets
  ///   such files aside); the message names them. `notFound` if there is no such bucket; `conflict`
  ///   if the row was written again during the erasing, and has to be erased once more;
  ///   `corruption` if something of the row is found at the end; otherwise as `compact`. After `io`
  ///   the store may have to be reopened; if so, later writes and reads of the past throw
  ///   `poisoned`.
  @discardableResult
  public func erase(
    _ key: some KeyConvertible, in bucket: some BucketName,
    progress: (CompactionProgress) -> Void = { _ in }
  ) throws -> EraseReport {
    let key = Key(key)
    try checkWritable()
    guard !isReplica else {
      throw TreeRingError(
        .notSupported,
        "A replica cannot erase: the shared log keeps the row. Erase it in a backup, and begin "
          + "a new shared log with that.")
    }
    try writerLock.checkOutside()
    try key.bytes.withUnsafeBytes(Limits.check(key:))
    return try maintenance.alone {
      try withoutActuallyEscaping(progress) { progress in
        try eraseAlone(key, in: bucket.bucketName, progress: progress)
      }
    }
  }

  private func eraseAlone(
    _ key: Key, in bucket: String, progress: @escaping (CompactionProgress) -> Void
  ) throws -> EraseReport {
    guard let number = queue.visible.catalog.buckets[bucket] else {
      throw TreeRingError(
        .notFound,
        "There is no bucket named \(bucket). `treering buckets` lists those that exist.")
    }
    try checkNoFileIsSetAside(through: newestCommit)
    expirePins()
    try checkNoSnapshot(.max)
    try checkNoFollower(.max)
    var deleted: CommitNumber?
    try log.seal()
    let written = try write(durability: .full) { try $0.delete(key, in: bucket) }
    if written.value { deleted = written.commit }
    try log.sync()
    let newest = deleted ?? newestCommit
    guard pinRegistry.raiseEraseBoundary(newest) else {
      try checkNoSnapshot(newest)
      throw snapshotsError([])
    }
    defer { pinRegistry.removeEraseBoundary() }
    try log.seal()
    let eraser = RowEraser(
      log: log, bucket: number, key: key.bytes, newest: newest,
      lastDelete: try tombstone(of: key, bucket: number, notAfter: newest)
    ) { [self] done in
      try checkOpen()
      progress(done)
    }
    if try !opening.unlinkPages(), let path {
      // An earlier erasing may have failed between unlinking it and this.
      try fileSystem.syncDirectory(path)
    }
    do {
      // Since the page file is unlinked, no other process can begin to read its roots.
      try checkNoFollower(newest)
      try eraser.removeVersions()
      pinRegistry.invalidateReplays()
      try eraser.removeLastDelete()
    } catch {
      // The old trees must not be used with a log that lacks parts of the row.
      try? rebuildTrees()
      throw error
    }
    try rebuildTrees()
    try log.removeLeftovers(through: newest)
    try checkNoFileIsSetAside(through: newest)
    var proof = EraseProof(key: key, bucket: number, newest: newest)
    let shown = queue.visible
    try proof.scan(log, to: shown.roots.commit)
    try proof.scan(shown)
    if let path {
      try proof.search(path + "/pages", on: fileSystem, log: log) {
        // A transaction may have written pages before its commit was in the log. It has ended when
        // this thread gets the lock.
        try writerLock.withLock { log.sequenced }
      }
    }
    return EraseReport(
      deleted: deleted, operations: eraser.operations,
      rewrittenSegments: eraser.rewrittenSegments, scannedByteCount: proof.byteCount,
      scannedValues: proof.values, searchedPageFile: proof.searchedPageFile,
      mentioningCommitCount: proof.mentioningCommitCount)
  }

  /// Throws if other files in the log's folder may hold the row.
  private func checkNoFileIsSetAside(through newest: CommitNumber) throws(TreeRingError) {
    let files = try log.strayFiles(through: newest).setAside
    guard let first = files.first else { return }
    throw TreeRingError(
      .notAllowed,
      "The log's folder holds other files, which may hold the row: "
        + files.prefix(10).joined(separator: ", ")
        + ". Salvage what you need of them, remove them or move them away, and erase again.",
      file: first)
  }

  /// Throws if a live snapshot is of a commit before `bound`.
  private func checkNoSnapshot(_ bound: CommitNumber) throws(TreeRingError) {
    let holding = pins.filter { $0.commit < bound && $0.commit > 0 }
    if !holding.isEmpty { throw snapshotsError(holding) }
  }

  /// Throws if another process reads a state before `bound`.
  private func checkNoFollower(_ bound: CommitNumber) throws(TreeRingError) {
    let readers = try followers(withinLimit: false).filter { $0.commit < bound }
    guard !readers.isEmpty else { return }
    let list = readers.prefix(10).map { "commit \($0.commit): \($0.description)" }
      .joined(separator: "; ")
    throw TreeRingError(
      .notAllowed,
      "Other processes read older commits, in which the row may be (\(list)). End them and erase "
        + "again.")
  }

  private func snapshotsError(_ pins: [PinInfo]) -> TreeRingError {
    let list = pins.prefix(10).map { "commit \($0.commit) at \($0.creator)" }
      .joined(separator: ", ")
    return TreeRingError(
      .notAllowed,
      "Snapshots hold older commits, in which the row may be: \(list). Release them and erase "
        + "again.")
  }

  /// The commit of the newest delete of a row; 0 if there is none.
  /// - Throws: `conflict` if the row was written after `newest`.
  private func tombstone(
    of key: Key, bucket: UInt32, notAfter newest: CommitNumber
  ) throws(TreeRingError) -> CommitNumber {
    let reader = reader(of: queue.visible)
    let (row, tombstone) = try reader.read {
      try key.bytes.withUnsafeBytes { key in
        (
          try reader.record(bucket: bucket, key: key)?.written.commit,
          try reader.tombstone(bucket: bucket, key: key)
        )
      }
    }
    if let row { throw TreeRingError.writtenAgain(in: row) }
    if tombstone > newest { throw TreeRingError.writtenAgain(in: tombstone) }
    return tombstone
  }

  /// Rebuilds all trees from the log, in a new page file.
  private func rebuildTrees() throws {
    let old = engine.checkpointer
    // Waits for a checkpoint under way, before taking the writer's lock, for which the checkpoint
    // may be waiting.
    old?.abandon()
    do throws(TreeRingError) {
      try writerLock.hold { () throws(TreeRingError) in
        try checkOpen()
        try rebuildEngine(because: "a row was erased")
      }
    } catch {
      if error.code != .closed {
        // The old trees cannot get new pages in a file, and their past differs from the log's.
        old?.fail(error)
        pinRegistry.makeEraseBoundaryPermanent(because: error)
      }
      throw error
    }
    try engine.checkpointer?.run()
  }
}
