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

  init(
    pages: PageStore, pins: PinTable, reclaimer: Reclaimer, log: CommitLog, visible: Version,
    budget: MemoryBudget, checkpointer: Checkpointer?
  ) {
    self.pages = pages
    self.pins = pins
    self.reclaimer = reclaimer
    self.checkpointer = checkpointer
    records = ChangeRecords(byteLimit: budget.recordBytes)
    queue = CommitQueue(
      visible: visible, pins: pins, records: records, recentPageLimit: budget.recentPages)
    timeTravel = TimeTravel(
      pages: pages, log: log, reclaimer: reclaimer, pageLimit: budget.rebuiltPages)
  }

  deinit {
    timeTravel.evictAll()
    reclaimer.drain()
  }
}
