// Reading the roots of a page file that another process writes.

internal import Synchronization
internal import TreeRingLog

/// The page file of a store, open for reading from its first root on. Any thread.
final class CheckpointReader: Sendable {
  private let path: String
  private let registry: ReaderRegistry
  private let opened = Mutex<PageFile?>(nil)

  /// A root that the writer keeps as long as the pin is held.
  struct Root: Sendable {
    var meta: Meta
    var roots: Roots
    var pin: ReaderPin
  }

  /// Opens nothing yet.
  init(_ folder: String, _ fileSystem: any FileSystem) {
    path = folder + "/pages"
    registry = ReaderRegistry(folder: folder, fileSystem: fileSystem)
  }

  /// What brings the pages of a root.
  func makeSupply() -> PageSupply {
    PageSupply { [self] (number, birth) throws(TreeRingError) in
      guard let file else {
        throw TreeRingError(.notFound, "There is no page file to read a page of.", file: path)
      }
      return try file.fetch(number, birth: birth)
    }
  }

  /// The file opened last.
  private var file: PageFile? { opened.withLock { $0 } }

  /// The file that there is now; nil if there is none.
  private func openFile() throws(TreeRingError) -> PageFile? {
    do throws(TreeRingError) {
      return try PageFile.open(path, fileSystem: registry.fileSystem, mode: .readOnly)
    } catch  where error.code == .notFound { return nil }
  }

  /// Whether a file is still the store's: it may have been made anew, or be about to. O(1).
  private func isInForce(_ file: PageFile) throws(TreeRingError) -> Bool {
    do throws(TreeRingError) {
      guard let other = try openFile() else { return false }
      defer { other.close() }
      let (own, others) = (try file.metas().valid, try other.metas().valid)
      // Between the two a checkpoint may have come; it leaves one of the two metas.
      return others.contains { own.contains($0) }
    } catch  where [.notFound, .corruption].contains(error.code) { return false }
  }

  /// Opens the file that there is now and gives its newest root; nil as for `newestRoot`, or if there is no
  /// file. For who stands on no root: a file opened before, of which no page may be in use, is given up.
  func firstRoot(after commit: CommitNumber? = nil) throws(TreeRingError) -> Root? {
    let file = try openFile()
    opened.withLock { $0 = file }
    return try newestRoot(after: commit)
  }

  /// The root of the newest meta; nil if there is none, none after a commit, or the file is not the
  /// store's any more.
  ///
  /// The meta is read again once the pin is there: a checkpoint may have come between.
  func newestRoot(after commit: CommitNumber? = nil) throws(TreeRingError) -> Root? {
    try withNewestMeta { (file, meta) throws(TreeRingError) in
      if let commit, meta.position.commit <= commit { return nil }
      let pin = try registry.register(meta.position.commit)
      guard try file.metas().valid.first == meta else { throw damaged("another meta is in force") }
      guard try isInForce(file) else { return nil }
      let retained = try RetainedRoot.decode(try file.readBlob(meta.roots))
      guard let newest = retained.last, newest.roots.commit == meta.position.commit else {
        throw damaged("its roots do not go with its meta")
      }
      return Root(meta: meta, roots: newest.roots, pin: pin)
    }
  }

  /// Whether a meta is still the newest of the file.
  func isNewest(_ meta: Meta) throws(TreeRingError) -> Bool {
    try file?.metas().valid.first == meta
  }

  /// Whether an error says that part of the file is lost.
  func isDamaged(_ error: TreeRingError) -> Bool { file?.isDamaged(error) ?? false }

  /// What the file holds; nil if it has no meta. O(roots). Nothing is registered for it.
  func report(at operationCount: UInt64) throws(TreeRingError) -> Checkpointer.Report? {
    try withNewestMeta { (file, meta) throws(TreeRingError) in
      var ledger = RootLedger()
      ledger.entries = try RetainedRoot.decode(try file.readBlob(meta.roots))
        .map { RootLedger.Entry(roots: $0.roots, lists: $0.deadLists) }
      return Checkpointer.Report(
        byteCount: try file.size(), pageCount: Int(meta.livePageCount), ledger: ledger,
        at: operationCount, statistics: CheckpointStatistics())
    }
  }

  /// Calls `body` with the newest meta; nil without one. What a meta leads to may change while it is read
  /// only if two more checkpoints come; then it reads as damage, and the newer meta is tried.
  private func withNewestMeta<R>(
    _ body: (PageFile, Meta) throws(TreeRingError) -> R?
  ) throws(TreeRingError) -> R? {
    guard let file else { return nil }
    var attempt = 1
    while true {
      guard let meta = try file.metas().valid.first else { return nil }
      do throws(TreeRingError) {
        return try body(file, meta)
      } catch {
        guard attempt < 10, try file.metas().valid.first != meta else { throw error }
        attempt += 1
      }
    }
  }

  private func damaged(_ what: String) -> TreeRingError {
    TreeRingError(.corruption, "The page file is damaged: \(what).", file: path)
  }
}
