// The commits between sequenced and visible. Writers build on the newest sequenced version; readers
// see the newest visible one. Commits become visible in order, each once the log reports it
// complete: written, and synced if the write asked for that. Until then its version waits here,
// together with the pages to retire, the change records to keep and the waiters to wake.

internal import DequeModule
internal import Dispatch
internal import TreeRingLog
internal import TreeRingPlatform

/// A sequenced commit that is not visible yet.
struct SequencedCommit: Sendable {
  var version: Version
  var retired: [RetiredPage]
  var allocated: [PageNumber]
  /// Its change records; nil if there are none.
  var changes: CommitChanges?
}

/// The visible version, recent ones before it, and sequenced ones after it.
final class CommitQueue: Sendable {
  private struct RecentVersion {
    var version: Version
    /// The number of its pages that the next version replaced.
    var pageCount: Int
  }

  private struct State {
    var visible: Version
    /// The versions before the visible one, kept for recent reads; oldest first.
    var recent: Deque<RecentVersion> = []
    /// The number of pages that only recent versions keep, unless a snapshot keeps them too.
    var recentPageCount = 0
    var sequenced: Deque<SequencedCommit> = []
    var waiters: [Waiter] = []
    /// Whether the visible version has its lease.
    var isVisibleKept = true

    /// Whether there is a sequenced commit up to this one.
    func hasSequenced(through completed: CommitNumber) -> Bool {
      !sequenced.isEmpty && sequenced[0].version.roots.commit <= completed
    }

    /// The oldest state that a caller may still ask for.
    var oldest: StateID { (recent.first?.version ?? visible).roots.state }

    /// Removes the versions before the visible one.
    mutating func removeRecent() -> [Version] {
      defer {
        recent = []
        recentPageCount = 0
      }
      return recent.map(\.version)
    }

    /// Makes a version that has its lease visible.
    mutating func show(_ version: Version) {
      visible = version
      isVisibleKept = true
    }

    /// The visible version, with its lease: a later commit may push it out of the queue.
    mutating func keptVisible(in pins: PinTable) -> Version {
      if !isVisibleKept {
        visible.keepPages(in: pins)
        isVisibleKept = true
      }
      return visible
    }
  }

  /// A list that needs no array for one element, as most commits have.
  private struct FewElements<Element> {
    private var first: Element?
    private var others: [Element] = []

    mutating func append(_ element: Element) {
      if first == nil { first = element } else { others.append(element) }
    }

    func forEach(_ body: (Element) -> Void) {
      if let first { body(first) }
      for element in others { body(element) }
    }
  }

  /// The rest of the work when commits have become visible.
  private struct Shown {
    /// The versions no longer kept for recent reads, to be released outside the lock.
    var dropped = FewElements<Version>()
    /// The pages that the commits have replaced.
    var replaced = FewElements<ReplacedPages>()
    /// The oldest state that a caller may still ask for.
    var oldest = StateID(0)
    var duties: (replayByteCount: UInt64, hasRules: Bool) = (0, false)
    var waiters: [Waiter] = []
  }

  /// A caller that waits for a commit to be visible.
  private struct Waiter: Sendable {
    var commit: CommitNumber
    var resume: @Sendable () -> Void
  }

  private let state: Monitor<State>
  /// Held while commits become visible and the pages that they have replaced are retired.
  private let publishing = Monitor(())
  private let pins: PinTable
  private let records: ChangeRecords
  /// The maximum number of versions kept before the visible one.
  private let recentLimit = 64
  /// The maximum number of pages that they keep.
  private let recentPageLimit: Atomic<Int>
  /// The number of pages by which the visible state has grown since the queue was made.
  private let pageGrowth = Atomic<Int>(0)
  /// The thread that wakes waiters if there are several.
  private let waking = DispatchQueue(label: "treering.waking")
  /// The number of the visible version, readable without the lock.
  private let visibleNumber: Atomic<CommitNumber>
  /// Whether the visible version has rules. A hint: no order is needed.
  private let visibleRules: Atomic<Bool>

  /// - Parameter recentPageLimit: the maximum number of pages that the versions before the visible
  ///   one keep.
  init(visible: Version, pins: PinTable, records: ChangeRecords, recentPageLimit: Int) {
    self.recentPageLimit = Atomic(recentPageLimit)
    visibleNumber = Atomic(visible.roots.commit)
    visibleRules = Atomic(visible.catalog.hasRules)
    state = Monitor(State(visible: visible))
    self.pins = pins
    self.records = records
  }

  /// The newest visible commit. After reading it, `visible` is that commit's version or a later
  /// one.
  var visibleCommit: CommitNumber { visibleNumber.load(ordering: .acquiring) }

  /// The number of pages by which the visible state has grown since the queue was made. Takes no
  /// lock.
  var visiblePageGrowth: Int { pageGrowth.load(ordering: .relaxed) }

  /// Whether the visible version had rules just now. Takes no lock.
  var hasRules: Bool { visibleRules.load(ordering: .relaxed) }

  /// The visible version.
  var visible: Version { state.withLock { $0.keptVisible(in: pins) } }

  /// The visible version, and the pages that later commits have allocated so far. Pages that it or
  /// an earlier commit has replaced are retired by now: otherwise a checkpoint would lose them.
  var checkpointState: (visible: Version, unpublished: [PageNumber]) {
    publishing.withLock { _ in
      state.withLock { ($0.keptVisible(in: pins), $0.sequenced.flatMap(\.allocated)) }
    }
  }

  /// The version that the next commit builds on. It may have no lease: only the thread that makes
  /// the next commit may read its pages, and only until that commit is sequenced.
  var newest: Version { state.withLock { $0.sequenced.last?.version ?? $0.visible } }

  /// The visible version and the recent ones before it, each with its lease. O(recent versions).
  var readable: [Version] {
    state.withLock { state in
      for recent in state.recent { recent.version.keepPages(in: pins) }
      return state.recent.map(\.version) + [state.keptVisible(in: pins)]
    }
  }

  /// Sets the maximum number of pages that the versions before the visible one keep; in effect from
  /// the next commit on.
  func limitRecentPages(to count: Int) { recentPageLimit.store(count, ordering: .relaxed) }

  /// Adds a commit that the log has sequenced.
  func append(_ commit: SequencedCommit) {
    state.withLock { $0.sequenced.append(commit) }
  }

  /// Makes every sequenced commit up to `completed` visible.
  /// - Returns: the properties of the visible version that decide about work after a commit.
  @discardableResult
  func publish(
    through completed: CommitNumber
  ) -> (replayByteCount: UInt64, hasRules: Bool) {
    var shown = Shown()
    publishing.withLock { _ in
      state.withLock { show(through: completed, &$0, &shown) }
      shown.replaced.forEach { pins.retire($0, readableFrom: shown.oldest) }
    }
    wake(shown.waiters)
    return shown.duties
  }

  /// Makes every sequenced commit up to `completed` visible.
  private func show(
    through completed: CommitNumber, _ state: inout State, _ shown: inout Shown
  ) {
    let recentPageLimit = recentPageLimit.load(ordering: .relaxed)
    var growth = 0
    while state.hasSequenced(through: completed) {
      let next = state.sequenced.removeFirst()
      state.recent.append(RecentVersion(version: state.visible, pageCount: next.retired.count))
      state.recentPageCount += next.retired.count
      state.visible = next.version
      state.isVisibleKept = false
      shown.replaced.append(ReplacedPages(state: next.version.roots.state, pages: next.retired))
      growth += next.allocated.count - next.retired.count
      records.append(next.changes, of: next.version.roots.commit)
      while state.recent.count > recentLimit || state.recentPageCount > recentPageLimit,
        let oldest = state.recent.popFirst()
      {
        state.recentPageCount -= oldest.pageCount
        shown.dropped.append(oldest.version)
      }
    }
    let newest = state.visible.roots.commit
    pageGrowth.add(growth, ordering: .relaxed)
    visibleNumber.store(newest, ordering: .releasing)
    let hasRules = state.visible.catalog.hasRules
    if hasRules != self.hasRules { visibleRules.store(hasRules, ordering: .relaxed) }
    shown.oldest = state.oldest
    shown.duties = (state.visible.roots.replayByteCount, hasRules)
    if state.waiters.isEmpty { return }
    shown.waiters = state.waiters.filter { $0.commit <= newest }
    state.waiters.removeAll { $0.commit <= newest }
  }

  /// Wakes the waiters. The cost to the writer does not depend on their number: it wakes a single
  /// waiter itself, and leaves several to the thread of the queue.
  private func wake(_ waiters: [Waiter]) {
    if waiters.count < 2 {
      waiters.first?.resume()
    } else {
      waking.async { for waiter in waiters { waiter.resume() } }
    }
  }

  /// Releases the versions before the visible one.
  func evictRecentVersions() {
    let dropped = publishing.withLock { _ in
      let (dropped, oldest) = state.withLock { state in (state.removeRecent(), state.oldest) }
      pins.setRecent(from: oldest)
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// Replaces the visible version by another version of the same commit. Releases the versions
  /// before it, which use the trees that it replaces. Nothing may be sequenced.
  func replaceVisible(by version: Version) {
    let dropped = publishing.withLock { _ in
      let dropped = state.withLock { state -> [Version] in
        precondition(
          state.sequenced.isEmpty && state.visible.roots.commit == version.roots.commit,
          "only another version of the same commit can take its place")
        let old = state.removeRecent() + [state.visible]
        state.show(version)
        return old
      }
      pins.setRecent(from: version.roots.state)
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// Makes another form of the visible version visible, unless there is a newer commit. The caller
  /// holds the writer's lock.
  /// - Parameters:
  ///   - make: makes the version of the form, whose roots are pinned.
  ///   - retired: the pages that the form has replaced.
  ///   - growth: the number of pages by which it is larger.
  /// - Returns: whether the form is visible.
  func showForm(
    _ form: Roots, of base: Version, retired: [RetiredPage], growth: Int,
    make: () -> Version
  ) -> Bool {
    let isNewest = { (state: State) in state.sequenced.isEmpty && state.visible === base }
    return publishing.withLock { _ in
      // No commit is sequenced meanwhile, and none published.
      guard state.withLock({ isNewest($0) }) else { return false }
      pins.pin(form.state)
      let version = make()
      pageGrowth.add(growth, ordering: .relaxed)
      let oldest = state.withLock { state in
        state.show(version)
        return state.oldest
      }
      pins.retire(ReplacedPages(state: form.state, pages: retired), readableFrom: oldest)
      return true
    }
  }

  /// Drops the sequenced commits after `completed`, which the log has undone, and frees their
  /// pages.
  func rollBack(to completed: CommitNumber, pages: PageStore) {
    let dropped = state.withLock { state -> [SequencedCommit] in
      let kept = state.sequenced.firstIndex { $0.version.roots.commit > completed }
      guard let kept else { return [] }
      let dropped = Array(state.sequenced[kept...])
      state.sequenced.removeSubrange(kept...)
      return dropped
    }
    for commit in dropped { pages.free(commit.allocated) }
  }

  /// Calls `resume` once the commit is visible; immediately if it already is.
  func whenVisible(_ commit: CommitNumber, _ resume: @escaping @Sendable () -> Void) {
    let isVisible = state.withLock { state in
      if state.visible.roots.commit >= commit { return true }
      state.waiters.append(Waiter(commit: commit, resume: resume))
      return false
    }
    if isVisible { resume() }
  }

  /// Wakes all waiters, because no further commit will come.
  func wakeAll() {
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
