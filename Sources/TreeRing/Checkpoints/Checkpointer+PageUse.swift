// Keeps the page file within its bound (`PageUse`): counts the pages, sets the room of writers, and
// chooses the roots to drop.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// The count of pages by use. Concurrent writers make it inexact. O(pins + roots).
  var pageUse: PageUse {
    let logByteCount = log.statistics.byteCount
    let visible = source.withLock { $0?.pageCount }
    return state.withLock { state in
      let saved = state.ledger.deadPageCount
      let unsaved = pins.unsavedPageCount
      let leaving = state.ending.reduce(0) { $0 + pins.deadPageCount(of: $1.state) }
      let followed = state.ledger.entries.reduce(0) { sum, entry in
        guard state.followed.contains(entry.commit) else { return sum }
        return sum + entry.deadPageCount + pins.deadPageCount(of: entry.state)
      }
      let blobPages = state.blobs.reduce(state.ledger.listPageCount) { $0 + $1.pages.count }
      let dead = pins.deadPageCount
      let used = pages.filePageCount
      // Without a source there are no writers; then the pages that transactions have made are in
      // use too.
      let live = visible ?? max(0, used - saved - dead - blobPages)
      return PageUse(
        live: live, retained: saved + unsaved + leaving - followed,
        pinned: max(0, dead - unsaved - leaving) + followed, leaving: leaving, unsaved: unsaved,
        all: used,
        allowance: PageUse.allowance(live: live, logByteCount: logByteCount, budget: budget),
        leastLive: budget.leastLivePages)
    }
  }

  /// Gives the file, the writers and the recent versions their limits until the next checkpoint.
  func updateRoom() {
    let use = pageUse
    file.limitReserve(to: use.bound)
    throttle.setRoom(use.room)
    limitGrowth(use)
    source.withLock { source in
      source?.queue.limitRecentPages(to: min(budget.recentPages, max(256, use.live / 8)))
    }
  }

  /// Lets pages have new numbers up to the file's bound, if they do not all fit in memory.
  func limitGrowth(_ use: PageUse) {
    pages.limitGrowth(to: use.live > evictor.share.pages ? use.bound : 0)
  }

  /// The number of pages that may die between the last checkpoint and the end of the next one.
  /// Takes no lock.
  var room: Int { throttle.room }

  /// The roots to drop, with the pages on their lists.
  func loadSurplus(
    of ledger: RootLedger
  ) throws(TreeRingError) -> [StateID: [RetiredPage]] {
    let (horizon, tagged, unwanted) = state.withLock { ($0.horizon, $0.tagged, $0.unwanted) }
    let visible = source.withLock { $0?.queue.visible.roots.state }
    let readers: Set<CommitNumber>
    do throws(TreeRingError) {
      readers = try self.readers.pinnedCommits()
    } catch {
      // The roots that followers read are unknown, so none may be dropped.
      logger.warning("Followers could not be listed, so no root is dropped: \(error)")
      state.withLock { $0.followed.formUnion($0.leaving.map(\.commit)) }
      return [:]
    }
    state.withLock { $0.followed = readers }
    return try ledger.surplus(
      excess: pageUse.surplus, isHeld: { readers.contains($0.commit) },
      isReplaced: ledger.newest.map { visible?.commit == $0.commit && visible != $0.state }
        ?? false,
      isDue: { $0.commit < horizon && !tagged.contains($0.commit) || unwanted.contains($0.state) }
    ) { (entry) throws(TreeRingError) in
      var list: [RetiredPage] = []
      for blob in entry.lists {
        list += try DeadList.decode(try file.readBlob(blob), below: pages.pageNumberBound)
      }
      return list
    }
  }
}
