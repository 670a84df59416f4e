// Keeps the page file within its bound: twice the live pages, what earlier roots may keep, and what pins keep.
//
// A page that a commit replaces is needed until two checkpoints have taken the place of the root that
// reaches it. So the file grows when much dies between two checkpoints: then the next one is made at once, and
// writers are slowed down as they are when memory is short. And roots go before they keep too much: what one
// keeps is free a checkpoint later only.

internal import Logging
internal import Synchronization
internal import TreeRingLog

extension Checkpointer {
  /// What the numbers in use stand for.
  struct PageUse: Sendable {
    /// Reached by the newest state.
    var live: Int
    /// Kept only for roots of the file, those about to leave included.
    var retained: Int
    /// Kept only for snapshots, followers, states just before the visible one, or the checkpoint that goes on.
    var pinned: Int
    /// Of the retained ones, those that the next checkpoint frees: of roots that the newest meta has dropped.
    var leaving: Int
    /// All in use.
    var all: Int
    /// What earlier roots may keep.
    var allowance: Int

    /// How many pages the file may have.
    var bound: Int { 2 * live + allowance + pinned }
  }

  /// Counts the pages; off by what writers do meanwhile. O(pins + roots).
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
      // Before there is a source nobody writes; then what transactions have made is in use too.
      let live = visible ?? max(0, used - saved - dead - blobPages)
      return PageUse(
        live: live, retained: saved + unsaved + leaving - followed,
        pinned: max(0, dead - unsaved - leaving) + followed, leaving: leaving, all: used,
        allowance: allowance(live: live, logByteCount: logByteCount))
    }
  }

  /// How many dead pages the file may keep for the sake of earlier roots: half as many as live ones, or half
  /// of what the log takes, so that looking back stays quick where history is long and the state is small, and
  /// always 4 MiB or a sixteenth of the memory budget, so that a small state is not checkpointed all the time.
  private func allowance(live: Int, logByteCount: UInt64) -> Int {
    let bytes = max(logByteCount / 2, UInt64(clamping: budget.byteCount / 16), 4 << 20)
    return max(live / 2, Int(clamping: bytes) / PageLayout.pageByteCount)
  }

  /// Works out how many pages may die until the next checkpoint has ended: as many as the bound has room for,
  /// but enough that a checkpoint is worth its while. All of the room is not given away at once: what dies
  /// before a checkpoint is kept while it lasts and while the next one does.
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

  /// How many pages may die between the last checkpoint and the end of the next one. Without a lock.
  var room: Int { deadRoom.load(ordering: .relaxed) }

  /// How many pages have died since the last checkpoint, as a part of how many may. Without a lock.
  /// - Parameter coming: how many more are about to.
  func deadPart(with coming: Int = 0) -> Double {
    let dead = pins.deadPageCount - deadBase.load(ordering: .relaxed) + coming
    return Double(dead) / Double(room)
  }

  /// The roots to be dropped, with the pages on their lists.
  func loadSurplus(
    of ledger: RootLedger
  ) throws(TreeRingError) -> [CommitNumber: [RetiredPage]] {
    let (horizon, tagged) = state.withLock { ($0.horizon, $0.tagged) }
    let readers: Set<CommitNumber>
    do throws(TreeRingError) {
      readers = try self.readers.pinnedCommits()
    } catch {
      // Who reads what is not known, so nothing may go.
      logger.warning("Followers could not be listed, so no root is dropped: \(error)")
      return [:]
    }
    state.withLock { $0.followed = readers }
    // What is dropped now is free after the next checkpoint, which will keep what dies until then: as much as
    // has died since the last one, by all one can know. Then there should be room to go on.
    let use = pageUse
    let unsaved = pins.unsavedPageCount
    let tooOld = use.retained - use.leaving + unsaved - use.allowance
    let tooMany = use.all - use.leaving + unsaved + use.live / 4 - use.bound
    return try ledger.surplus(
      excess: max(tooOld, tooMany), isHeld: { readers.contains($0.commit) },
      isDue: { $0.commit < horizon && !tagged.contains($0.commit) }
    ) { (entry) throws(TreeRingError) in
      var list: [RetiredPage] = []
      for blob in entry.lists { list += try DeadList.decode(try file.readBlob(blob)) }
      return list
    }
  }
}
