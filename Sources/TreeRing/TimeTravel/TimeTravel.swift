// Earlier states of a store. A state that is no longer in memory is rebuilt: the log is replayed
// into private pages, on top of the nearest earlier state available. The result is kept for some
// time, because a reader of one past commit often reads its neighbours too.
//
// Most readers of the past need no index or one, and a store may have many. So a replay on top of a
// state of the main line maintains the rows, and only those indexes that cannot be derived row by
// row. A reader of another index derives it, from the nearest state that has its trees
// (`Store.reader(of:at:)`). From then on, later states on top of that one maintain it too.

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
  /// The maximum number of private pages of all kept versions together. One version is always kept.
  private let pageLimit: Int
  /// The maximum length of a chain of rebuilt versions, each of which keeps the one below it. With
  /// the limit of pages it bounds the memory for a walk through history.
  private let depthLimit = 1024

  init(pages: PageStore, log: CommitLog, reclaimer: Reclaimer, pageLimit: Int) {
    self.pages = pages
    self.log = log
    self.reclaimer = reclaimer
    self.pageLimit = pageLimit
  }

  /// The commits that, at one moment, can be read or be the base of a replay.
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
    /// are gone. Below the erase boundary only the empty store does, because the log may have lost
    /// the delete of the row that is being erased.
    func isBase(_ commit: CommitNumber) throws(TreeRingError) -> Bool {
      if commit > 0, commit < bounds.eraseBoundary { return false }
      return try contains(commit)
    }
  }

  /// The version of `commit`, rebuilt on top of the nearest of `candidates` and of earlier rebuilt
  /// versions. O(operations between).
  ///
  /// The log may be rewritten during the replay. So the outcome, an error too, is valid only if the
  /// epoch is unchanged afterwards. The caller passes a valid version to `keep`.
  ///
  /// - Parameter definitions: The definitions in force now. The replay maintains those of their
  ///   indexes that were asked for at the earlier version, and those that cannot be derived row by
  ///   row.
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
    let known = try ActiveIndexes(trees, of: [catalog, definitions], code: code)
    let isRebuilt = (base?.depth ?? 0) > 0
    let asked = Set((isRebuilt ? roots.indexes.all : []).map(\.number) + built.map(\.roots.number))
    roots.indexes = IndexTrees()
    for index in trees.all {
      guard let definition = known[index.number] else { continue }
      if asked.contains(index.number) || !definition.isDerivable { roots.indexes.set(index) }
    }
    let active = try ActiveIndexes(roots.indexes, of: [catalog, definitions], code: code)
    var shared = built.filter { roots.index($0.roots.number) != nil }.map(\.lease)
    if let base { shared.append(base.lease) }
    let editor = StateEditor(
      pages: pages, epoch: commit, base: roots, catalog: catalog, active: active, code: code,
      values: ValueSource(log: log), recorder: nil, isPrivate: true)
    do throws(TreeRingError) {
      try editor.replay(log, through: commit)
      guard editor.roots.commit == commit else {
        throw TreeRingError(
          .corruption,
          "The log ends before commit \(commit), which was complete. Run `treering verify`.")
      }
    } catch {
      editor.editor.discard()
      throw error
    }
    return Version(
      roots: editor.roots, catalog: editor.catalog, pages: pages,
      own: editor.editor.finish().allocated, sharing: shared, on: base, reclaimer: reclaimer)
  }

  /// The rebuilt versions kept.
  var versions: [Version] { rebuilt.withLock { $0 } }

  /// Keeps a version for some time. Ignores a version of the main line for which no index was
  /// built. Also ignores a follower's main line, because such a version would keep its root
  /// registered with the writer.
  func keep(_ version: Version) {
    if version.depth == 0, version.use != nil || version.privatePageCount == 0 { return }
    let dropped = rebuilt.withLock { rebuilt -> [Version] in
      if let known = rebuilt.firstIndex(where: { $0 === version }) {
        rebuilt.append(rebuilt.remove(at: known))
        return []
      }
      rebuilt.append(version)
      // Counts shared pages more than once, and so keeps fewer versions than it could.
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
  func evict(where isGone: (CommitNumber) -> Bool) {
    let dropped = rebuilt.withLock { rebuilt in
      let dropped = rebuilt.filter { isGone($0.roots.commit) }
      rebuilt.removeAll { isGone($0.roots.commit) }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// Evicts every rebuilt version.
  func evictAll() {
    let dropped = rebuilt.withLock { rebuilt in
      defer { rebuilt = [] }
      return rebuilt
    }
    withExtendedLifetime(dropped) {}
  }
}
