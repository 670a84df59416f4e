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
  /// A rebuilt version, kept for later requests.
  private struct Kept {
    var version: Version
    var lastUse = ContinuousClock.now
  }

  private let pages: PageStore
  private let log: CommitLog
  private let reclaimer: Reclaimer
  /// Ordered by last use, the most recent last.
  private let rebuilt = Mutex<[Kept]>([])
  private let limit = 64
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
    /// Reads the version whose tags apply.
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

  /// The nearest version at or before a commit from which a replay can start, among `candidates`
  /// and the rebuilt versions; nil if there is none.
  ///
  /// A rebuilt version keeps those below it. It is no base once the ones above the lowest have made
  /// as many pages as all kept versions may have.
  func base(
    for commit: CommitNumber, among candidates: [Version], readable: Readability
  ) throws(TreeRingError) -> Version? {
    let usable = (candidates + versions)
      .filter {
        $0.roots.commit == commit
          || $0.roots.commit < commit && $0.depth < depthLimit
            && $0.lease.stackedPageCount < pageLimit
      }.sorted { $0.roots.commit > $1.roots.commit }
    for version in usable where try readable.isBase(version.roots.commit) { return version }
    return nil
  }

  /// The version of `commit`, rebuilt on top of an earlier one; nil for the empty store. The base
  /// itself if it is of that commit. O(operations between).
  ///
  /// The log may be rewritten during the replay. So the outcome, an error too, is valid only if the
  /// epoch is unchanged afterwards. The caller passes a valid version to `keep`.
  ///
  /// - Parameter definitions: The definitions in force now. The replay maintains those of their
  ///   indexes that were asked for at the earlier version, and those that cannot be derived row by
  ///   row.
  func version(
    at commit: CommitNumber, on base: Version?, definitions: Catalog, code: [CodeIndex]
  ) throws(TreeRingError) -> Version {
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
  var versions: [Version] { rebuilt.withLock { $0.map(\.version) } }

  /// Keeps a version for some time. Ignores a version of the main line for which no index was
  /// built. Also ignores a follower's main line, because such a version would keep its root
  /// registered with the writer. O(versions that kept ones are built on).
  func keep(_ version: Version) {
    if version.depth == 0, version.use != nil || version.privatePageCount == 0 { return }
    let dropped = rebuilt.withLock { rebuilt -> [Kept] in
      rebuilt.removeAll { $0.version === version }
      rebuilt.append(Kept(version: version))
      let surplus = surplus(of: rebuilt.map(\.version))
      defer { rebuilt.removeFirst(surplus) }
      return Array(rebuilt[..<surplus])
    }
    withExtendedLifetime(dropped) {}
  }

  /// The number of versions to evict, the first ones. A page counts for the latest version that
  /// needs it.
  private func surplus(of versions: [Version]) -> Int {
    var pageCount = 0
    var counted: Set<ObjectIdentifier> = []
    for (index, version) in versions.enumerated().reversed() {
      var leases = version.leases
      while let lease = leases.popLast() {
        guard lease.depth > 0, counted.insert(ObjectIdentifier(lease)).inserted else { continue }
        pageCount += lease.pages.count
        leases += lease.shared
      }
      let isLast = index == versions.count - 1
      if !isLast, pageCount > pageLimit || versions.count - index > limit { return index + 1 }
    }
    return 0
  }

  /// Evicts the rebuilt versions of some commits.
  func evict(where isGone: (CommitNumber) -> Bool) {
    evict { isGone($0.version.roots.commit) }
  }

  /// In a follower: evicts the versions that keep a root of the writer's page file registered, if
  /// nobody has asked for them or for an index of theirs for some time.
  func evict(unusedFor time: Duration) {
    let limit = ContinuousClock.now - time
    // An index that was built later may share pages of another root than its version.
    evict { $0.lastUse < limit && $0.version.leases.contains(where: \.keepsRoot) }
  }

  /// Evicts every rebuilt version.
  func evictAll() { evict { (_: Kept) in true } }

  private func evict(_ isGone: (Kept) -> Bool) {
    let dropped = rebuilt.withLock { rebuilt in
      let dropped = rebuilt.filter(isGone)
      rebuilt.removeAll(where: isGone)
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }
}
