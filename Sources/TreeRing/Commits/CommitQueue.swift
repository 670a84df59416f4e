// From sequenced to visible. Writers build on the newest sequenced version; readers see the newest
// visible one. A commit becomes visible in order, once the log says it is complete: written, and
// synced if that was asked. Until then its version waits here, with what must happen when it does:
// pages to retire, change records to keep, waiters to wake.

internal import DequeModule
internal import Dispatch
internal import Synchronization
internal import TreeRingLog

/// A sequenced commit that is not visible yet.
struct SequencedCommit: Sendable {
  var version: Version
  var retired: [RetiredPage]
  var allocated: [PageNumber]
  /// Change records by index, and the indexes they are complete for.
  var records: [UInt32: [RowReference: TouchedRow]]
  /// What replaced definitions changed, by new index.
  var replacements: [UInt32: IndexReplacement] = [:]
  /// The trees that the records of indexes that compare rows are about.
  var labels: [UInt32: LabelSpan] = [:]
}

/// Versions on their way to the readers.
final class CommitQueue: Sendable {
  private struct RecentVersion {
    var version: Version
    /// How many of its pages the next version replaced.
    var pageCount: Int
  }

  private struct State {
    var visible: Version
    /// Versions before the visible one, kept for quick looks back; oldest first.
    var recent: Deque<RecentVersion> = []
    /// The pages that only recent versions keep, if no snapshot does.
    var recentPageCount = 0
    var sequenced: Deque<SequencedCommit> = []
    var waiters: [Waiter] = []
  }

  /// Somebody who waits for a commit to be visible.
  private struct Waiter: Sendable {
    var commit: CommitNumber
    var resume: @Sendable () -> Void
  }

  private let state: Mutex<State>
  /// Held while commits become visible, so that each one's pages are retired once.
  private let publishing = Mutex<Void>(())
  private let pins: PinTable
  private let records: ChangeRecords
  /// How many versions before the visible one are kept.
  private let recentLimit = 64
  /// How many pages they may keep.
  private let recentPageLimit: Atomic<Int>
  /// By how many pages the visible state has become larger since the queue was made.
  private let pageGrowth = Atomic<Int>(0)
  /// Where those are woken who wait for commits.
  private let waking = DispatchQueue(label: "treering.waking")
  /// The number of the visible version, to be asked without the lock.
  private let visibleNumber: Atomic<CommitNumber>

  /// - Parameter recentPageLimit: how many pages the versions before the visible one may keep.
  init(visible: Version, pins: PinTable, records: ChangeRecords, recentPageLimit: Int) {
    self.recentPageLimit = Atomic(recentPageLimit)
    visibleNumber = Atomic(visible.roots.commit)
    state = Mutex(State(visible: visible))
    self.pins = pins
    self.records = records
  }

  /// The newest commit that readers see; whoever is told it finds it, or a later one, in `visible`.
  var visibleCommit: CommitNumber { visibleNumber.load(ordering: .acquiring) }

  /// By how many pages what readers see has become larger since the queue was made. Without a lock.
  var visiblePageGrowth: Int { pageGrowth.load(ordering: .relaxed) }

  /// What readers see.
  var visible: Version { state.withLock { $0.visible } }

  /// What readers see, and the pages that commits after it have made so far.
  var checkpointState: (visible: Version, unpublished: [PageNumber]) {
    state.withLock { ($0.visible, $0.sequenced.flatMap(\.allocated)) }
  }

  /// What the next commit builds on.
  var newest: Version { state.withLock { $0.sequenced.last?.version ?? $0.visible } }

  /// The visible version and those kept before it.
  var readable: [Version] { state.withLock { $0.recent.map(\.version) + [$0.visible] } }

  /// From the next commit on the versions before the visible one may keep so many pages.
  func limitRecentPages(to count: Int) { recentPageLimit.store(count, ordering: .relaxed) }

  /// Adds a commit that the log has sequenced.
  func append(_ commit: SequencedCommit) {
    state.withLock { $0.sequenced.append(commit) }
  }

  /// Makes every sequenced commit up to `completed` visible.
  func publish(through completed: CommitNumber) {
    let (dropped, waiters) = publishing.withLock { _ -> ([Version], [Waiter]) in
      let ready = state.withLock { state in
        Array(state.sequenced.prefix { $0.version.roots.commit <= completed })
      }
      // First, while the commit before is still pinned by being visible: whoever finds a commit visible
      // finds the pages that it replaced on the dead lists, or a checkpoint of it would lose them.
      for commit in ready {
        pins.retire(commit.retired, at: commit.version.roots.commit)
        pageGrowth.add(commit.allocated.count - commit.retired.count, ordering: .relaxed)
      }
      return state.withLock { show(ready, &$0) }
    }
    withExtendedLifetime(dropped) {}
    wake(waiters)
  }

  /// - Returns: the versions that nobody needs for quick looks back any more, and who waited.
  private func show(
    _ ready: [SequencedCommit], _ state: inout State
  ) -> ([Version], [Waiter]) {
    let recentPageLimit = recentPageLimit.load(ordering: .relaxed)
    var dropped: [Version] = []
    state.sequenced.removeFirst(ready.count)
    for next in ready {
      state.recent.append(RecentVersion(version: state.visible, pageCount: next.retired.count))
      state.recentPageCount += next.retired.count
      state.visible = next.version
      records.append(
        next.records, next.replacements, labels: next.labels, of: next.version.roots.commit)
      while state.recent.count > recentLimit || state.recentPageCount > recentPageLimit,
        let oldest = state.recent.popFirst()
      {
        state.recentPageCount -= oldest.pageCount
        dropped.append(oldest.version)
      }
    }
    let newest = state.visible.roots.commit
    visibleNumber.store(newest, ordering: .releasing)
    if state.waiters.isEmpty { return (dropped, []) }
    let woken = state.waiters.filter { $0.commit <= newest }
    state.waiters.removeAll { $0.commit <= newest }
    return (dropped, woken)
  }

  /// Wakes those who waited for a commit. However many they are, it costs the writer the same: it wakes
  /// a single one itself and leaves several to a thread of the queue's own.
  private func wake(_ waiters: [Waiter]) {
    if waiters.count < 2 {
      waiters.first?.resume()
    } else {
      waking.async { for waiter in waiters { waiter.resume() } }
    }
  }

  /// Lets go of the versions before the visible one.
  func forgetRecent() {
    let dropped = state.withLock { state in
      defer {
        state.recent = []
        state.recentPageCount = 0
      }
      return state.recent
    }
    withExtendedLifetime(dropped) {}
  }

  /// Puts another version of the same commit in the place of the visible one, and lets go of those before
  /// it, which stand on what it is to take the place of; nothing is sequenced.
  func replaceVisible(by version: Version) {
    let dropped = state.withLock { state -> [Version] in
      precondition(
        state.sequenced.isEmpty && state.visible.roots.commit == version.roots.commit,
        "only another version of the same commit can take its place")
      let old = state.recent.map(\.version) + [state.visible]
      state.recent = []
      state.recentPageCount = 0
      state.visible = version
      return old
    }
    withExtendedLifetime(dropped) {}
  }

  /// Drops the sequenced commits after `completed`, which the log has given up.
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

  /// Calls `resume` once the commit is visible; at once if it is.
  func whenVisible(_ commit: CommitNumber, _ resume: @escaping @Sendable () -> Void) {
    let isVisible = state.withLock { state in
      if state.visible.roots.commit >= commit { return true }
      state.waiters.append(Waiter(commit: commit, resume: resume))
      return false
    }
    if isVisible { resume() }
  }

  /// Wakes everybody who waits for a commit, because none will come any more.
  func wakeAll() {
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
