// Keeping the heap within its share: the checkpointer evicts pages that the file holds, and writes
// those of an unfinished transaction early.

internal import DequeModule
internal import TreeRingLog
internal import TreeRingPlatform

extension Checkpointer {
  /// Evicts pages that the file holds from the heap until the heap is within its share. Waits
  /// briefly for read sections, never to their end.
  ///
  /// - Parameters:
  ///   - isForced: true to evict all of them, however much room there is.
  ///   - napLimit: the limit of the wait for read sections, see `ReadSections.wait`.
  func evict(isForced: Bool = false, napLimit: Int = 100) {
    if state.withLock({ $0.isClosed }) { return }
    let (counts, most) = (pages.heapPageCounts, share.pages)
    var excess = isForced || counts.all > most * 7 / 8 ? counts.all : 0
    if !isForced, excess > 0 { excess -= most * 3 / 4 }
    var addresses: [UInt] = []
    while excess > 0, let page = state.withLock({ $0.clean.popFirst() }) {
      if let frame = pages.evict(page) {
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

  /// Removes freed pages from the list of clean pages when they are most of it. A store that fits
  /// its memory evicts nothing, and each checkpoint adds to the list. Called during a checkpoint.
  /// O(1) amortised for each page written.
  func trimCleanPages() {
    let counts = pages.heapPageCounts
    let limit = 2 * (counts.all - counts.dirty) + Self.cleanSlack
    guard state.withLock({ $0.clean.count > limit }) else { return }
    var clean = pages.cleanPages
    state.withLock { state in
      // A number may be listed several times. Its last entry is the current page.
      let kept = state.clean.reversed().filter { clean.remove(Int($0.number)) }
      state.clean = Deque(kept.reversed())
    }
  }

  /// The number of pages that the list may hold beyond twice the clean ones: 64 KiB.
  private static let cleanSlack = 4096

  /// Frees the frames of evicted pages once no reader can hold them. It does not wait for a long
  /// section, in which the caller's code runs: that code may itself wait for a checkpoint, in a
  /// commit. The next call frees the rest.
  private func releaseParked(napLimit: Int) {
    while let frames = parked.withLock({ $0.first }),
      pages.sections.wait(for: frames.ticket, atMost: napLimit)
    {
      let taken = parked.withLock { parked in
        // Another thread may have taken them first.
        parked.first?.ticket == frames.ticket ? parked.popFirst() : nil
      }
      guard let taken else { continue }
      parkedCount.subtract(taken.addresses.count, ordering: .relaxed)
      pages.releaseFrames(
        taken.addresses.lazy.compactMap { UnsafeMutableRawPointer(bitPattern: $0) })
    }
  }

  /// The number of heap frames that hold pages unknown to the file or that cannot be freed yet.
  /// They count against writers.
  var heldFrameCount: Int {
    pages.heapPageCounts.dirty + parkedCount.load(ordering: .relaxed)
  }

  /// Writes pages of an unfinished transaction to their slots, which are free for everybody else,
  /// if the heap is full of dirty pages. Called between two operations: nobody may hold pointers
  /// into them.
  func spill(_ editor: PageEditor) throws(TreeRingError) {
    if let failure { throw failure }
    updateShare()
    let share = share
    guard pages.heapPageCounts.dirty > share.slowPages else { return }
    guard editor.heapPageCount > share.dirtyPages / 2 else { return }
    let young: [RetiredPage]
    do throws(TreeRingError) {
      // With the earlier commits durable, no page in the file is ever younger than the commit after
      // the log's end, and no earlier commit is ever made again.
      if log.durable + 1 < editor.epoch { try log.sync() }
      young = editor.spill()
      if young.isEmpty { return }
      try file.write(young.map { (number: $0.number, page: pages.page($0.number)) })
      // Evicted pages must be durable: if a later sync failed, the system might drop them.
      try file.sync()
    } catch {
      // Without room the transaction continues in memory.
      if error.code == .noSpace { return }
      fail(error)
      throw error
    }
    pages.markClean(young)
    pages.releaseFrames(young.compactMap { pages.evict($0) })
    state.withLock { $0.statistics.writtenPages += young.count }
  }
}
