// Earlier states of a store. A state that is no longer in memory is replayed from the log, on top
// of the nearest earlier state available, into pages of its own. It is kept for a while, because a
// reader of one past commit often reads its neighbours too.

internal import TreeRingLog
internal import TreeRingPlatform

/// Finds or rebuilds the version of a past commit.
final class TimeTravel: Sendable {
  private let pages: PageStore
  private let log: CommitLog
  private let reclaimer: Reclaimer
  /// Ordered by last use, the most recent last.
  private let rebuilt = Mutex<[Version]>([])
  private let limit = 8
  /// The most private pages that the kept versions may have together; one version is kept whatever
  /// its size.
  private let pageLimit: Int
  /// The longest chain of rebuilt versions. Each version keeps the one below it. So this limit and
  /// that of pages bound the memory that a walk through history keeps.
  private let depthLimit = 1024

  init(pages: PageStore, log: CommitLog, reclaimer: Reclaimer, pageLimit: Int) {
    self.pages = pages
    self.log = log
    self.reclaimer = reclaimer
    self.pageLimit = pageLimit
  }

  /// The commits that can be read at one moment, or be the base of a replay.
  struct Readability {
    var bounds: PinRegistry.Bounds
    /// The version whose tags apply, kept alive while they are read.
    var newest: Version
    /// Reads `newest`.
    var reader: StateReader

    /// Whether the state at a commit can be read. The empty store before the first commit always
    /// can. O(log n).
    func contains(_ commit: CommitNumber) throws(TreeRingError) -> Bool {
      if commit == 0 || commit >= bounds.horizon { return true }
      return try reader.isTagged(commit)
    }

    /// Whether replaying the log from the state at a commit leads to the right states. Below the
    /// horizon only kept points qualify: a state between two of them may hold rows whose deletes
    /// are gone. Below the barrier only the empty store does, because the log may have lost the
    /// delete of the row that is being erased.
    func isBase(_ commit: CommitNumber) throws(TreeRingError) -> Bool {
      if commit > 0, commit < bounds.barrier { return false }
      return try contains(commit)
    }
  }

  /// The version of `commit`, rebuilt on top of the nearest of `candidates` and of earlier rebuilt
  /// versions. O(operations between).
  ///
  /// The log may be rewritten during the replay. So the outcome, an error too, is valid only if the
  /// epoch is unchanged afterwards. The caller passes a valid version to `remember`.
  ///
  /// - Parameter definitions: The definitions in force now. The replay maintains those of their
  ///   indexes that the earlier version has trees of.
  func version(
    at commit: CommitNumber, candidates: [Version], definitions: Catalog, code: [CodeIndex],
    readable: Readability
  ) throws(TreeRingError) -> Version {
    let usable = (candidates + rebuilt.withLock { $0 })
      .filter {
        $0.roots.commit == commit
          || $0.roots.commit < commit && $0.depth < depthLimit && $0.lease.ownPageCount < pageLimit
      }.sorted { $0.roots.commit > $1.roots.commit }
    var base: Version?
    for version in usable where try readable.isBase(version.roots.commit) {
      base = version
      break
    }
    if let base, base.roots.commit == commit { return base }
    return try replay(from: base, through: commit, definitions: definitions, code: code)
  }

  /// Replays commits into pages that belong to the new version alone.
  private func replay(
    from base: Version?, through commit: CommitNumber, definitions: Catalog, code: [CodeIndex]
  ) throws(TreeRingError) -> Version {
    var roots = base?.roots ?? Roots()
    let catalog = base?.catalog ?? Catalog()
    var trees = IndexTrees()
    let built = base?.builtIndexes ?? []
    for index in roots.indexes.all + built.map(\.roots) { trees.set(index) }
    let active = try ActiveIndexes(trees, of: [catalog, definitions], code: code)
    roots.indexes = IndexTrees()
    for index in trees.all where active[index.number] != nil { roots.indexes.set(index) }
    var shared = built.filter { roots.index($0.roots.number) != nil }.map(\.lease)
    if let base { shared.append(base.lease) }
    let editor = StateEditor(
      pages: pages, epoch: commit, base: roots, catalog: catalog, active: active, code: code,
      values: ValueSource(log: log), recorder: nil, isPrivate: true)
    do throws(TreeRingError) {
      try typed { try editor.replay(log, through: commit) }
      guard editor.roots.commit == commit else {
        throw TreeRingError(
          .corruption, "The log ends before commit \(commit). Run `treering verify`.")
      }
    } catch {
      editor.editor.discard()
      throw error
    }
    return Version(
      roots: editor.roots, catalog: editor.catalog, pages: pages,
      own: editor.editor.finish().allocated, sharing: shared, reclaimer: reclaimer)
  }

  /// The rebuilt versions kept.
  var versions: [Version] { rebuilt.withLock { $0 } }

  /// Keeps a version for a while. Skips a main-line version for which no index was built, and any
  /// of a follower's main line, because it would keep a root registered with the writer.
  func remember(_ version: Version) {
    if version.depth == 0, version.use != nil || version.privatePageCount == 0 { return }
    let dropped = rebuilt.withLock { rebuilt -> [Version] in
      if let known = rebuilt.firstIndex(where: { $0 === version }) {
        rebuilt.append(rebuilt.remove(at: known))
        return []
      }
      rebuilt.append(version)
      // Shared pages are counted more than once, so fewer versions are kept than could be.
      var pageCount = rebuilt.reduce(0) { $0 + $1.privatePageCount }
      var surplus = 0
      while surplus + 1 < rebuilt.count, rebuilt.count - surplus > limit || pageCount > pageLimit {
        pageCount -= rebuilt[surplus].privatePageCount
        surplus += 1
      }
      defer { rebuilt.removeFirst(surplus) }
      return Array(rebuilt[..<surplus])
    }
    withExtendedLifetime(dropped) {}
  }

  /// Evicts the rebuilt versions of some commits.
  func forget(where isGone: (CommitNumber) -> Bool) {
    let dropped = rebuilt.withLock { rebuilt in
      let dropped = rebuilt.filter { isGone($0.roots.commit) }
      rebuilt.removeAll { isGone($0.roots.commit) }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// Evicts every rebuilt version.
  func clear() {
    let dropped = rebuilt.withLock { rebuilt in
      defer { rebuilt = [] }
      return rebuilt
    }
    withExtendedLifetime(dropped) {}
  }
}
