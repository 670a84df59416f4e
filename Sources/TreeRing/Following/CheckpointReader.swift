// Reading the roots of a page file that another process writes.

internal import TreeRingLog

/// A page file open for reading.
struct CheckpointReader: Sendable {
  let file: PageFile
  let registry: ReaderRegistry

  /// A root that the writer keeps as long as the pin is held.
  struct Root: Sendable {
    var meta: Meta
    var roots: Roots
    var pin: ReaderPin
  }

  /// Opens the page file of a store; nil if there is none.
  static func open(
    _ folder: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> CheckpointReader? {
    do throws(TreeRingError) {
      return CheckpointReader(
        file: try PageFile.open(folder + "/pages", fileSystem: fileSystem, mode: .readOnly),
        registry: ReaderRegistry(folder: folder, fileSystem: fileSystem))
    } catch  where error.code == .notFound { return nil }
  }

  /// Whether the file is still the store's: it may have been made anew, or be about to. O(1).
  private func isInForce() throws(TreeRingError) -> Bool {
    do throws(TreeRingError) {
      let other = try PageFile.open(file.path, fileSystem: registry.fileSystem, mode: .readOnly)
      defer { other.close() }
      let (own, others) = (try file.metas().valid, try other.metas().valid)
      // Between the two a checkpoint may have come; it leaves one of the two metas.
      return others.contains { own.contains($0) }
    } catch  where [.notFound, .corruption].contains(error.code) { return false }
  }

  /// The root of the newest meta; nil if there is none, none after a commit, or the file is not the
  /// store's any more.
  ///
  /// The meta is read again once the pin is there: a checkpoint may have come between.
  func newestRoot(after commit: CommitNumber? = nil) throws(TreeRingError) -> Root? {
    try withNewestMeta { (meta) throws(TreeRingError) in
      if let commit, meta.position.commit <= commit { return nil }
      let pin = try registry.register(meta.position.commit)
      guard try file.metas().valid.first == meta else { throw damaged("another meta is in force") }
      guard try isInForce() else { return nil }
      let retained = try RetainedRoot.decode(try file.readBlob(meta.roots))
      guard let newest = retained.last, newest.roots.commit == meta.position.commit else {
        throw damaged("its roots do not go with its meta")
      }
      return Root(meta: meta, roots: newest.roots, pin: pin)
    }
  }

  /// What the file holds; nil if it has no meta. O(roots). Nothing is registered for it.
  func report(at operationCount: UInt64) throws(TreeRingError) -> Checkpointer.Report? {
    try withNewestMeta { (meta) throws(TreeRingError) in
      var ledger = RootLedger()
      ledger.entries = try RetainedRoot.decode(try file.readBlob(meta.roots))
        .map { RootLedger.Entry(roots: $0.roots, lists: $0.deadLists) }
      return Checkpointer.Report(
        byteCount: try file.size(), ledger: ledger, at: operationCount,
        statistics: CheckpointStatistics())
    }
  }

  /// Calls `body` with the newest meta; nil without one. What a meta leads to may change while it is read
  /// only if two more checkpoints come; then it reads as damage, and the newer meta is tried.
  private func withNewestMeta<R>(
    _ body: (Meta) throws(TreeRingError) -> R?
  ) throws(TreeRingError) -> R? {
    var attempt = 1
    while true {
      guard let meta = try file.metas().valid.first else { return nil }
      do throws(TreeRingError) {
        return try body(meta)
      } catch {
        guard attempt < 10, try file.metas().valid.first != meta else { throw error }
        attempt += 1
      }
    }
  }

  private func damaged(_ what: String) -> TreeRingError {
    TreeRingError(.corruption, "The page file is damaged: \(what).", file: file.path)
  }
}
