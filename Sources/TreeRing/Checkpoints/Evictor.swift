// Keeps the heap within its share of the memory budget.
//
// A page that the file holds may stay in the heap as long as there is room: access is faster there.
// When room is short, the pages written longest ago are evicted: the mapped file is their home
// again.
//
// 1. A checkpoint reports the pages that are durable in the file. They join the clean pages' list.
// 2. `evict` moves pages from the list out of the page table and parks their frames.
// 3. Parked frames are freed when every read section begun before has ended.
//
// Invariants:
//
// - A listed page is durable in the file: otherwise, after a failed sync, the system might drop it.
//   An entry is void if its page was freed since. Of several entries of a number the last counts.
// - No page uses a parked frame. Only read sections begun before its ticket hold it.
// - Frames are freed in the order of their parking.

internal import DequeModule
internal import TreeRingLog
internal import TreeRingPlatform

/// Evicts pages that the file holds from the heap. Any thread.
final class Evictor: Sendable {
  /// Frames that can be freed when every section begun before has ended.
  private struct ParkedFrames: Sendable {
    let addresses: [UInt]
    let ticket: ReadSections.Ticket
  }

  private struct State: Sendable {
    /// The clean pages in the order of writing.
    var clean: Deque<RetiredPage> = []
    var parked: Deque<ParkedFrames> = []
    /// The number of pages that have become durable in the file.
    var writtenCount = 0
    /// The number of pages moved out of the heap.
    var evictedCount = 0
  }
  private let state = Mutex(State())
  private let pages: PageStore
  private let budget: MemoryBudget

  // Read after every commit, without the lock. Each value is a count on its own that need not agree
  // with others: no order is needed.
  private let heapPages = Atomic<Int>(0)
  private let parkedFrames = Atomic<Int>(0)

  init(pages: PageStore, budget: MemoryBudget) {
    self.pages = pages
    self.budget = budget
    updateShare()
  }

  /// The heap's share of the budget.
  var share: HeapShare { HeapShare(pages: heapPages.load(ordering: .relaxed)) }

  /// Computes `share` again: the page table, which reduces it, grows with the store.
  func updateShare() {
    let share = budget.heap(tableByteCount: pages.tableByteCount)
    heapPages.store(share.pages, ordering: .relaxed)
  }

  /// The number of frames that wait for read sections.
  var parkedCount: Int { parkedFrames.load(ordering: .relaxed) }

  /// The number of heap frames that hold pages unknown to the file or that cannot be freed yet.
  /// They count against writers.
  var heldFrameCount: Int { pages.heapPageCounts.dirty + parkedCount }

  /// Whether an eviction would free frames.
  var isDue: Bool {
    let counts = pages.heapPageCounts
    return counts.all > share.pages && counts.all - counts.dirty > 64 || parkedCount > 0
  }

  /// The number of pages that have become durable in the file.
  var writtenPageCount: Int { state.withLock { $0.writtenCount } }

  /// The number of pages that were moved out of the heap because memory was short.
  var evictedPageCount: Int { state.withLock { $0.evictedCount } }

  /// The numbers on the list of clean pages. For tests.
  var listedNumbers: [PageNumber] { state.withLock { $0.clean.map(\.number) } }

  // MARK: Clean pages

  /// Marks pages as durable in the file, so that they may be evicted.
  func noteDurable(_ written: ArraySlice<RetiredPage>) {
    // Before they are listed: an eviction skips pages that are not clean.
    pages.markClean(written)
    state.withLock { state in
      state.clean.append(contentsOf: written)
      state.writtenCount += written.count
    }
  }

  /// Removes freed pages from the list of clean pages when they are most of it. A store that fits
  /// its memory evicts nothing, and each checkpoint adds to the list. Called during a checkpoint.
  /// O(1) amortised for each page written.
  func trim() {
    let counts = pages.heapPageCounts
    let limit = 2 * (counts.all - counts.dirty) + Self.cleanSlack
    guard state.withLock({ $0.clean.count > limit }) else { return }
    var clean = pages.cleanPages
    state.withLock { state in
      let kept = state.clean.reversed().filter { clean.remove(Int($0.number)) }
      state.clean = Deque(kept.reversed())
    }
  }

  /// The number of pages that the list may hold beyond twice the clean ones: 64 KiB.
  private static let cleanSlack = 4096

  // MARK: Eviction

  /// Evicts clean pages until the heap is within its share. Waits briefly for read sections, never
  /// to their end.
  ///
  /// - Parameters:
  ///   - isForced: true to evict all of them, however much room there is.
  ///   - napLimit: the limit of the wait for read sections, see `ReadSections.wait`.
  func evict(isForced: Bool = false, napLimit: Int = 100) {
    let (count, most) = (pages.heapPageCounts.all, share.pages)
    var excess = isForced ? count : count > most * 7 / 8 ? count - most * 3 / 4 : 0
    var addresses: [UInt] = []
    while excess > 0, let page = state.withLock({ $0.clean.popFirst() }) {
      if let frame = pages.evict(page) {
        addresses.append(UInt(bitPattern: frame))
        excess -= 1
      }
    }
    if !addresses.isEmpty {
      let frames = ParkedFrames(addresses: addresses, ticket: pages.sections.ticket())
      state.withLock {
        $0.parked.append(frames)
        $0.evictedCount += addresses.count
      }
      parkedFrames.add(addresses.count, ordering: .relaxed)
    }
    freeParked(napLimit: napLimit)
  }

  /// Frees the frames of evicted pages once no reader can hold them. It does not wait for a long
  /// section, in which the caller's code runs: that code may itself wait for a checkpoint, in a
  /// commit. The next call frees the rest.
  private func freeParked(napLimit: Int) {
    while let first = state.withLock({ $0.parked.first }),
      pages.sections.wait(for: first.ticket, atMost: napLimit)
    {
      let taken = state.withLock { state in
        // Another thread may have taken them first.
        state.parked.first?.ticket == first.ticket ? state.parked.popFirst() : nil
      }
      guard let taken else { continue }
      parkedFrames.subtract(taken.addresses.count, ordering: .relaxed)
      pages.releaseFrames(
        taken.addresses.lazy.compactMap { UnsafeMutableRawPointer(bitPattern: $0) })
    }
  }

  /// Writes pages of an unfinished transaction to their slots, which are free for everybody else,
  /// if the heap is full of dirty pages. Called between two operations: nobody may hold pointers
  /// into them.
  /// - Throws: the error of a failed write or sync. Without room the transaction continues in
  ///   memory.
  func spill(_ editor: PageEditor, to file: PageFile, _ log: CommitLog) throws(TreeRingError) {
    updateShare()
    guard pages.heapPageCounts.dirty > share.slowPages,
      editor.hasInHeap(moreThan: share.dirtyPages / 2)
    else { return }
    let young: [RetiredPage]
    do throws(TreeRingError) {
      // With the earlier commits durable, no page in the file is ever younger than the commit after
      // the log's end, and no earlier commit is ever made again.
      if !log.isDurable(through: max(editor.epoch, 1) - 1) { try log.sync() }
      young = editor.spill()
      if young.isEmpty { return }
      try file.write(young.map { (number: $0.number, page: pages.page($0.number)) })
      // Evicted pages must be durable: if a later sync failed, the system might drop them.
      try file.sync()
    } catch  where error.code == .noSpace { return }
    pages.markClean(young)
    let frames = young.compactMap { pages.evict($0) }
    pages.releaseFrames(frames)
    state.withLock {
      $0.writtenCount += young.count
      $0.evictedCount += frames.count
    }
  }
}
