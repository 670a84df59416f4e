// All pages of a store: the page table, the memory they live in, the free page numbers.
//
// Reading takes no lock and counts no references: number → pointer through the table. Allocating and
// freeing take one lock and may come from any thread. A page may be freed only when no root that can
// still be read reaches it; that is the pin table's business, not checked here.
//
// A page's home is a frame of the heap, or memory of somebody else: the mapped page file. Pages come
// from there through a supply, when first touched, and are checked then; and a page of the heap that the
// file holds may be moved out (`moveOut`), which leaves it untouched again. Its number stays.
//
// A number is also a place in the page file, except for private pages: their numbers, from 2^31 up,
// have none, and their home is always the heap.

internal import Synchronization
package import TreeRingLog

/// Pages by number.
package final class PageStore: Sendable {
  /// The most cells a page may hold, however small they are. Tests lower it to make deep trees.
  package let cellCapacity: Int
  let table: PageTable
  /// Who holds pointers into pages now.
  package let sections = ReadSections()
  private let supply: PageSupply?
  private let countsReaders: Bool

  // Sendable under the lock: the frames in it are reachable only through it or through the table.
  private struct State: @unchecked Sendable {
    var arena = FrameArena()
    var numbers = PageNumbers(next: 1)
    var privateNumbers = PageNumbers(next: PageTable.firstPrivateNumber)
    /// Pages with a place in the file whose home is the heap, and those of them that the file holds.
    var heap = CountedBitSet()
    var clean = CountedBitSet()
    var nextOwner: UInt32 = 1
    /// The birth after those of the pages that were written early last.
    var nextEdition = PageBirth(0)
    /// Tells which of some neighbouring free numbers may be used; nil if all may.
    var inspect: Inspection?

    mutating func take(isPrivate: Bool = false) -> PageNumber {
      if isPrivate { return privateNumbers.take() }
      if let inspect {
        for _ in 0..<PageStore.inspectionLimit where !numbers.hasAvailable {
          guard let range = numbers.nextToInspect() else { break }
          for number in inspect(range) { numbers.release(number) }
        }
      }
      return numbers.take()
    }
  }
  private let state = Mutex(State())

  /// Which of some neighbouring numbers may be used. Called under the page store's lock.
  package typealias Inspection = @Sendable (Range<PageNumber>) -> [PageNumber]

  /// How many inspections, of up to sixteen numbers each, one allocation waits for; if none of them finds a
  /// number that may be used it takes a new one. All that is free may be refused: what a large transaction
  /// wrote early and a crash left behind is gigabytes. So an allocation reads a megabyte of it at most, and
  /// the file grows by one page for 256 neighbours that are passed over.
  private static let inspectionLimit = 16

  /// How many pages the state counts as in the heap, and how many of them as clean, to be had without
  /// the lock.
  private let heapCount = Atomic<Int>(0)
  private let cleanCount = Atomic<Int>(0)

  private func noteCounts(_ state: borrowing State) {
    heapCount.store(state.heap.count, ordering: .relaxed)
    cleanCount.store(state.clean.count, ordering: .relaxed)
  }

  /// A store without pages.
  /// - Parameters:
  ///   - supply: brings each page of a page file when it is first touched; nil for a store that lives
  ///     in memory alone.
  ///   - cellCapacity: the most cells a page may hold, at least 4.
  ///   - countsReaders: whether read sections are counted without a supply too: because pages may be given
  ///     back whose version somebody still reads.
  package init(
    supply: PageSupply? = nil, cellCapacity: Int = .max, countsReaders: Bool = false
  ) {
    precondition(cellCapacity >= 4, "a page must be able to hold four cells")
    self.cellCapacity = cellCapacity
    self.supply = supply
    self.countsReaders = countsReaders || supply != nil
    table = PageTable(supply: supply)
  }

  /// Takes over the pages of a page file, none of them touched yet. For a store that has none of its own
  /// but private ones; others may be reading what was taken over before, as it was then.
  ///
  /// Who takes over another root of the same file has to call it again: what was touched before may have been
  /// given up by the file's writer since, and the numbers used for other pages, which nobody has checked.
  /// O(bound / 64), and O(bound) if it is called again.
  /// - Parameters:
  ///   - bound: one more than the highest page number in use or free.
  ///   - free: bit n is set if number n is free.
  ///   - inspect: says which of the free numbers may be used, before they are. Those that may not are
  ///     given out after `releaseWithheld`. Without it all may be used.
  package func adopt(bound: PageNumber, free: BitSet, inspect: Inspection? = nil) {
    precondition(bound > 0 && bound <= PageTable.firstPrivateNumber, "no such page number")
    state.withLock { state in
      precondition(state.heap.count == 0, "pages of the file are changed here")
      table.forgetFilePages()
      table.addBlocks(through: Int(bound >> PageTable.blockShift))
      state.numbers = PageNumbers(next: bound, free: free, isWithholding: inspect != nil)
      state.inspect = inspect
    }
  }

  /// From now on the free numbers withheld so far are given out too.
  func releaseWithheld() { state.withLock { $0.numbers.releaseWithheld() } }

  deinit {
    state.withLock { $0.arena.deallocateAll() }
    table.deallocate()
  }

  /// Pages allocated and not freed, private ones included.
  package var livePageCount: Int {
    state.withLock { $0.numbers.usedCount + $0.privateNumbers.usedCount }
  }
  /// Private pages allocated and not freed.
  package var privatePageCount: Int { state.withLock { $0.privateNumbers.usedCount } }
  /// Pages with a place in the file, allocated and not freed.
  package var filePageCount: Int { state.withLock { $0.numbers.usedCount } }
  /// One more than the highest page number ever used.
  package var pageNumberBound: PageNumber { state.withLock { $0.numbers.next } }
  /// The size of all live pages, in bytes.
  package var livePageByteCount: Int { livePageCount * PageLayout.pageByteCount }
  /// The memory taken from the system for pages, in bytes; at least the live pages in the heap.
  package var heapByteCount: Int { state.withLock { $0.arena.byteCount } }
  /// Frames of the heap in use, those waiting for `releaseFrames` included.
  package var frameCount: Int { state.withLock { $0.arena.frameCount } }
  /// Which numbers are in use and free. Takes a copy. O(bound / 64).
  package var numbers: PageNumbers { state.withLock { $0.numbers } }

  /// Whether a page of this number is in memory or can be fetched.
  package func contains(_ number: PageNumber) -> Bool {
    if number == 0 { return false }
    return state.withLock { state in
      number >= PageTable.firstPrivateNumber
        ? state.privateNumbers.isUsed(number) : state.numbers.isUsed(number)
    }
  }

  /// The page of this number, which must exist and have been touched before.
  package func page(_ number: PageNumber) -> Page { table.page(number) }

  /// Takes pages out of the table and their memory back. O(pages).
  package func free(_ numbers: some Sequence<PageNumber>) {
    state.withLock { state in
      defer { noteCounts(state) }
      for number in numbers {
        let home = table.set(number, to: nil)
        if number >= PageTable.firstPrivateNumber {
          if let home { state.arena.deallocate(home) }
          state.privateNumbers.giveBack(number)
        } else {
          if state.heap.remove(Int(number)), let home { state.arena.deallocate(home) }
          state.clean.remove(Int(number))
          state.numbers.giveBack(number)
        }
      }
    }
  }

  /// A new page of undefined content, in the table under its number.
  func allocate(isPrivate: Bool = false) -> (number: PageNumber, page: Page) {
    let (number, address) = state.withLock { state in
      let number = state.take(isPrivate: isPrivate)
      let frame = state.arena.allocate()
      table.set(number, to: frame)
      if !isPrivate { state.heap.insert(Int(number)) }
      noteCounts(state)
      return (number, UInt(bitPattern: frame))
    }
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address) else {
      preconditionFailure("the arena returned no memory")
    }
    return (number, Page(bytes: bytes))
  }

  /// Numbers for pages that are written to the file without ever being in memory.
  package func reserveNumbers(_ count: Int) -> [PageNumber] {
    state.withLock { state in
      (0..<count).map { _ in
        let number = state.take()
        table.set(number, to: nil)
        return number
      }
    }
  }

  /// Takes a page that the file holds for certain out of the heap. Who touches it next fetches it, so what
  /// the file gives back is checked before it is believed.
  ///
  /// Whoever asks may know the page from long ago: it may be free by now, and its number given to a writer
  /// who has not even set the new page's birth. So only clean pages are looked at, which nobody changes:
  /// freeing a page makes it count as dirty, and only `noteWritten` makes it count as clean.
  /// - Returns: its frame, if this page is clean and in the heap. Readers may still be looking at it: give it
  ///   to `releaseFrames` when every read section begun before this call has ended.
  package func moveOut(_ page: RetiredPage) -> UnsafeMutableRawPointer? {
    let frame = state.withLock { state -> UInt in
      let number = page.number
      guard state.clean.contains(Int(number)), table.page(number).birth == page.birth else {
        return 0
      }
      state.heap.remove(Int(number))
      state.clean.remove(Int(number))
      noteCounts(state)
      return UInt(bitPattern: table.set(number, to: nil))
    }
    return UnsafeMutableRawPointer(bitPattern: frame)
  }

  /// Notes that the file holds these pages for certain, since a sync, as far as they still are the ones that
  /// were written. They must be pages that nobody changes meanwhile: of a pinned root, or of the caller's own
  /// transaction.
  package func noteWritten(_ pages: some Sequence<RetiredPage>) {
    state.withLock { state in
      defer { noteCounts(state) }
      for page in pages
      where state.heap.contains(Int(page.number)) && table.page(page.number).birth == page.birth {
        state.clean.insert(Int(page.number))
      }
    }
  }

  /// Pages whose home is the heap: all of them, and those that the file does not hold yet. Without a
  /// lock, so that both may be of moments a little apart.
  package var heapPageCounts: (all: Int, dirty: Int) {
    let all = heapCount.load(ordering: .relaxed)
    return (all, max(0, all - cleanCount.load(ordering: .relaxed)))
  }

  /// The numbers of the pages in the heap that the file holds. Takes a copy. O(bound / 64).
  var cleanPages: BitSet { state.withLock { $0.clean.bits } }

  /// About how many bytes the table of pages and the free numbers take.
  package var tableByteCount: Int {
    state.withLock { $0.numbers.tableByteCount + $0.privateNumbers.tableByteCount }
  }

  /// Whether a page's home is the heap.
  package func isInHeap(_ number: PageNumber) -> Bool {
    state.withLock { $0.heap.contains(Int(number)) }
  }

  /// Whether a page's home is the heap and the file does not hold it yet.
  package func isDirty(_ number: PageNumber) -> Bool {
    state.withLock { $0.heap.contains(Int(number)) && !$0.clean.contains(Int(number)) }
  }

  /// Gives a page that lives in the file a frame of the heap again, with the same content. Nobody else
  /// may be reading it.
  /// - Returns: the page at its new address, or where it is if that is the heap.
  func bringBack(_ page: Page) -> Page {
    let number = page.number
    let address = state.withLock { state -> UInt in
      if state.heap.contains(Int(number)) { return 0 }
      let frame = state.arena.allocate()
      table.set(number, to: frame)
      state.heap.insert(Int(number))
      noteCounts(state)
      return UInt(bitPattern: frame)
    }
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address) else { return page }
    bytes.copyMemory(from: page.bytes, byteCount: PageLayout.pageByteCount)
    return Page(bytes: bytes)
  }

  /// Takes back frames that `moveOut` returned.
  package func releaseFrames(_ frames: some Sequence<UnsafeMutableRawPointer>) {
    let addresses = frames.map { UInt(bitPattern: $0) }
    state.withLock { state in
      for address in addresses {
        guard let frame = UnsafeMutableRawPointer(bitPattern: address) else { continue }
        state.arena.deallocate(frame)
      }
    }
  }

  /// How many fetches have failed.
  package var fetchFailureCount: UInt64 { supply?.failureCount ?? 0 }
  /// The error of the latest failed fetch.
  package var lastFetchFailure: TreeRingError? { supply?.lastFailure }

  /// Runs a read section: pointers into pages stay valid inside `body`, and what it returns was read
  /// from whole pages, or the error of the page that could not be read is thrown. Sections may nest.
  @inline(__always)
  package func reading<R>(_ body: () throws -> R) throws -> R {
    guard countsReaders else { return try body() }
    let place = sections.enter()
    defer { sections.leave(place) }
    guard let supply else { return try body() }
    let failures = supply.failureCount
    let result: R
    do {
      result = try body()
    } catch {
      // It may have been thrown because of what the missing page seemed to say.
      if supply.failureCount != failures { throw Self.failure(of: supply) }
      throw error
    }
    if supply.failureCount != failures { throw Self.failure(of: supply) }
    return result
  }

  /// The part of `reading` that keeps pointers valid, for whoever checks fetches himself.
  package func withSection<R>(_ body: () throws -> R) rethrows -> R {
    guard countsReaders else { return try body() }
    let place = sections.enter()
    defer { sections.leave(place) }
    return try body()
  }

  /// Throws the error of a page that could not be read since `fetchFailureCount` was `count`.
  package func checkFetches(since count: UInt64) throws(TreeRingError) {
    if let supply, supply.failureCount != count { throw Self.failure(of: supply) }
  }

  @inline(never)
  private static func failure(of supply: PageSupply) -> TreeRingError {
    supply.lastFailure
      ?? TreeRingError(.io, "A page could not be read. Run `treering verify` to see why.")
  }

  /// Begins a transaction.
  /// - Returns: a stamp no other editor of this store has, never 0; and the birth of its pages, which no
  ///   page has that was written before.
  func beginEditing(_ commit: CommitNumber, isPrivate: Bool) -> (owner: UInt32, PageBirth) {
    state.withLock { state in
      defer { state.nextOwner = state.nextOwner == .max ? 1 : state.nextOwner + 1 }
      let goesOn = !isPrivate && state.nextEdition.commit == commit
      return (state.nextOwner, goesOn ? state.nextEdition : PageBirth(commit))
    }
  }

  /// Notes that pages of this birth are about to be written early. All commits before must be durable,
  /// so that none of them is ever made once more.
  /// - Returns: the birth of what is made or changed from now on; nil if there is none, then nothing
  ///   may be written early.
  func endEdition(_ birth: PageBirth) -> PageBirth? {
    if birth.edition == .max { return nil }
    let next = PageBirth(birth.commit, edition: birth.edition + 1)
    state.withLock { $0.nextEdition = next }
    return next
  }
}
