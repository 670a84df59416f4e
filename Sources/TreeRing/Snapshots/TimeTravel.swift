// Earlier states of a store. A state no longer in memory is replayed from the log into pages of its
// own, on top of the nearest earlier state at hand, and kept for a while, since who looks at one
// past commit often looks at its neighbours.

internal import Synchronization
internal import TreeRingLog

/// Finds or rebuilds the version of a past commit.
final class TimeTravel: Sendable {
  private let pages: PageStore
  private let log: CommitLog
  private let reclaimer: Reclaimer
  /// Most recently used last.
  private let rebuilt = Mutex<[Version]>([])
  private let limit = 8
  /// How many pages of their own the versions kept may have, unless there is but one.
  private let pageLimit: Int
  /// How many versions may be built one upon the other. Each keeps the one below, so this bounds what
  /// a walk through history keeps, and so does the limit of pages.
  private let depthLimit = 1024

  init(pages: PageStore, log: CommitLog, reclaimer: Reclaimer, pageLimit: Int) {
    self.pages = pages
    self.log = log
    self.reclaimer = reclaimer
    self.pageLimit = pageLimit
  }

  /// What can be read at one moment, and be a base to replay upon.
  struct Readability {
    /// Changes when less can be read than before.
    var epoch: UInt64
    var points: KeptPoints
    /// While a row is being erased: the commit that deleted it, else 0.
    var barrier: CommitNumber

    /// Whether the log leads on from the state at a commit. Below the horizon only kept points are such: a
    /// state between two of them may hold rows whose deletes are gone. Below the barrier none is but the
    /// empty store, because the log may have lost the delete of the row that is being erased.
    func isBase(_ commit: CommitNumber) -> Bool {
      points.contains(commit) && (commit == 0 || commit >= barrier)
    }
  }

  /// The version of `commit`, rebuilt on top of the nearest of `candidates` or of earlier rebuilt
  /// ones. O(operations between).
  ///
  /// The log may be rewritten while it is replayed. So what comes out, an error too, counts only if the
  /// epoch is the same afterwards; a version that counts is handed to `remember`.
  ///
  /// - Parameter definitions: those in force now. Of their indexes, those that the earlier version has
  ///   trees of are kept in step.
  func version(
    at commit: CommitNumber, candidates: [Version], definitions: Catalog, code: [CodeIndex],
    readable: Readability
  ) throws(TreeRingError) -> Version {
    let base = (candidates + rebuilt.withLock { $0 })
      .filter { readable.isBase($0.roots.commit) }
      .filter {
        $0.roots.commit == commit
          || $0.roots.commit < commit && $0.depth < depthLimit && $0.ownPageCount < pageLimit
      }.max { $0.roots.commit < $1.roots.commit }
    if let base, base.roots.commit == commit { return base }
    return try replay(from: base, through: commit, definitions: definitions, code: code)
  }

  /// Replays commits into pages that belong to the new version alone.
  private func replay(
    from base: Version?, through commit: CommitNumber, definitions: Catalog, code: [CodeIndex]
  ) throws(TreeRingError) -> Version {
    var roots = base?.roots ?? Roots()
    let catalog = base?.catalog ?? Catalog()
    var active: [ActiveIndex?] = []
    roots.indexes = []
    for index in base?.allIndexes ?? [] {
      let record =
        catalog.indexes.values.first { $0.number == index.number }
        ?? definitions.indexes.values.first { $0.number == index.number }
      guard let definition = try record?.active(code: code) else { continue }
      active.append(definition)
      roots.indexes.append(index)
    }
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
      lease: .owned(editor.editor.finish().allocated, base: base), reclaimer: reclaimer)
  }

  /// Keeps a version for a while, unless it is of the main line.
  func remember(_ version: Version) {
    if version.depth == 0 { return }
    let dropped = rebuilt.withLock { rebuilt -> [Version] in
      if let known = rebuilt.firstIndex(where: { $0 === version }) {
        rebuilt.append(rebuilt.remove(at: known))
        return []
      }
      rebuilt.append(version)
      // What versions share is counted more than once: fewer are kept than could be.
      var pageCount = rebuilt.reduce(0) { $0 + $1.ownPageCount }
      var surplus = 0
      while surplus + 1 < rebuilt.count, rebuilt.count - surplus > limit || pageCount > pageLimit {
        pageCount -= rebuilt[surplus].ownPageCount
        surplus += 1
      }
      defer { rebuilt.removeFirst(surplus) }
      return Array(rebuilt[..<surplus])
    }
    withExtendedLifetime(dropped) {}
  }

  /// Forgets the rebuilt versions of some commits.
  func forget(where isGone: (CommitNumber) -> Bool) {
    let dropped = rebuilt.withLock { rebuilt in
      let dropped = rebuilt.filter { isGone($0.roots.commit) }
      rebuilt.removeAll { isGone($0.roots.commit) }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// Forgets every rebuilt version.
  func clear() {
    let dropped = rebuilt.withLock { rebuilt in
      defer { rebuilt = [] }
      return rebuilt
    }
    withExtendedLifetime(dropped) {}
  }
}
