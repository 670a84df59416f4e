// The roots that the page file keeps, as others ask for them.

internal import Synchronization
internal import TreeRingLog

extension Checkpointer {
  /// The version of the newest root at or before a commit; nil if there is none.
  func version(atOrBefore commit: CommitNumber) throws(TreeRingError) -> Version? {
    let roots = state.withLock { state -> Roots? in
      guard let entry = state.ledger.entry(atOrBefore: commit) else { return nil }
      pins.pin(entry.commit)
      return entry.roots
    }
    guard let roots else { return nil }
    do {
      let catalog = try pages.reading { try Catalog(Tree(roots.catalog, pages: pages)) }
      return Version(
        roots: roots, catalog: catalog, pages: pages, lease: .pinned, reclaimer: reclaimer)
    } catch {
      pins.unpin(roots.commit)
      throw error as? TreeRingError
        ?? TreeRingError(.unknown, "An unexpected error came up: \(error).")
    }
  }

  /// What the file holds and what has been done for it.
  func report(at operationCount: UInt64) throws(TreeRingError) -> Report {
    let byteCount = try file.size()
    let use = pageUse
    var report = state.withLock { state in
      Report(
        byteCount: byteCount, pageCount: pages.livePageCount, ledger: state.ledger,
        at: operationCount, statistics: state.statistics)
    }
    report.retainedPageCount = use.retained
    report.pinnedPageCount = use.pinned
    return report
  }

  struct Report {
    var byteCount: UInt64
    var pageCount: Int
    var rootCount: Int
    var retainedPageCount: Int
    var pinnedPageCount = 0
    var widestGap: UInt64
    var statistics: CheckpointStatistics

    init(
      byteCount: UInt64, pageCount: Int, ledger: RootLedger, at operationCount: UInt64,
      statistics: CheckpointStatistics
    ) {
      self.byteCount = byteCount
      self.pageCount = pageCount
      rootCount = ledger.entries.count
      retainedPageCount = ledger.deadPageCount
      widestGap = ledger.widestGap(to: operationCount)
      self.statistics = statistics
    }
  }

  /// Roots before a commit are dropped with the next checkpoint, except those of these commits.
  func forgetRoots(before horizon: CommitNumber, keeping tagged: Set<CommitNumber>) {
    state.withLock {
      $0.horizon = max($0.horizon, horizon)
      $0.tagged = tagged
    }
  }

  /// Every page that a root of the file reaches or a blob takes. For checks.
  func reachablePages() throws(TreeRingError) -> Set<PageNumber> {
    let (entries, leaving, blobs) = state.withLock { ($0.ledger.entries, $0.leaving, $0.blobs) }
    var reachable = Set(blobs.flatMap(\.pages))
    for entry in entries + leaving {
      for root in entry.roots.trees {
        reachable.formUnion(TreeChecker.reachablePages(root, pages: pages))
      }
      for list in entry.lists { reachable.formUnion(try file.pages(of: list)) }
    }
    return reachable
  }
}
