// The trees of an open store and everything that serves them. The log is not part of the engine: an
// engine can be rebuilt from it at any time.

internal import TreeRingLog

/// The trees, their pages and their versions.
final class Engine: Sendable {
  let pages: PageStore
  let pins: PinTable
  let reclaimer: Reclaimer
  let records: ChangeRecords
  let queue: CommitQueue
  let timeTravel: TimeTravel
  /// Writes the page file; nil for a store without one.
  let checkpointer: Checkpointer?
  // Copied from the checkpointer, because every commit uses them: retaining an object that has weak
  // references is slow.
  /// Delays writers.
  private let throttle: WriterThrottle?
  /// Writes pages of an unfinished transaction early if memory is short.
  let spill: (@Sendable (PageEditor) throws(TreeRingError) -> Void)?

  init(
    pages: PageStore, pins: PinTable, reclaimer: Reclaimer, log: CommitLog, visible: Version,
    budget: MemoryBudget, checkpointer: Checkpointer?
  ) {
    self.pages = pages
    self.pins = pins
    self.reclaimer = reclaimer
    self.checkpointer = checkpointer
    throttle = checkpointer?.throttle
    spill =
      if let checkpointer {
        { (editor: PageEditor) throws(TreeRingError) -> Void in try checkpointer.spill(editor) }
      } else {
        nil
      }
    records = ChangeRecords(byteLimit: budget.recordBytes)
    queue = CommitQueue(
      visible: visible, pins: pins, records: records, recentPageLimit: budget.recentPages)
    timeTravel = TimeTravel(
      pages: pages, log: log, reclaimer: reclaimer, pageLimit: budget.rebuiltPages)
  }

  /// Delays the writer of the latest commit while memory or room in the page file is short; see
  /// `WriterThrottle.delay`. Called outside any lock.
  func throttle(after pageCount: Int) {
    throttle?.delay(after: pageCount) { checkpointer?.queueCheckpoint(.urgentCheckpoint) }
  }

  deinit {
    timeTravel.evictAll()
    reclaimer.drain()
  }
}
