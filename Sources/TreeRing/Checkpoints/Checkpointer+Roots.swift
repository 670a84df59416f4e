// Access to the roots that the page file keeps.

internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// The version of the newest root at or before a commit; nil if there is none after `last`.
  func version(
    atOrBefore commit: CommitNumber, after last: CommitNumber
  ) throws(TreeRingError) -> Version? {
    let roots = state.withLock { state -> Roots? in
      guard let entry = state.ledger.entry(atOrBefore: commit), entry.commit > last else {
        return nil
      }
      pins.pin(entry.state)
      return entry.roots
    }
    guard let roots else { return nil }
    do {
      let catalog = try pages.reading { try Catalog(Tree(roots.catalog, pages: pages)) }
      return Version(
        roots: roots, catalog: catalog, pages: pages, reclaimer: reclaimer)
    } catch {
      pins.unpin(roots.state)
      throw error as? TreeRingError
        ?? TreeRingError(.unknown, "An unexpected error came up: \(error).")
    }
  }

  /// Calls `body` with the nearest roots at or before a commit, and at or after it. They are pinned
  /// during the call.
  func withRoots<R>(
    around commit: CommitNumber, _ body: ([Roots]) throws -> R
  ) rethrows -> R {
    let roots = state.withLock { state in
      let entries = state.ledger.entries
      let nearest = [entries.last { $0.commit <= commit }, entries.first { $0.commit >= commit }]
      return nearest.compactMap { entry in
        if let entry { pins.pin(entry.state) }
        return entry?.roots
      }
    }
    defer { for root in roots { reclaimer.release(pin: root.state) } }
    return try body(roots)
  }

  /// The content of the file and the work of checkpoints so far.
  func report(at operationCount: UInt64) throws(TreeRingError) -> Report {
    let byteCount = try file.size()
    let use = pageUse
    var report = state.withLock { state in
      var report = Report(
        byteCount: byteCount, pageCount: pages.livePageCount, ledger: state.ledger,
        at: operationCount)
      report.checkpointCount = state.checkpointCount
      report.checkpointTime = state.checkpointTime
      return report
    }
    report.delays = throttle.delays
    report.writtenPageCount = evictor.writtenPageCount
    report.evictedPageCount = evictor.evictedPageCount
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
    /// The number of checkpoints since the store was opened.
    var checkpointCount = 0
    var checkpointTime: Duration = .zero
    /// Pages that became durable in the file since then, and pages evicted from the heap.
    var writtenPageCount = 0
    var evictedPageCount = 0
    var delays = WriterThrottle.Delays()

    init(byteCount: UInt64, pageCount: Int, ledger: RootLedger, at operationCount: UInt64) {
      self.byteCount = byteCount
      self.pageCount = pageCount
      rootCount = ledger.entries.count
      retainedPageCount = ledger.deadPageCount
      widestGap = ledger.widestGap(to: operationCount)
    }
  }

  /// Lets the next checkpoint drop the roots before a commit, except those of tagged commits.
  func forgetRoots(before horizon: CommitNumber, keeping tagged: Set<CommitNumber>) {
    state.withLock {
      $0.horizon = max($0.horizon, horizon)
      $0.tagged = tagged
    }
  }

  /// Every page that a root of the file reaches or a blob uses. For checks.
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
