// All pages of a store: the page table, their memory, the free page numbers.
//
// Reading takes no lock and counts no references: the table maps a number to a pointer. Allocating
// and freeing take one lock; any thread may call them. A page may be freed only when no readable
// root reaches it. The pin table ensures that; the page store does not check it.
//
// A page's home is a frame of the heap, or foreign memory: the mapped page file. A supply fetches
// pages from there on first access and checks them. A page of the heap that the file holds may be
// evicted (`evict`); the next access fetches it again. Its number stays.
//
// A number also gives the page's slot in the page file. Private pages are the exception: their
// numbers, from 2^31 up, have no slot, and their home is always the heap.

internal import TreeRingLog
internal import TreeRingPlatform

/// Pages by number.
package final class PageStore: Sendable {
  /// The maximum number of cells in a page, however small they are. Tests lower it to make deep
  /// trees.
  package let cellCapacity: Int
  let table: PageTable
  /// The read sections that hold pointers into pages.
  package let sections = ReadSections()
  let supply: PageSupply?
  /// False in a store whose pages never move, which needs no read sections.
  let countsReaders: Bool

  // Sendable under the lock: the frames in it are reachable only through it or through the table.
  struct State: @unchecked Sendable {
    var arena = FrameArena()
    let end: PageNumber
    var numbers: PageNumberAllocator
    var privateNumbers = PageNumberAllocator(next: PageTable.firstPrivateNumber, end: .max)
    /// Pages with a slot in the file whose home is the heap, and those of them that the file holds.
    var heap = CountedBitSet()
    var clean = CountedBitSet()
    var nextOwner: OwnerStamp
    /// The birth that follows the edition written early last.
    var nextEdition = PageBirth(0)
    /// The birth that follows the form made last.
    var nextForm = PageBirth(0)
    /// The check of free numbers before their use; nil if all may be used.
    var inspect: Inspection?

    init(end: PageNumber, firstOwner: OwnerStamp) {
      self.end = end
      numbers = PageNumberAllocator(next: 1, end: end)
      nextOwner = firstOwner
    }

    mutating func allocate(isPrivate: Bool = false, isLeaf: Bool) -> PageNumber? {
      if isPrivate { return privateNumbers.allocate(isLeaf: isLeaf) }
      if let inspect {
        for _ in 0..<PageStore.inspectionLimit where numbers.availableCount == 0 {
          guard let range = numbers.nextToInspect() else { break }
          for number in inspect(range) { numbers.release(number) }
        }
      }
      return numbers.allocate(isLeaf: isLeaf)
    }

    func isUsed(_ number: PageNumber) -> Bool {
      number >= PageTable.firstPrivateNumber
        ? privateNumbers.isUsed(number) : numbers.isUsed(number)
    }
  }
  let state: Mutex<State>

  /// Returns the numbers of a range that may be used. Called under the page store's lock.
  package typealias Inspection = @Sendable (Range<PageNumber>) -> [PageNumber]

  /// The maximum number of inspections in one allocation, of up to sixteen numbers each. If none of
  /// them finds a usable number, the allocation takes a new one. All free numbers may be refused: a
  /// large transaction's early writes, left by a crash, are gigabytes. So an allocation reads at
  /// most a megabyte of them, and the file grows by one page for 256 refused neighbours.
  private static let inspectionLimit = 16

  /// The counts of heap pages and clean pages, readable without the lock.
  private let heapCount = Atomic<Int>(0)
  private let cleanCount = Atomic<Int>(0)

  private func publishCounts(_ state: borrowing State) {
    heapCount.store(state.heap.count, ordering: .relaxed)
    cleanCount.store(state.clean.count, ordering: .relaxed)
  }

  /// Creates a store without pages.
  /// - Parameters:
  ///   - supply: Fetches each page of a page file on first access; nil for a store that lives in
  ///     memory alone.
  ///   - cellCapacity: The maximum number of cells in a page, at least 4.
  ///   - countsReaders: True to count read sections without a supply too, because pages of a
  ///     version may be freed while somebody still reads it.
  ///   - numberEnd: One more than the highest number of a page of the file. Tests lower it.
  ///   - firstOwner: The stamp of the first editor. Tests choose it.
  package init(
    supply: PageSupply? = nil, cellCapacity: Int = .max, countsReaders: Bool = false,
    numberEnd: PageNumber = PageTable.firstPrivateNumber - 1, firstOwner: UInt64 = 1
  ) {
    precondition(cellCapacity >= 4, "a page must be able to hold four cells")
    state = Mutex(State(end: numberEnd, firstOwner: firstOwner))
    self.cellCapacity = cellCapacity
    self.supply = supply
    self.countsReaders = countsReaders || supply != nil
    table = PageTable(supply: supply)
  }

  /// Adopts the pages of a page file, none of them fetched yet. The store must have no pages of its
  /// own except private ones. Other threads may still read the pages adopted before, in their old
  /// state.
  ///
  /// A caller that switches to another root of the same file must call it again. The file's writer
  /// may have freed pages since and reused their numbers for others, which this process has not
  /// checked. O(bound / 64), and O(bound) on later calls.
  /// - Parameters:
  ///   - bound: One more than the highest page number in use or free.
  ///   - free: Bit n is set if number n is free.
  ///   - inspect: Selects the free numbers that may be used, before their use. The others become
  ///     available with `releaseWithheld`. Without it all may be used.
  package func adopt(bound: PageNumber, free: BitSet, inspect: Inspection? = nil) {
    precondition(bound > 0 && bound <= PageTable.firstPrivateNumber, "no such page number")
    state.withLock { state in
      precondition(state.heap.count == 0, "pages of the file are changed here")
      table.clearFilePages()
      table.addBlocks(through: Int((bound - 1) >> PageTable.blockShift))
      state.numbers = PageNumberAllocator(
        next: bound, end: state.end, free: free, isWithholding: inspect != nil)
      state.inspect = inspect
    }
  }

  /// Limits the new numbers that are allocated although others are free, so that neighbours are
  /// written together; see `PageNumberAllocator`.
  func limitGrowth(to count: Int) {
    state.withLock { $0.numbers.growthLimit = PageNumber(clamping: count) }
  }

  /// Makes all withheld free numbers available.
  func releaseWithheld() { state.withLock { $0.numbers.releaseWithheld() } }

  deinit {
    state.withLock { $0.arena.deallocateAll() }
    table.deallocate()
  }

  /// The number of pages allocated and not freed, private ones included.
  package var livePageCount: Int {
    state.withLock { $0.numbers.usedCount + $0.privateNumbers.usedCount }
  }
  /// The number of private pages allocated and not freed.
  var privatePageCount: Int { state.withLock { $0.privateNumbers.usedCount } }
  /// The number of pages with a slot in the file, allocated and not freed.
  var filePageCount: Int { state.withLock { $0.numbers.usedCount } }
  /// One more than the highest page number ever used.
  package var pageNumberBound: PageNumber { state.withLock { $0.numbers.next } }
  /// The size of all live pages, in bytes.
  var livePageByteCount: Int { livePageCount * PageLayout.pageByteCount }
  /// The memory taken from the system for pages, in bytes; at least the live pages in the heap.
  var heapByteCount: Int { state.withLock { $0.arena.byteCount } }
  /// The number of heap frames in use, those that wait for `releaseFrames` included.
  var frameCount: Int { state.withLock { $0.arena.frameCount } }
  /// A copy of the numbers in use and free. O(bound / 64).
  package var numbers: PageNumberAllocator { state.withLock { $0.numbers } }

  /// Whether a page of this number is in memory or can be fetched.
  package func contains(_ number: PageNumber) -> Bool {
    number != 0 && state.withLock { $0.isUsed(number) }
  }

  /// The page of this number, which must exist and have been fetched before.
  package func page(_ number: PageNumber) -> Page { table.page(number) }

  /// Frees pages and their memory. A page that is free already, or whose number now belongs to
  /// another page, stays as it is. It counts as damage of the page file: two of its trees or lists
  /// hold the page. O(pages).
  package func free(_ pages: [RetiredPage]) {
    freeEach(of: pages.count) { (pages[$0].number, pages[$0].birth) }
  }

  /// Frees pages by number, without comparing births. The caller knows that the numbers still
  /// belong to these pages.
  package func free(_ numbers: [PageNumber]) {
    freeEach(of: numbers.count) { (numbers[$0], nil) }
  }

  private func freeEach(of count: Int, _ page: (Int) -> (PageNumber, PageBirth?)) {
    if count == 0 { return }  // As for most commits.
    var refused: [PageNumber] = []
    state.withLock { state in
      defer { publishCounts(state) }
      for index in 0..<count {
        let (number, birth) = page(index)
        guard state.isUsed(number), table.matches(number, birth) else {
          refused.append(number)
          continue
        }
        let home = table.set(number, to: nil)
        if number >= PageTable.firstPrivateNumber {
          if let home { state.arena.deallocate(home) }
          state.privateNumbers.recycle(number)
        } else {
          if state.heap.remove(Int(number)), let home { state.arena.deallocate(home) }
          state.clean.remove(Int(number))
          state.numbers.recycle(number)
        }
      }
    }
    for number in refused {
      guard let supply else { preconditionFailure("page \(number) is freed twice") }
      _ = supply.refuse("it is freed twice", page: number)
    }
  }

  /// A new page of undefined content, in the table under its number.
  ///
  /// When the file's numbers are used up the page gets a private one. That counts as a failed
  /// fetch, so the transaction ends with the error. Without a page file it is no failure.
  func allocate(
    isPrivate: Bool = false, isLeaf: Bool = true
  ) -> (number: PageNumber, page: Page) {
    let (number, address) = state.withLock { state in
      guard
        let number = state.allocate(isPrivate: isPrivate, isLeaf: isLeaf)
          ?? state.allocate(isPrivate: true, isLeaf: isLeaf)
      else {
        preconditionFailure("there is no memory for 2^31 private pages")
      }
      let frame = state.arena.allocate()
      table.set(number, to: frame)
      if number < PageTable.firstPrivateNumber { state.heap.insert(Int(number)) }
      publishCounts(state)
      return (number, UInt(bitPattern: frame))
    }
    if !isPrivate, number >= PageTable.firstPrivateNumber { supply?.refuse(Self.isFull) }
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address) else {
      preconditionFailure("the arena returned no memory")
    }
    return (number, Page(bytes: bytes))
  }

  /// Allocates numbers for pages that are written to the file without ever being in memory.
  /// - Throws: `tooLarge` if too few are left; then it allocates none.
  func reserveNumbers(_ count: Int) throws(TreeRingError) -> [PageNumber] {
    let numbers = state.withLock { state in
      var numbers: [PageNumber] = []
      while numbers.count < count, let number = state.allocate(isLeaf: false) {
        table.set(number, to: nil)
        numbers.append(number)
      }
      return numbers
    }
    if numbers.count < count {
      free(numbers)
      throw Self.isFull
    }
    return numbers
  }

  /// Takes free numbers, so that nobody else uses them until they are freed. O(bound / 64).
  /// - Returns: the lowest ones from `start` on that are not in `excluded`.
  func takeFreeNumbers(
    atMost limit: Int, from start: PageNumber, except excluded: BitSet
  ) -> [PageNumber] {
    state.withLock { state in
      let numbers = state.numbers.take(atMost: limit, from: start, except: excluded)
      for number in numbers { table.set(number, to: nil) }
      return numbers
    }
  }

  /// The number of free pages of the file that may be allocated.
  var freePageCount: Int { state.withLock { $0.numbers.availableCount } }

  private static var isFull: TreeRingError {
    TreeRingError(
      .tooLarge,
      "The page file has as many pages as there can be, 2^31 (8 TiB). Delete rows or indexes, "
        + "or end old snapshots, so that pages become free.")
  }

  /// Evicts a page from the heap that the file durably holds. The next access fetches it, so its
  /// bytes in the file are checked before use.
  ///
  /// The caller's reference may be stale: the page may be free by now, and its number may belong to
  /// a writer that has not yet set the new page's birth. So it reads clean pages only, which nobody
  /// changes: freeing a page makes it dirty, and only `markClean` makes it clean.
  /// - Returns: The page's frame, if this page is clean and in the heap; otherwise nil. Readers may
  ///   still hold it: pass it to `releaseFrames` once every read section begun before this call has
  ///   ended.
  func evict(_ page: RetiredPage) -> UnsafeMutableRawPointer? {
    let frame = state.withLock { state -> UInt in
      let number = page.number
      guard state.clean.contains(Int(number)), table.page(number).birth == page.birth else {
        return 0
      }
      state.heap.remove(Int(number))
      state.clean.remove(Int(number))
      publishCounts(state)
      return UInt(bitPattern: table.set(number, to: nil))
    }
    return UnsafeMutableRawPointer(bitPattern: frame)
  }

  /// Marks pages as clean: since a sync the file durably holds them. Skips pages whose number has
  /// another birth by now. Nobody may change these pages during the call: they belong to a pinned
  /// root or to the caller's own transaction.
  func markClean(_ pages: some Sequence<RetiredPage>) {
    state.withLock { state in
      defer { publishCounts(state) }
      for page in pages
      where state.heap.contains(Int(page.number)) && table.page(page.number).birth == page.birth {
        state.clean.insert(Int(page.number))
      }
    }
  }

  /// The numbers of pages in the heap: all, and those that the file does not hold yet. Read without
  /// a lock, so the two may be of slightly different moments.
  var heapPageCounts: (all: Int, dirty: Int) {
    let all = heapCount.load(ordering: .relaxed)
    return (all, max(0, all - cleanCount.load(ordering: .relaxed)))
  }

  /// A copy of the numbers of the pages in the heap that the file holds. O(bound / 64).
  var cleanPages: BitSet { state.withLock { $0.clean.bits } }

  /// About the number of bytes of the page table and the free numbers.
  var tableByteCount: Int {
    state.withLock { $0.numbers.tableByteCount + $0.privateNumbers.tableByteCount }
  }

  /// Whether a page's home is the heap.
  func isInHeap(_ number: PageNumber) -> Bool {
    state.withLock { $0.heap.contains(Int(number)) }
  }

  /// Whether a page's home is the heap and the file does not hold it yet.
  func isDirty(_ number: PageNumber) -> Bool {
    state.withLock { $0.heap.contains(Int(number)) && !$0.clean.contains(Int(number)) }
  }

  /// Copies a page that lives in the file to a frame of the heap again. Nobody else may be reading
  /// it.
  /// - Returns: The page at its new address; at its present one if that is in the heap.
  func copyToHeap(_ page: Page) -> Page {
    let number = page.number
    let address = state.withLock { state -> UInt in
      if state.heap.contains(Int(number)) { return 0 }
      let frame = state.arena.allocate()
      table.set(number, to: frame)
      state.heap.insert(Int(number))
      publishCounts(state)
      return UInt(bitPattern: frame)
    }
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address) else { return page }
    bytes.copyMemory(from: page.bytes, byteCount: PageLayout.pageByteCount)
    return Page(bytes: bytes)
  }

  /// Returns frames from `evict` to the heap.
  func releaseFrames(_ frames: some Sequence<UnsafeMutableRawPointer>) {
    let addresses = frames.map { UInt(bitPattern: $0) }
    state.withLock { state in
      for address in addresses {
        guard let frame = UnsafeMutableRawPointer(bitPattern: address) else { continue }
        state.arena.deallocate(frame)
      }
    }
  }
}
