// Keeps the heap within its share: pages that the file holds are moved out, and those of an unfinished
// transaction are written early.

internal import DequeModule
internal import Synchronization
internal import TreeRingLog

extension Checkpointer {
  /// Moves pages that the file holds out of the heap until it is within its share. It waits a little for
  /// read sections, never to their end.
  ///
  /// - Parameters:
  ///   - isForced: whether all of them go, however much room there is.
  ///   - napLimit: how long read sections are waited for, see `ReadSections.wait`.
  func evict(isForced: Bool = false, napLimit: Int = 100) {
    if state.withLock({ $0.isClosed }) { return }
    let (counts, most) = (pages.heapPageCounts, share.pages)
    var excess = isForced || counts.all > most * 7 / 8 ? counts.all : 0
    if !isForced, excess > 0 { excess -= most * 3 / 4 }
    var addresses: [UInt] = []
    while excess > 0, let page = state.withLock({ $0.clean.popFirst() }) {
      if let frame = pages.moveOut(page) {
        addresses.append(UInt(bitPattern: frame))
        excess -= 1
      }
    }
    if !addresses.isEmpty {
      let frames = ParkedFrames(addresses: addresses, ticket: pages.sections.ticket())
      parked.withLock { $0.append(frames) }
      parkedCount.add(addresses.count, ordering: .relaxed)
    }
    releaseParked(napLimit: napLimit)
  }

  /// Takes off the list of clean pages what has been freed since, when that is most of it. A store that fits
  /// its memory moves nothing out, and each checkpoint adds to the list. Called during a checkpoint. O(1)
  /// amortised for each page written.
  func trimCleanPages() {
    let counts = pages.heapPageCounts
    let limit = 2 * (counts.all - counts.dirty) + Self.cleanSlack
    guard state.withLock({ $0.clean.count > limit }) else { return }
    var clean = pages.cleanPages
    state.withLock { state in
      // A number may be listed several times. What it stands for now was written last.
      let kept = state.clean.reversed().filter { clean.remove(Int($0.number)) }
      state.clean = Deque(kept.reversed())
    }
  }

  /// How many more than twice as many pages as are clean may be listed: 64 KiB.
  private static let cleanSlack = 4096

  /// Gives back the frames of pages that were moved out, once nobody can be looking at them. A section
  /// that lasts, since code of the caller's runs in it, is not waited for: that code may itself be waiting
  /// for a checkpoint, in a commit. What is left then is for the next call.
  private func releaseParked(napLimit: Int) {
    while let frames = parked.withLock({ $0.first }),
      pages.sections.wait(for: frames.ticket, atMost: napLimit)
    {
      let taken = parked.withLock { parked in
        // Whoever else is here may have been quicker.
        parked.first?.ticket == frames.ticket ? parked.popFirst() : nil
      }
      guard let taken else { continue }
      parkedCount.subtract(taken.addresses.count, ordering: .relaxed)
      pages.releaseFrames(
        taken.addresses.lazy.compactMap { UnsafeMutableRawPointer(bitPattern: $0) })
    }
  }

  /// How many frames of the heap hold what the file does not, or cannot be released yet: those that count
  /// against writers.
  var heldFrameCount: Int {
    pages.heapPageCounts.dirty + parkedCount.load(ordering: .relaxed)
  }

  /// Writes pages of an unfinished transaction to their places, which are free for everybody else, if
  /// the heap is full of dirty pages. Called between two operations: nobody may hold pointers into them.
  func spill(_ editor: PageEditor) throws(TreeRingError) {
    if let failure { throw failure }
    updateShare()
    let share = share
    guard pages.heapPageCounts.dirty > share.slowPages else { return }
    guard editor.heapPageCount > share.dirtyPages / 2 else { return }
    let young: [RetiredPage]
    do throws(TreeRingError) {
      // Then no page in the file is ever younger than the commit after the log's end, and no commit
      // before this one is ever made once more.
      if log.durable + 1 < editor.epoch { try log.sync() }
      young = editor.spill()
      if young.isEmpty { return }
      try file.write(young.map { (number: $0.number, page: pages.page($0.number)) })
      // What leaves the heap is durable: if a later sync failed, the system might drop it.
      try file.sync()
    } catch {
      // Without room the transaction goes on in memory.
      if error.code == .noSpace { return }
      fail(error)
      throw error
    }
    pages.noteWritten(young)
    pages.releaseFrames(young.compactMap { pages.moveOut($0) })
    state.withLock { $0.statistics.writtenPages += young.count }
  }
}
