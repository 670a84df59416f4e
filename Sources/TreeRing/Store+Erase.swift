// Erasing a row from all of history, and proving it.
//
//   1. Refuse if a live snapshot or a follower holds older commits; delete the row, if it is there. From
//      here on older commits cannot be pinned until the end.
//   2. Unlink the page file: its earlier roots lead to values that are about to go, and after a crash
//      half-way only the log says what is still there. It is used till the end, without a name.
//      Seal the active segment; take the row out of every segment (RowEraser).
//   3. Make the trees anew from the log, in a page file of their own; pages of the old one may hold
//      the key where no tree reaches it. Commits wait meanwhile. Snapshots taken since the delete go
//      on with the old trees.
//   4. Look through every frame and page for the row.

internal import Synchronization
public import TreeRingLog

/// What an erasing did.
public struct EraseReport: Hashable, Sendable {
  /// The commit that deleted the row; nil if it was not there.
  public var deleted: CommitNumber?
  /// How many operations on it were taken out of the log.
  public var operations: Int
  /// How many segments were rewritten for that.
  public var rewrittenSegments: Int
  /// How many bytes of payloads and pages were looked through for the proof.
  public var scannedByteCount: UInt64
  /// In how many commits the key's bytes stand as part of something else: of other rows, or of texts.
  public var mentions: Int
}

extension Store {
  /// Deletes a row and takes every byte of its history out of the log and the page file; then proves
  /// it by looking through both. O(store). Commit numbers stay, and so does everything else, also
  /// texts of notes, annotations and tags that name the key.
  ///
  /// Earlier backups still hold the row until they are refreshed, and so may processes that follow the
  /// store but cannot write to its folder, which nobody can list. If it is interrupted, call it again:
  /// until then commits of the past may show an older version of the row.
  ///
  /// - Parameters:
  ///   - key: the row's key.
  ///   - bucket: the row's bucket.
  ///   - progress: called now and then with the part of the log gone through.
  /// - Throws: `notAllowed` if live snapshots or followers in other processes hold older commits, naming
  ///   them; `notFound` if there is no
  ///   such bucket; `conflict` if the row was written again meanwhile; `corruption` if something of the
  ///   row is found in the end; else as `compact`.
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
      lastDelete: try grave(of: key, bucket: number)
    ) { [self] done in
      try checkOpen()
      progress(done)
    }
    try opening.unlinkPages()
    do {
      // From here on nobody can begin to follow with the page file.
      try checkNobodyFollows(newest)
      try eraser.run()
    } catch {
      // Older trees must not be read over a log in which part of the row is gone.
      try? renewTrees()
      throw error
    }
    try renewTrees()
    let proof = try prove(key, bucket: number, through: newest)
    return EraseReport(
      deleted: deleted, operations: eraser.operations,
      rewrittenSegments: eraser.rewrittenSegments, scannedByteCount: proof.byteCount,
      mentions: proof.mentions)
  }

  /// Throws if a live snapshot is of a commit before one.
  private func checkNobodyHolds(_ bound: CommitNumber) throws(TreeRingError) {
    let holding = pins.filter { $0.commit < bound && $0.commit > 0 }
    if !holding.isEmpty { throw holdingError(holding) }
  }

  /// Throws if another process reads a state before a commit.
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
  private func grave(of key: Key, bucket: UInt32) throws(TreeRingError) -> CommitNumber {
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
    guard row == nil else {
      throw TreeRingError(
        .conflict, "The row was written again while it was being erased. Erase it again.")
    }
    return grave
  }

  /// Makes all trees anew from the log, in a new page file.
  private func renewTrees() throws {
    // Waits for a checkpoint that goes on; before the writer's lock, which it may be waiting for.
    engine.checkpointer?.abandon()
    try writerLock.withLock {
      try checkOpen()
      try rebuildEngine(because: "a row was erased")
    }
    try engine.checkpointer?.run()
  }

  // MARK: - Proof

  /// What was looked through.
  private struct Proof {
    var byteCount: UInt64 = 0
    var mentions = 0
  }

  /// Throws `corruption` if anything of a row is left.
  private func prove(
    _ key: Key, bucket: UInt32, through newest: CommitNumber
  ) throws -> Proof {
    var proof = Proof()
    try log.replay(from: 1, through: newest) { header, payload in
      proof.byteCount += UInt64(payload.count)
      guard payload.firstPosition(of: key.bytes) != nil else { return true }
      proof.mentions += 1
      _ = try PayloadRewriter.rewrite(payload, of: header.number) {
        (operation) throws(TreeRingError) in
        guard operation.row.bucket.number == bucket,
          operation.row.key.elementsEqual(key.bytes)
        else { return .keep }
        throw TreeRingError(
          .corruption, "The row is still named by an operation; erase it again.",
          file: header.file, offset: header.offset, commit: header.number)
      }
      return true
    }
    try proveTrees(key, bucket: bucket, &proof)
    try provePages(key, &proof)
    return proof
  }

  /// Looks for the row in every tree.
  private func proveTrees(_ key: Key, bucket: UInt32, _ proof: inout Proof) throws {
    let version = queue.visible
    let row = RowKey.of(bucket: bucket, key: key.bytes)
    let place = key.bytes.withUnsafeBytes { PlaceKey.prefix(bucket: bucket, key: $0) }
    func check(
      _ root: TreeRoot, _ isOfRow: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    ) throws {
      try Tree(root, pages: version.pages).forEach(in: 0..<Int(root.count)) { entry, value in
        proof.byteCount += UInt64(entry.count + value.count)
        if !isOfRow(entry, value) { return true }
        throw TreeRingError(
          .corruption, "After erasing, a tree still holds the row. Erase it again.")
      }
    }
    try version.pages.reading {
      try check(version.roots.rows) { entry, _ in entry.elementsEqual(row) }
      try check(version.roots.graves) { entry, _ in entry.elementsEqual(row) }
      for number in version.catalog.manualNumbers {
        let prefix = ManualPlaces.prefix(number, place)
        try check(version.roots.catalog) { entry, _ in entry.starts(with: prefix) }
      }
      for index in version.roots.indexes {
        try check(index.order) { Self.isOrder($0, $1, of: row) }
        try check(index.places) { entry, _ in entry.starts(with: place) }
      }
    }
  }

  /// Whether an entry is one of an order tree, of that row.
  private static func isOrder(
    _ entry: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of row: [UInt8]
  ) -> Bool {
    guard value.count == 4, entry.count >= row.count, entry.suffix(row.count).elementsEqual(row)
    else { return false }
    let lengths = value.prefix(4)
    let group = Int(lengths[0]) | Int(lengths[1]) << 8
    let sortKey = Int(lengths[2]) | Int(lengths[3]) << 8
    return group + sortKey + row.count == entry.count
  }

  /// Looks for the key's bytes in the page file. It was made from a log that does not name the row, so
  /// they can be there only if the log mentions them elsewhere.
  private func provePages(_ key: Key, _ proof: inout Proof) throws {
    guard let path else { return }
    let file = path + "/pages"
    guard try fileSystem.exists(file) else { return }
    let pages = try fileSystem.open(file, .readOnly)
    defer { pages.close() }
    let size = try pages.size()
    let slice: UInt64 = 1 << 20
    var offset: UInt64 = 0
    // Slices overlap, so that a key across their border is found.
    let overlap = UInt64(key.bytes.count)
    var bytes = [UInt8](repeating: 0, count: Int(slice + overlap))
    while offset < size {
      let wanted = Int(min(slice + overlap, size - offset))
      let count = try bytes.withUnsafeMutableBytes { buffer in
        try pages.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
      }
      let found = bytes.withUnsafeBytes {
        UnsafeRawBufferPointer(rebasing: $0[..<count]).firstPosition(of: key.bytes)
      }
      // A short key's bytes come up by chance.
      if let found, proof.mentions == 0, key.bytes.count >= 8 {
        throw TreeRingError(
          .corruption, "After erasing, the key's bytes are in the page file. Erase it again.",
          file: file, offset: offset + UInt64(found))
      }
      offset += slice
    }
    proof.byteCount += size
  }
}
