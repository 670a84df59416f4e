// Keeping the page file within its bound: twice the live pages, an allowance for earlier roots, and
// the pages that pins keep.
//
// A page that a commit replaces is needed until two checkpoints have replaced the root that reaches
// it. So the file grows when many pages die between two checkpoints. Then the next checkpoint
// starts at once, and writers are throttled as they are when memory is short. Roots are dropped
// before they keep too much, since the pages that one keeps become free only one checkpoint later.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// The use of the page numbers.
  struct PageUse: Sendable {
    /// The number of pages that the newest state reaches.
    var live: Int
    /// The number of pages kept only for roots of the file, roots about to leave included.
    var retained: Int
    /// The number of pages kept only for snapshots, followers, states just before the visible one,
    /// or a running checkpoint.
    var pinned: Int
    /// The number of retained pages that the next checkpoint frees: those of roots that the newest
    /// meta has dropped.
    var leaving: Int
    /// The number of all pages in use.
    var all: Int
    /// The number of pages that earlier roots may keep.
    var allowance: Int

    /// The maximum number of pages in the file.
    var bound: Int { 2 * live + allowance + pinned }
  }

  /// The count of pages by use. Concurrent writers make it inexact. O(pins + roots).
  var pageUse: PageUse {
    let logByteCount = log.statistics.byteCount
    let visible = source.withLock { $0?.pageCount }
    return state.withLock { state in
      let saved = state.ledger.deadPageCount
      let unsaved = pins.unsavedPageCount
      let leaving = state.leaving.reduce(0) { $0 + pins.deadPageCount(of: $1.commit) }
      let followed = state.ledger.entries.reduce(0) { sum, entry in
        guard state.followed.contains(entry.commit) else { return sum }
        return sum + entry.deadPageCount + pins.deadPageCount(of: entry.commit)
      }
      let blobPages = state.blobs.reduce(state.ledger.listPageCount) { $0 + $1.pages.count }
      let dead = pins.deadPageCount
      let used = pages.filePageCount
      // Without a source there are no writers; then the pages that transactions have made are in
      // use too.
      let live = visible ?? max(0, used - saved - dead - blobPages)
      return PageUse(
        live: live, retained: saved + unsaved + leaving - followed,
        pinned: max(0, dead - unsaved - leaving) + followed, leaving: leaving, all: used,
        allowance: allowance(live: live, logByteCount: logByteCount))
    }
  }

  /// The number of dead pages that the file may keep for earlier roots: half as many as live ones,
  /// or half of the log's size. So time travel stays fast where history is long and the state is
  /// small. It is never below 4 MiB or a sixteenth of the memory budget, so that a small state is
  /// not checkpointed all the time.
  private func allowance(live: Int, logByteCount: UInt64) -> Int {
    let bytes = max(logByteCount / 2, UInt64(clamping: budget.byteCount / 16), 4 << 20)
    return max(live / 2, Int(clamping: bytes) / PageLayout.pageByteCount)
  }

  /// Computes the number of pages that may die before the next checkpoint ends: as many as the
  /// bound has room for, but enough to make a checkpoint worthwhile. It does not use up all of the
  /// room at once: pages that die before a checkpoint are kept during that one and the next.
  func updateRoom() {
    let use = pageUse
    // A 64th is for lists, and for commits that are larger than the one before.
    let room = use.bound / 64 * 63 - use.all
    let most = (use.live + use.allowance) / 2
    file.limitReserve(to: use.bound)
    deadBase.store(pins.deadPageCount, ordering: .relaxed)
    deadRoom.store(min(max(room, use.live / 8, 256), most), ordering: .relaxed)
    source.withLock { source in
      source?.queue.limitRecentPages(to: min(budget.recentPages, max(256, use.live / 8)))
    }
  }

  /// The number of pages that may die between the last checkpoint and the end of the next one.
  /// Takes no lock.
  var room: Int { deadRoom.load(ordering: .relaxed) }

  /// The number of pages that have died since the last checkpoint, as a part of the allowed number.
  /// Takes no lock.
  /// - Parameter coming: the number of pages that are about to die.
  func deadPart(with coming: Int = 0) -> Double {
    let dead = pins.deadPageCount - deadBase.load(ordering: .relaxed) + coming
    return Double(dead) / Double(room)
  }

  /// The roots to drop, with the pages on their lists.
  func loadSurplus(
    of ledger: RootLedger
  ) throws(TreeRingError) -> [CommitNumber: [RetiredPage]] {
    let (horizon, tagged) = state.withLock { ($0.horizon, $0.tagged) }
    let readers: Set<CommitNumber>
    do throws(TreeRingError) {
      readers = try self.readers.pinnedCommits()
    } catch {
      // The roots that followers read are unknown, so none may be dropped.
      logger.warning("Followers could not be listed, so no root is dropped: \(error)")
      return [:]
    }
    state.withLock { $0.followed = readers }
    // Pages of roots dropped now are free after the next checkpoint. That one will keep the pages
    // that die until then: probably as many as have died since the last one. After that there
    // should be room to continue.
    let use = pageUse
    let unsaved = pins.unsavedPageCount
    let tooOld = use.retained - use.leaving + unsaved - use.allowance
    let tooMany = use.all - use.leaving + unsaved + use.live / 4 - use.bound
    return try ledger.surplus(
      excess: max(tooOld, tooMany), isHeld: { readers.contains($0.commit) },
      isDue: { $0.commit < horizon && !tagged.contains($0.commit) }
    ) { (entry) throws(TreeRingError) in
      var list: [RetiredPage] = []
      for blob in entry.lists {
        list += try DeadList.decode(try file.readBlob(blob), below: pages.pageNumberBound)
      }
      return list
    }
  }
}
