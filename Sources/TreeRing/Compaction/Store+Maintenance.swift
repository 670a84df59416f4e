// Maintenance: work on the whole store while commits continue, which is compaction, erasing and
// backup. Only one such task runs at a time.
//
// Compaction starts automatically when a segment has been sealed, or the store opened, and the
// policy lets whole segments shrink. Every run reads the log up to the horizon. So it waits until a
// quarter of that part is not compacted yet: then reading costs only a constant factor more than
// writing.

internal import Dispatch
internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// Serialises maintenance work, and has a thread for automatic runs.
final class Maintenance: Sendable {
  private let running = OwnedLock(
    refusal:
      "A compaction, an erasing or a backup was begun, or the store closed, inside the progress "
      + "closure of another. Return false there to stop that one, and begin the next "
      + "after it."
  )
  private let thread = DispatchQueue(label: "treering.maintenance", qos: .utility)
  /// A thread for work that may wait for readers.
  private let patient = DispatchQueue(label: "treering.patience", qos: .utility)
  private let isScheduled = Atomic<Bool>(false)
  /// The number of segments when compaction was last considered.
  private let segments = Atomic<Int>(0)

  /// Runs `body` while no other maintenance work runs. Waits for work of other threads.
  /// - Throws: `notAllowed` if this thread is doing such work already; the errors of `body`.
  func alone<R>(_ body: () throws -> R) throws -> R { try running.withLock(body) }

  /// The same for a body that throws only errors of this library.
  func hold<R>(_ body: () throws(TreeRingError) -> R) throws(TreeRingError) -> R {
    try running.hold(body)
  }

  /// Throws `notAllowed` if this thread is doing maintenance work.
  func checkOutside() throws(TreeRingError) { try running.checkOutside() }

  /// Whether the number of segments has changed since the last call.
  func hasChanged(segmentCount: Int) -> Bool {
    segments.exchange(segmentCount, ordering: .relaxed) != segmentCount
  }

  /// Runs `body` on the thread, unless a run is scheduled already.
  func schedule(_ body: @escaping @Sendable () -> Void) {
    if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
    thread.async { [self] in
      isScheduled.store(false, ordering: .releasing)
      body()
    }
  }

  /// Runs `body`, which may wait for readers, at some later time.
  func later(_ body: @escaping @Sendable () -> Void) { patient.async(execute: body) }

  /// Waits for the scheduled work. For tests.
  func settle() {
    thread.sync {}
    patient.sync {}
  }
}

extension Store {
  /// Starts a compaction in the background if the policy lets enough of the log shrink. Called
  /// after a commit has become visible. O(1), except after a segment was sealed.
  func considerCompaction() {
    if options.retention.keepsEverything { return }
    guard maintenance.hasChanged(segmentCount: log.statistics.segmentCount) else { return }
    maintenance.schedule { [weak self] in self?.compactAutomatically() }
  }

  /// Runs a compaction by the policy, over sealed segments only.
  private func compactAutomatically() {
    do {
      try maintenance.alone {
        try checkOpen()
        guard let wanted = try worthwhileHorizon() else { return }
        var run = CompactionRun(wanted: wanted, keepsTags: true, gain: 0.25)
        run.sealsActive = false
        let report = try perform(run)
        options.logger.debug(
          "history was compacted",
          metadata: [
            "horizon": "\(report.horizon)", "before": "\(report.bytesBefore)",
            "after": "\(report.bytesAfter)",
          ])
      }
    } catch let error as TreeRingError where error.code == .closed {
      return
    } catch {
      options.logger.warning("compaction stopped: \(error)")
    }
  }

  /// The horizon that the policy allows, if enough uncompacted segments lie below it; nil
  /// otherwise.
  private func worthwhileHorizon() throws(TreeRingError) -> CommitNumber? {
    let sealed = log.segments.filter(\.isSealed)
    guard let last = sealed.last?.lastCommit else { return nil }
    let kept = Set(try tagged(below: .max).map(\.commit))
    let wanted = pinRegistry.limit(
      min(try wantedHorizon(.policy), last), keeping: kept,
      followed: try followers().map(\.commit))
    let below = sealed.filter { $0.lastCommit <= wanted }
    let fresh = below.filter { $0.horizon < $0.lastCommit }
    let (all, new) = (below.byteCount, fresh.byteCount)
    return new > 0 && new >= all / 4 ? wanted : nil
  }
}

extension [SegmentInfo] {
  fileprivate var byteCount: UInt64 { reduce(0) { $0 + $1.byteCount } }
}
