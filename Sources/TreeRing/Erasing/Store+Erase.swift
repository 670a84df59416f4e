// Erases a row from all of history, and proves it.
//
//   1. Refuse if a live snapshot or a follower holds older commits; delete the row, if it exists.
//      From here to the end older commits cannot be pinned.
//   2. Unlink the page file: its earlier roots refer to values that are about to go, and after a
//      crash half-way only the log tells what is left. The file is used until the end, without a
//      name. Seal the active segment; remove the row from every segment (RowEraser).
//   3. Rebuild the trees from the log, in a new page file; pages of the old one may hold the key
//      where no tree reaches it. Commits wait until then. Snapshots taken since the delete keep the
//      old trees.
//   4. Scan every frame and page for the row (EraseProof).
//
// Refused if files beside the log may hold the row and must not be removed automatically. If the
// trees cannot be rebuilt, the store accepts no further commit and shows nothing of the past, where
// the old trees and the log would differ.

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
  /// Whether the whole page file was searched for the key's bytes, beside the scan of every entry
  /// of every tree. It is not searched if commits mention the key; if the key is shorter than 8
  /// bytes, which occur by chance; nor in a store without a page file.
  public var searchedPageFile: Bool
  /// The number of commits, including those made during the erasing, that hold the key's bytes as
  /// part of something else: of other rows, or of texts.
  public var mentions: Int
}

extension Store {
  /// Deletes a row and removes every byte of its history from the log and the page file; then
  /// proves it by scanning both (the report tells how much). O(store). Commit numbers stay, and so
  /// does everything else, including notes, annotations and tags whose text names the key.
  ///
  /// Earlier backups still hold the row until they are refreshed. So may processes that follow the
  /// store but cannot write to its folder, because they cannot be listed. After an interruption,
  /// call this again: until then commits of the past may show an older version of the row.
  ///
  /// - Parameters:
  ///   - key: The row's key.
  ///   - bucket: The row's bucket.
  ///   - progress: Called now and then with the part of the log processed.
  /// - Throws: `notAllowed` if live snapshots or followers in other processes hold older commits,
  ///   or if files lie beside the log's segments (recovery mode `prefix` sets some aside), naming
  ///   them; `notFound` if there is no such bucket; `conflict` if the row was written again during
  ///   the erasing, and has to be erased once more; `corruption` if something of the row is found
  ///   at the end; otherwise as `compact`. After `io` the store may have to be reopened; later
  ///   writes and reads of the past report that.
  @discardableResult
  public func erase(
    _ key: Key, in bucket: String, progress: (CompactionProgress) -> Void = { _ in }
  ) throws -> EraseReport {
    try checkWritable()
    try writerLock.checkOutside()
    try typed { try key.bytes.withUnsafeBytes { try Limits.check(key: $0) } }
    return try maintenance.alone {
      try withoutActuallyEscaping(progress) { progress in
        try eraseAlone(key, in: bucket, progress: progress)
      }
    }
  }

  private func eraseAlone(
    _ key: Key, in bucket: String, progress: @escaping (CompactionProgress) -> Void
  ) throws -> EraseReport {
    guard let number = queue.visible.catalog.buckets[bucket] else {
      throw TreeRingError(.notFound, "There is no bucket named \(bucket).")
    }
    try checkNothingIsSetAside(through: newestCommit)
    expirePins()
    try checkNobodyHolds(.max)
    try checkNobodyFollows(.max)
    var deleted: CommitNumber?
    try log.seal()
    let written = try write(durability: .full) { try $0.delete(key, in: bucket) }
    if written.value { deleted = written.commit }
    try log.sync()
    let newest = deleted ?? newestCommit
    guard pinRegistry.raiseBarrier(newest) else {
      try checkNobodyHolds(newest)
      throw holdingError([])
    }
    defer { pinRegistry.dropBarrier() }
    try log.seal()
    let eraser = RowEraser(
      log: log, bucket: number, key: key.bytes, newest: newest,
      lastDelete: try grave(of: key, bucket: number, notAfter: newest)
    ) { [self] done in
      try checkOpen()
      progress(done)
    }
    if try !opening.unlinkPages(), let path {
      // An earlier erasing may have failed between unlinking it and this.
      try fileSystem.syncDirectory(path)
    }
    do {
      // From here on no process can begin to follow with the page file.
      try checkNobodyFollows(newest)
      try eraser.takeOutVersions()
      pinRegistry.outdateReplays()
      try eraser.takeOutLastDelete()
    } catch {
      // Older trees must not be used with a log in which part of the row is gone.
      try? renewTrees()
      throw error
    }
    try renewTrees()
    try log.removeLeftovers(through: newest)
    try checkNothingIsSetAside(through: newest)
    var proof = EraseProof(key: key, bucket: number, newest: newest)
    let shown = queue.visible
    try proof.look(through: log, to: shown.roots.commit)
    try proof.look(through: shown)
    if let path {
      try proof.search(path + "/pages", on: fileSystem, log: log) {
        // A transaction may write pages before it is in the log. Any that has done so has ended by
        // then.
        try writerLock.withLock { log.sequenced }
      }
    }
    return EraseReport(
      deleted: deleted, operations: eraser.operations,
      rewrittenSegments: eraser.rewrittenSegments, scannedByteCount: proof.byteCount,
      scannedValues: proof.values, searchedPageFile: proof.searchedPageFile,
      mentions: proof.mentions)
  }

  /// Throws if files lie beside the log that may hold the row.
  private func checkNothingIsSetAside(through newest: CommitNumber) throws(TreeRingError) {
    let files = try log.remains(through: newest).setAside
    guard let first = files.first else { return }
    throw TreeRingError(
      .notAllowed,
      "Beside the log lie files that are no part of it and may hold the row: "
        + files.prefix(10).joined(separator: ", ")
        + ". Salvage what is wanted of them, remove them or move them away, and erase again.",
      file: first)
  }

  /// Throws if a live snapshot is of a commit before `bound`.
  private func checkNobodyHolds(_ bound: CommitNumber) throws(TreeRingError) {
    let holding = pins.filter { $0.commit < bound && $0.commit > 0 }
    if !holding.isEmpty { throw holdingError(holding) }
  }

  /// Throws if another process reads a state before `bound`.
  private func checkNobodyFollows(_ bound: CommitNumber) throws(TreeRingError) {
    let readers = try followers(withinLimit: false).filter { $0.commit < bound }
    guard !readers.isEmpty else { return }
    let list = readers.prefix(10).map { "commit \($0.commit): \($0.description)" }
      .joined(separator: "; ")
    throw TreeRingError(
      .notAllowed,
      "Other processes read older commits, in which the row may be (\(list)). End them and erase "
        + "again.")
  }

  private func holdingError(_ pins: [PinInfo]) -> TreeRingError {
    let list = pins.prefix(10).map { "commit \($0.commit) at \($0.creator)" }
      .joined(separator: ", ")
    return TreeRingError(
      .notAllowed,
      "Snapshots hold older commits, in which the row may be: \(list). Let go of them and erase "
        + "again.")
  }

  /// The commit of the newest delete of a row; 0 if there is none.
  /// - Throws: `conflict` if the row was written after `newest`.
  private func grave(
    of key: Key, bucket: UInt32, notAfter newest: CommitNumber
  ) throws(TreeRingError) -> CommitNumber {
    let version = queue.visible
    let reader = StateReader(
      roots: version.roots, catalog: version.catalog, pages: version.pages,
      values: ValueSource(log: log))
    let (row, grave) = try reader.read {
      try key.bytes.withUnsafeBytes { key in
        (
          try reader.record(bucket: bucket, key: key)?.written.commit,
          try reader.grave(bucket: bucket, key: key)
        )
      }
    }
    if let row { throw TreeRingError.writtenAgain(in: row) }
    if grave > newest { throw TreeRingError.writtenAgain(in: grave) }
    return grave
  }

  /// Rebuilds all trees from the log, in a new page file.
  private func renewTrees() throws {
    let old = engine.checkpointer
    // Waits for a checkpoint under way. This precedes taking the writer's lock, which the
    // checkpoint may be waiting for.
    old?.abandon()
    do throws(TreeRingError) {
      try typed {
        try writerLock.withLock {
          try checkOpen()
          try rebuildEngine(because: "a row was erased")
        }
      }
    } catch {
      if error.code != .closed {
        // The old trees have no file to grow in, and their past differs from the log's.
        old?.fail(error)
        pinRegistry.keepBarrier(because: error)
      }
      throw error
    }
    try engine.checkpointer?.run()
  }
}
