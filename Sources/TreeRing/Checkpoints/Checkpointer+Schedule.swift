// The work between commits: queues checkpoints and evictions that are due, and delays writers.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// Queues the work that is due. Called after a commit has become visible. O(1).
  /// - Parameter replayByteCount: `Roots.replayByteCount` of the visible version.
  func consider(replayByteCount: UInt64) {
    // The share shrinks by eight bytes for each new page, so it need not be computed every time.
    if schedule.countCommit() % 64 == 0 { evictor.updateShare() }
    let replay = self.replayByteCount(after: replayByteCount)
    let dirty = pages.heapPageCounts.dirty
    if dirty >= evictor.share.dirtyPages || throttle.deadPart() >= CheckpointSchedule.duePart
      || replay >= CheckpointSchedule.urgentReplay
    {
      queueCheckpoint(.urgentCheckpoint)
    } else if replay >= CheckpointSchedule.cheapReplay,
      UInt64(dirty * PageLayout.pageByteCount) <= replay
    {
      queueCheckpoint(.cheapCheckpoint)
    } else if replay >= CheckpointSchedule.dueReplay {
      queueCheckpoint(.checkpoint)
    }
    if evictor.isDue, !schedule.isQueued(.eviction) {
      schedule.queue(.eviction) { [weak self] in self?.evict() }
    }
  }

  /// Evicts pages as `Evictor.evict` does, unless the file is about to be closed.
  func evict(isForced: Bool = false, napLimit: Int = 100) {
    if !schedule.isClosed { evictor.evict(isForced: isForced, napLimit: napLimit) }
  }

  /// Writes pages of an unfinished transaction early if memory is short; see `Evictor.spill`.
  func spill(_ editor: PageEditor) throws(TreeRingError) {
    if let failure { throw failure }
    schedule.countEdits()
    do throws(TreeRingError) {
      try evictor.spill(editor, to: file, log)
    } catch {
      fail(error)
      throw error
    }
  }

  func queueCheckpoint(_ work: CheckpointSchedule.Work) {
    if schedule.isQueued(work) { return }
    schedule.queue(work) { [weak self] in self?.runQueued() }
  }

  private func runQueued() {
    defer {
      evict()
      schedule.countAttempt()
    }
    guard let newest = source.withLock({ $0?.queue.visible.roots }) else { return }
    let isDue =
      replayByteCount(after: newest.replayByteCount) >= CheckpointSchedule.dueReplay
      || pages.heapPageCounts.dirty >= evictor.share.dirtyPages
      || throttle.deadPart() >= CheckpointSchedule.duePart || throttle.isAwaited
    guard isDue else { return }
    do throws(TreeRingError) {
      try run()
    } catch {
      // `failure` records the error where it matters.
      logger.warning("A checkpoint was not made: \(error)")
    }
  }

  /// The replay from the newest root to a later state with this `Roots.replayByteCount`, in the
  /// same unit.
  private func replayByteCount(after byteCount: UInt64) -> UInt64 {
    byteCount - min(rootReplay.load(ordering: .relaxed), byteCount)
  }
}
