// The schedule of checkpoints and of eviction.

internal import Dispatch
internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// Schedules a checkpoint if one is due. Called after a commit has become visible. O(1).
  func consider(_ roots: Roots) {
    updateShare()
    let (counts, share) = (pages.heapPageCounts, share)
    if counts.dirty >= share.dirtyPages || deadPart() >= Self.duePart {
      schedule(isUrgent: true)
    } else if roots.operationCount
      - min(rootOperations.load(ordering: .relaxed), roots.operationCount)
      >= Self.operationInterval
    {
      schedule(isUrgent: false)
    }
    let isOver = counts.all > share.pages && counts.all - counts.dirty > 64
    if isOver || parkedCount.load(ordering: .relaxed) > 0 { scheduleEviction() }
  }

  private func scheduleEviction() {
    if isEvicting.exchange(true, ordering: .acquiringAndReleasing) { return }
    thread.async { [self] in
      evict()
      isEvicting.store(false, ordering: .releasing)
    }
  }

  func schedule(isUrgent urgent: Bool) {
    if urgent {
      if isUrgent.exchange(true, ordering: .acquiringAndReleasing) { return }
      thread.async { [weak self] in self?.runScheduled(wasUrgent: true) }
      return
    }
    if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
    let pause = state.withLock { state in
      state.lastDuration * Self.pauseFactor - (ContinuousClock.now - state.lastEnd)
    }
    let thread = thread
    let run: @Sendable () -> Void = { [weak self] in
      thread.async { [weak self] in self?.runScheduled(wasUrgent: false) }
    }
    if pause > .zero { Alarm.shared.after(pause, run) } else { run() }
  }

  /// The ratio of the pause after a checkpoint to the checkpoint's duration.
  private static let pauseFactor = 3

  private func runScheduled(wasUrgent: Bool) {
    if wasUrgent {
      isUrgent.store(false, ordering: .releasing)
    } else {
      isScheduled.store(false, ordering: .releasing)
    }
    defer {
      evict()
      attempts.add(1, ordering: .releasing)
    }
    guard let newest = source.withLock({ $0?.queue.visible.roots }) else { return }
    let since =
      newest.operationCount
      - min(
        rootOperations.load(ordering: .relaxed), newest.operationCount)
    let isDue =
      since >= Self.operationInterval || pages.heapPageCounts.dirty >= share.dirtyPages
      || deadPart() >= Self.duePart || waiting.load(ordering: .acquiring) > 0
    guard isDue else { return }
    do throws(TreeRingError) {
      try run()
    } catch {
      // `failure` records the error where it matters.
      logger.warning("A checkpoint was not made: \(error)")
    }
  }

  /// The part of the pages that may die between two checkpoints that makes a checkpoint due.
  private static let duePart = 0.5
}
