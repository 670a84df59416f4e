// Gives the room that the page file does not need back to the device, in long pauses of writing.
//
//   1. Pack the trees, if their leaves are loose (`Checkpointer+Packing.swift`).
//   2. If the roots keep more than they may, or a root more than it is worth, drop some. Their
//      pages become free with the next meta but one, so write another.
//   3. Turn free pages into holes, and the room that is reserved beyond the last page. The file
//      keeps its length, since other processes map it. A page that is written again takes new room.
//
// A page may be released whenever it may be overwritten: while its number is free. The numbers are
// taken meanwhile, so nobody else writes to them.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// Queues a release for the next long pause of writing, if there is much to release. Called after
  /// a checkpoint, and when writing has stopped a release.
  func queueRelease() {
    guard isPackingDue || releasablePageCount >= worthwhilePageCount else { return }
    schedule.queueWhenIdle(.release) { [weak self] isIdle in
      guard let self else { return }
      release(while: isIdle)
      if !isIdle() || state.withLock({ $0.packing.isAwaitingReaders }) { queueRelease() }
    }
  }

  /// Makes a release.
  /// - Parameter goesOn: asked between its steps, and after each slice.
  func release(while goesOn: () -> Bool) {
    if goesOn(), isPackingDue { pack(while: goesOn) }
    dropRoots(while: goesOn)
    if goesOn() { releaseFreePages(while: goesOn) }
  }

  /// The number of pages whose room a release gives back: those beyond the roots' allowance, those
  /// of roots that have been dropped, and free ones that are no holes.
  private var releasablePageCount: Int {
    let use = pageUse
    // Only a root before the newest can be dropped, and none that a follower reads.
    let canDrop = state.withLock { $0.ledger.entries.count > 1 }
    let kept = max(use.surplus, wastefulRoots.pageCount)
    return (canDrop ? max(0, kept) : 0) + use.leaving + pages.freePageCount
      - file.holes.withLock { $0.count }
  }

  /// The roots that keep more pages than they are worth, and the number of these pages. A root
  /// saves the replay from the root before it. It may keep at most half as many bytes as that
  /// replay has (`Roots.replayByteCount`). Amid a load in random order a root keeps a page for
  /// nearly every row.
  var wastefulRoots: (states: Set<StateID>, pageCount: Int) {
    state.withLock { state in
      var wasteful: (states: Set<StateID>, pageCount: Int) = ([], 0)
      var replayed: UInt64 = 0
      for entry in state.ledger.entries.dropLast() {
        let replay = max(replayed, entry.roots.replayByteCount)
        let count = entry.deadPageCount + pins.deadPageCount(of: entry.state)
        let isFree = !state.followed.contains(entry.commit) && !state.tagged.contains(entry.commit)
        if isFree, UInt64(count * PageLayout.pageByteCount) > (replay - replayed) / 2 {
          wasteful.states.insert(entry.state)
          wasteful.pageCount += count
        } else {
          replayed = replay
        }
      }
      return wasteful
    }
  }

  /// Drops roots that keep more than they may, or more than they are worth, and frees the pages of
  /// dropped ones.
  private func dropRoots(while goesOn: () -> Bool) {
    do throws(TreeRingError) {
      let wasteful = wastefulRoots
      let drops = wasteful.pageCount >= worthwhilePageCount
      if drops { state.withLock { $0.unwanted.formUnion(wasteful.states) } }
      if drops || pageUse.surplus > 0 { try run() }
      if goesOn(), pageUse.leaving >= worthwhilePageCount { try run(isForced: true) }
    } catch {
      // `failure` records the error where it matters.
      logger.warning("The roots were not dropped: \(error)")
    }
  }

  /// Releases the free pages that are no holes yet, a slice at a time, and the end of the file.
  private func releaseFreePages(while goesOn: () -> Bool) {
    var start: PageNumber = 1
    do throws(TreeRingError) {
      repeat {
        // A checkpoint would state that the numbers taken are in use.
        let next = try withoutCheckpoint { () throws(TreeRingError) in
          try releaseSlice(from: start)
        }
        guard let next else { return }
        start = next
      } while goesOn()
    } catch {
      // The content of free pages does not matter.
      logger.warning("The room of free pages was not given back: \(error)")
    }
  }

  /// - Returns: the number to continue from; nil at the end.
  private func releaseSlice(from start: PageNumber) throws(TreeRingError) -> PageNumber? {
    if schedule.isClosed || failure != nil { return nil }
    let numbers = takeReleasable(from: start)
    defer { pages.free(numbers) }
    guard let last = numbers.last else {
      _ = try file.releaseTail(
        ofAtLeast: UInt64(worthwhilePageCount * PageLayout.pageByteCount))
      return nil
    }
    return try file.release(numbers) ? last + 1 : nil
  }

  /// Takes free numbers that are no holes. The copy of the holes is gone afterwards: otherwise the
  /// first change of them would copy all.
  private func takeReleasable(from start: PageNumber) -> [PageNumber] {
    pages.takeFreeNumbers(
      atMost: Self.releaseSlicePageCount, from: start, except: file.holes.withLock { $0 })
  }

  /// The number of pages that are worth a release, or a packing: four megabytes, or a
  /// thirty-second of the pages in use. Otherwise a large file would lose and take the same room at
  /// every pause.
  var worthwhilePageCount: Int { max(1024, pages.filePageCount / 32) }
  /// The number of pages in a slice. Checkpoints and evictions wait for it.
  private static let releaseSlicePageCount = 256
}
