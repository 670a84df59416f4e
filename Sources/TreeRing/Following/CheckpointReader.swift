// Reads checkpoints that another process makes: their roots, and the pages of those.

internal import TreeRingLog
internal import TreeRingPlatform

/// The page file of a store, opened for reading when the first root is read. Any thread.
final class CheckpointReader: Sendable {
  private let path: String
  private let registry: ReaderRegistry
  private let opened = Mutex<PageFile?>(nil)
  /// The roots that a meta lists, as read last.
  private let listed = Mutex<(meta: Meta, roots: [Roots])?>(nil)

  /// A root that the writer keeps as long as the pin is held.
  struct Root: Sendable {
    var meta: Meta
    /// One above the highest page number that the root's trees can contain.
    var bound: PageNumber
    var roots: Roots
    var pin: ReaderPin
  }

  /// Creates a reader without opening the file.
  init(_ folder: String, _ registry: ReaderRegistry) {
    path = folder + "/pages"
    self.registry = registry
  }

  /// A supply that fetches the pages of a root from the file.
  func makeSupply() -> PageSupply {
    PageSupply(
      damage: { [self] in
        file?.damaged("page \($1) is not what was written: \($0)", page: $1)
          ?? TreeRingError(
            .corruption, "Page \($1) is not what was written: \($0). \(PageFile.remedy)",
            file: path)
      },
      read: { [self] (number, birth, bytes) throws(TreeRingError) in
        let bytes = UnsafeMutableRawBufferPointer(page: bytes)
        try presentFile.read(number, birth: birth, into: bytes)
      }
    ) { [self] (number, birth) throws(TreeRingError) in
      try presentFile.fetch(number, birth: birth)
    }
  }

  private var presentFile: PageFile {
    get throws(TreeRingError) {
      if let file { return file }
      throw TreeRingError(
        .notFound, "The store's page file is gone. Open the store again.", file: path)
    }
  }

  /// The file opened last.
  private var file: PageFile? { opened.withLock { $0 } }

  /// Opens the page file; nil if there is none.
  private func openFile() throws(TreeRingError) -> PageFile? {
    do throws(TreeRingError) {
      return try PageFile.open(path, fileSystem: registry.fileSystem, mode: .readOnly)
    } catch  where error.code == .notFound { return nil }
  }

  /// Whether a file is still the page file of the store. The writer may have removed it in order to
  /// rebuild it. O(1).
  private func isInForce(_ file: PageFile) throws(TreeRingError) -> Bool {
    do throws(TreeRingError) {
      guard let other = try openFile() else { return false }
      defer { other.close() }
      let (own, others) = (try file.metas().valid, try other.metas().valid)
      // A checkpoint may come between the two reads; it leaves one of the two metas in place.
      return others.contains { own.contains($0) }
    } catch  where [.notFound, .corruption].contains(error.code) { return false }
  }

  /// Whether the writer has replaced the file being read by another one that has a root.
  func isReplaced() throws(TreeRingError) -> Bool {
    guard let file, let other = try openFile() else { return false }
    defer { other.close() }
    let others = try other.metas().valid
    if others.isEmpty { return false }
    // A checkpoint may come between the two reads; it leaves one of the two metas in place.
    let own = try file.metas().valid
    return !others.contains { own.contains($0) }
  }

  /// Registers a commit of which no root is read, so that the writer keeps the log from there on.
  func register(_ commit: CommitNumber) throws(TreeRingError) -> ReaderPin {
    try registry.register(commit)
  }

  /// Opens the current page file and returns its newest root; nil as for `newestRoot`, or if there
  /// is no file. It closes the file opened before, so only a reader that uses none of its pages may
  /// call it.
  func firstRoot(after commit: CommitNumber? = nil) throws(TreeRingError) -> Root? {
    let file = try openFile()
    opened.withLock { $0 = file }
    return try newestRoot(after: commit)
  }

  /// The root of the newest meta; nil if there is none, none after `commit`, or the file is no
  /// longer the store's.
  ///
  /// Reads the meta again once the pin exists, because another checkpoint may have ended before
  /// that.
  func newestRoot(after commit: CommitNumber? = nil) throws(TreeRingError) -> Root? {
    try withNewestMeta { (file, meta) throws(TreeRingError) in
      if let commit, meta.position.commit <= commit { return nil }
      let pin = try registry.register(meta.position.commit)
      guard try file.metas().valid.first == meta else {
        throw damaged("a newer checkpoint has replaced its meta")
      }
      guard try isInForce(file) else { return nil }
      let bound = min(try file.pageBound(), meta.pageBound)
      let retained = try RetainedRoot.decode(try file.readBlob(meta.roots), below: bound)
      guard let newest = retained.last, newest.roots.commit == meta.position.commit else {
        throw damaged("its roots do not match its meta")
      }
      return Root(meta: meta, bound: bound, roots: newest.roots, pin: pin)
    }
  }

  /// A root of the past, as a meta lists it. Nothing keeps its pages.
  struct PastRoot {
    var meta: Meta
    var roots: Roots
  }

  /// The newest root at or before a commit that the newest meta lists; nil if there is none after
  /// `last`. O(1) for the meta read last, else O(roots).
  func pastRoot(
    atOrBefore commit: CommitNumber, after last: CommitNumber
  ) throws(TreeRingError) -> PastRoot? {
    try withNewestMeta { (file, meta) throws(TreeRingError) in
      let roots = try roots(of: meta, file)
      guard let found = roots.last(where: { $0.commit <= commit }), found.commit > last else {
        return nil
      }
      return PastRoot(meta: meta, roots: found)
    }
  }

  private func roots(of meta: Meta, _ file: PageFile) throws(TreeRingError) -> [Roots] {
    if let known = listed.withLock({ $0 }), known.meta == meta { return known.roots }
    let bound = min(try file.pageBound(), meta.pageBound)
    let roots = try RetainedRoot.decode(try file.readBlob(meta.roots), below: bound).map(\.roots)
    guard try file.metas().valid.first == meta else {
      throw damaged("a newer checkpoint has replaced its meta")
    }
    listed.withLock { $0 = (meta, roots) }
    return roots
  }

  /// Registers a root of the past, so that the writer keeps its pages; nil if a checkpoint has been
  /// made since, or the file is no longer the store's. Then the root may be gone.
  func register(_ past: PastRoot) throws(TreeRingError) -> Root? {
    guard let file else { return nil }
    let pin = try registry.register(past.roots.commit)
    guard try file.metas().valid.first == past.meta, try isInForce(file) else { return nil }
    let bound = min(try file.pageBound(), past.meta.pageBound)
    return Root(meta: past.meta, bound: bound, roots: past.roots, pin: pin)
  }

  /// Whether a meta is still the newest of the file.
  func isNewest(_ meta: Meta) throws(TreeRingError) -> Bool {
    try file?.metas().valid.first == meta
  }

  /// Whether an error states that part of the file is lost.
  func isDamaged(_ error: TreeRingError) -> Bool { file?.isDamaged(error) ?? false }

  /// The statistics of the file; nil if it has no meta. O(roots). Registers nothing.
  func report(at operationCount: UInt64) throws(TreeRingError) -> Checkpointer.Report? {
    try withNewestMeta { (file, meta) throws(TreeRingError) in
      var ledger = RootLedger()
      ledger.entries = try RetainedRoot.decode(try file.readBlob(meta.roots))
        .map { RootLedger.Entry(roots: $0.roots, lists: $0.deadLists) }
      return Checkpointer.Report(
        byteCount: try file.size(), pageCount: Int(meta.livePageCount), ledger: ledger,
        at: operationCount)
    }
  }

  /// Calls `body` with the newest meta; nil without one. The pages of a meta change during the read
  /// only if two more checkpoints end. They then seem damaged, and the newer meta is tried.
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
    TreeRingError(.corruption, "The page file is damaged: \(what). \(PageFile.remedy)", file: path)
  }
}
