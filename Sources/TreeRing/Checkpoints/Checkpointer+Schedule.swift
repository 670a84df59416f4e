// When checkpoints are made, and how writers are slowed down.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TreeRingLog

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

extension Checkpointer {
  /// Asks for a checkpoint if one is due. Called after a commit has become visible. O(1).
  func consider(_ roots: Roots) {
    let counts = pages.heapPageCounts
    if counts.dirty >= budget.dirtyPages {
      schedule(isUrgent: true)
    } else if roots.operationCount
      - min(rootOperations.load(ordering: .relaxed), roots.operationCount)
      >= Self.operationInterval
    {
      schedule(isUrgent: false)
    }
    if counts.all > budget.heapPages, counts.all - counts.dirty > 64 { scheduleEviction() }
  }

  private func scheduleEviction() {
    if isEvicting.exchange(true, ordering: .acquiringAndReleasing) { return }
    thread.async { [self] in
      evict()
      isEvicting.store(false, ordering: .releasing)
    }
  }

  private func schedule(isUrgent urgent: Bool) {
    if urgent {
      if isUrgent.exchange(true, ordering: .acquiringAndReleasing) { return }
      thread.async { [weak self] in self?.runScheduled(wasUrgent: true) }
      return
    }
    if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
    let pause = state.withLock { state in
      state.lastDuration * Self.pauseFactor - (ContinuousClock.now - state.lastEnd)
    }
    let delay = DispatchTimeInterval.nanoseconds(Int(max(0, pause / .nanoseconds(1))))
    thread.asyncAfter(deadline: .now() + delay) { [weak self] in
      self?.runScheduled(wasUrgent: false)
    }
  }

  /// How many times as long as a checkpoint the pause after it is.
  private static let pauseFactor = 2

  private func runScheduled(wasUrgent: Bool) {
    if wasUrgent {
      isUrgent.store(false, ordering: .releasing)
    } else {
      isScheduled.store(false, ordering: .releasing)
    }
    guard let newest = source.withLock({ $0?.queue.visible.roots }) else { return }
    let since =
      newest.operationCount
      - min(
        rootOperations.load(ordering: .relaxed), newest.operationCount)
    let isDue =
      since >= Self.operationInterval || pages.heapPageCounts.dirty >= budget.dirtyPages
    guard isDue else { return }
    do throws(TreeRingError) {
      try run()
    } catch {
      // Noted in `failure` where it matters.
      logger.warning("A checkpoint was not made: \(error)")
    }
    evict()
  }

  /// Slows a writer down if dirty pages are too many. Called before a write, outside any lock.
  func pace() {
    let dirty = pages.heapPageCounts.dirty
    guard dirty > budget.slowPages else { return }
    schedule(isUrgent: true)
    let excess = Double(dirty - budget.slowPages) / Double(budget.heapPages - budget.slowPages)
    let start = ContinuousClock.now
    let first = Duration.microseconds(Int64(min(1, excess) * min(1, excess) * 20_000))
    Self.nap(first)
    // Beyond its share nothing grows: then the writer makes the checkpoint itself, or waits for the one
    // that is being made.
    if pages.heapPageCounts.dirty > budget.heapPages {
      do throws(TreeRingError) {
        try run()
      } catch {
        logger.warning("A checkpoint was not made: \(error)")
      }
      scheduleEviction()
    }
    let waited = ContinuousClock.now - start
    state.withLock {
      $0.statistics.slowedCommits += 1
      $0.statistics.slowedTime += waited
    }
  }

  static func nap(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec(
      tv_sec: numericCast(seconds), tv_nsec: numericCast(attoseconds / 1_000_000_000))
    nanosleep(&time, nil)
  }
}
