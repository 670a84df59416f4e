// The map from page number to page, in two loads without locks. The table is a fixed array of
// lazily made blocks of atomic words. A word is the address of the page's bytes, 0 if there is
// none. A word may change while threads read (a page moves from the heap to the mapped file), but
// the bytes at its address do not. A store opened from a page file begins with words of 0 and a
// supply that fetches each page on first access.

internal import TreeRingPlatform

/// The addresses of all pages.
// Sendable: the words are atomics, and blocks are only ever added, under the page store's lock.
struct PageTable: @unchecked Sendable {
  static let blockShift = 14
  static let blockCount = 1 << (32 - blockShift)
  static let wordsPerBlock = 1 << blockShift
  /// The first number of the private pages, which have no slot in a page file.
  static let firstPrivateNumber: PageNumber = 1 << 31
  private static let firstPrivateBlock = Int(firstPrivateNumber >> blockShift)

  /// The addresses of the blocks.
  let blocks: UnsafeMutablePointer<Atomic<UInt>>
  /// The supply for pages without an address. The page store retains it as long as the table.
  private let supply: Unmanaged<PageSupply>?

  #if DEBUG
    /// The number of page accesses, so that tests can count instead of timing. Only debug builds
    /// have it.
    var visitCount: Int { visits.pointee.load(ordering: .relaxed) }
    private let visits = UnsafeMutablePointer<Atomic<Int>>.allocate(capacity: 1)
  #endif

  init(supply: PageSupply?) {
    blocks = Self.reserveWords(Self.blockCount)
    #if DEBUG
      visits.initialize(to: Atomic(0))
    #endif
    self.supply = supply.map { .passUnretained($0) }
  }

  /// Reserves address space for words that read as zero. The system provides the memory at the
  /// first access, and opening a large store accesses none of it. The heap would have to clear the
  /// memory that it reuses. Without `MAP_NORESERVE` Linux would refuse more than the machine's
  /// memory, and a page file may be so long, with holes, that its words take more.
  static func reserveWords(_ count: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
    let memory = mmap(
      nil, count * MemoryLayout<UInt>.stride, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0)
    guard let memory, memory != UnsafeMutableRawPointer(bitPattern: -1) else {
      preconditionFailure("out of memory for the page table")
    }
    return memory.assumingMemoryBound(to: Atomic<UInt>.self)
  }

  static func release(_ words: UnsafeMutableRawPointer?, _ count: Int) {
    munmap(words, count * MemoryLayout<UInt>.stride)
  }

  /// Frees the table, not the pages.
  func deallocate() {
    for first in [0, Self.firstPrivateBlock] {
      for index in first..<(first + Self.firstPrivateBlock) {
        let address = blocks[index].load(ordering: .relaxed)
        if address == 0 { break }
        Self.release(UnsafeMutableRawPointer(bitPattern: address), Self.wordsPerBlock)
      }
    }
    Self.release(blocks, Self.blockCount)
    #if DEBUG
      visits.deinitialize(count: 1)
      visits.deallocate()
    #endif
  }

  @inline(__always)
  private func countVisit() {
    #if DEBUG
      visits.pointee.add(1, ordering: .relaxed)
    #endif
  }

  /// Whether the table has a block for a page number.
  private func hasBlock(_ number: PageNumber) -> Bool {
    blocks[Int(number >> Self.blockShift)].load(ordering: .relaxed) != 0
  }

  /// Whether a page of this number is in memory.
  func contains(_ number: PageNumber) -> Bool {
    let block = blocks[Int(number >> Self.blockShift)].load(ordering: .relaxed)
    guard let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block) else { return false }
    return words[Int(number) & (Self.wordsPerBlock - 1)].load(ordering: .relaxed) != 0
  }

  /// Whether the page in memory under a number has this birth. True if there is none; a nil birth
  /// matches any page.
  func matches(_ number: PageNumber, _ birth: PageBirth?) -> Bool {
    guard let birth, contains(number) else { return true }
    return UnsafeMutableRawPointer(bitPattern: address(number)).map { Page(bytes: $0).birth }
      == birth
  }

  /// The address of a page's bytes; 0 if it has none.
  @inline(__always)
  func address(_ number: PageNumber) -> UInt {
    let block = blocks[Int(number >> Self.blockShift)].load(ordering: .relaxed)
    let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block).unsafelyUnwrapped
    return words[Int(number) & (Self.wordsPerBlock - 1)].load(ordering: .relaxed)
  }

  /// A page that has been fetched, by its number alone.
  @inline(__always)
  func page(_ number: PageNumber) -> Page {
    countVisit()
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address(number)) else {
      return missing(number)
    }
    return Page(bytes: bytes)
  }

  /// The child at an index of an inner page.
  @inline(__always)
  func child(of page: Page, at index: Int) -> Page {
    childInMemory(of: page, at: index) ?? fetch(page.child(at: index), below: page)
  }

  /// The child at an index of an inner page; nil if it is not in memory.
  @inline(__always)
  func childInMemory(of page: Page, at index: Int) -> Page? {
    countVisit()
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address(page.children[index])) else {
      return nil
    }
    let child = Page(bytes: bytes)
    // One level a step, so that every descent ends, whatever a page file states.
    if child.level &+ 1 != page.level { return misplaced(child, below: page) }
    return child
  }

  /// The child at an index, for traversals of a whole tree: the page must have as many entries as
  /// its entry states. Otherwise several paths to the same pages would multiply the work. O(cells).
  func countedChild(of page: Page, at index: Int) -> Page {
    let child = child(of: page, at: index)
    // The substitute has number 0.
    if child.number == 0 || child.entryCount == page.counts[index] { return child }
    return refuse(
      "it has \(child.entryCount) entries, its entry states \(page.counts[index])", child)
  }

  /// The page of this number and birth.
  @inline(__always)
  func page(_ number: PageNumber, birth: PageBirth) -> Page {
    countVisit()
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address(number)) else {
      return fetch(ChildReference(page: number, birth: birth, count: 0), below: nil)
    }
    return Page(bytes: bytes)
  }

  /// A tree's top page.
  @inline(__always)
  func top(of root: TreeRoot) -> Page {
    countVisit()
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address(root.page)) else {
      return fetch(
        ChildReference(page: root.page, birth: root.birth, count: root.count), below: nil)
    }
    return Page(bytes: bytes)
  }

  /// Fetches a page from the supply, compares it with its reference, and stores its address.
  /// - Parameters:
  ///   - reference: The entry that refers to the page; a count of 0 is not compared.
  ///   - parent: The page of that entry; nil for a root.
  @inline(never)
  private func fetch(_ reference: ChildReference, below parent: Page?) -> Page {
    // Below the substitute there is nothing; the failure is recorded already.
    if let parent, parent.number == 0 { return parent }
    let number = reference.page
    guard let supply = supply?.takeUnretainedValue() else {
      preconditionFailure("page \(number) does not exist")
    }
    let (bytes, isPage) = supply.fetchPage(number, birth: reference.birth)
    let page = Page(bytes: bytes)
    if !isPage { return page }
    if let flaw = flaw(in: page, named: reference, below: parent) {
      return Page(bytes: supply.refuse(flaw, page: number))
    }
    setIfAbsent(number, to: bytes)
    return page
  }

  /// Reads the child at an index of an inner page into the caller's memory, and checks it as a
  /// fetch does. The child gets no address.
  /// - Returns: nil if it cannot be read. That is no failed fetch, but a fetch will probably fail.
  func readChild(
    of page: Page, at index: Int, into bytes: UnsafeMutableRawPointer
  ) -> Page? {
    let reference = page.child(at: index)
    let child = Page(bytes: bytes)
    guard let supply = supply?.takeUnretainedValue(), page.number != 0,
      supply.readPage(reference.page, birth: reference.birth, into: bytes),
      flaw(in: child, named: reference, below: page) == nil
    else { return nil }
    return child
  }

  /// The flaw, in words, of a sound page that contradicts its reference or the file's size; nil if
  /// there is none. O(cells).
  private func flaw(
    in page: Page, named reference: ChildReference, below parent: Page?
  ) -> String? {
    if let parent, page.level + 1 != parent.level {
      return "it is at level \(page.level), below a page at level \(parent.level)"
    }
    if reference.count > 0, page.entryCount != reference.count {
      return "it has \(page.entryCount) entries, its entry states \(reference.count)"
    }
    if page.level == 0 { return nil }
    for index in 0..<page.cellCount where !hasBlock(page.children[index]) {
      return "it leads to page \(page.children[index]), beyond the file's end"
    }
    return nil
  }

  /// Refuses a page in memory that does not lie one level below its parent.
  @inline(never)
  private func misplaced(_ page: Page, below parent: Page) -> Page {
    refuse("it is at level \(page.level), below a page at level \(parent.level)", page)
  }

  /// Counts a page as damaged because its keys are out of order with those of its neighbours.
  func refuseDisorder(_ page: Page) {
    _ = refuse("its keys are not in order with those of its neighbours", page)
  }

  private func refuse(_ flaw: String, _ page: Page) -> Page {
    guard let supply = supply?.takeUnretainedValue() else {
      preconditionFailure("page \(page.number): \(flaw)")
    }
    return Page(bytes: supply.refuse(flaw, page: page.number))
  }

  /// The substitute for a page whose first fetch failed.
  @inline(never)
  private func missing(_ number: PageNumber) -> Page {
    guard let supply else { preconditionFailure("page \(number) does not exist") }
    return Page(bytes: supply.takeUnretainedValue().refuseAgain())
  }

  /// Sets the address of a page that has none. Any thread: concurrent fetches of a page bring the
  /// same address.
  func setIfAbsent(_ number: PageNumber, to bytes: UnsafeMutableRawPointer) {
    let block = blocks[Int(number >> Self.blockShift)].load(ordering: .relaxed)
    let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block).unsafelyUnwrapped
    _ = words[Int(number) & (Self.wordsPerBlock - 1)].compareExchange(
      expected: 0, desired: UInt(bitPattern: bytes), ordering: .releasing)
  }

  /// Sets the address of a page; nil removes it. The caller holds the page store's lock.
  /// - Returns: The previous address.
  @discardableResult
  func set(_ number: PageNumber, to bytes: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let place = Int(number >> Self.blockShift)
    if blocks[place].load(ordering: .relaxed) == 0 { addBlocks(through: place) }
    let block = blocks[place].load(ordering: .relaxed)
    let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block).unsafelyUnwrapped
    let old = words[Int(number) & (Self.wordsPerBlock - 1)].exchange(
      UInt(bitPattern: bytes), ordering: .releasing)
    return UnsafeMutableRawPointer(bitPattern: old)
  }

  /// Clears the addresses of all pages with a slot in the file, so that the next access fetches
  /// them again. Concurrent readers keep valid pointers. O(numbers in use or free).
  func clearFilePages() {
    for index in 0..<Self.firstPrivateBlock {
      let block = blocks[index].load(ordering: .relaxed)
      guard let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block) else { return }
      for place in 0..<Self.wordsPerBlock where words[place].load(ordering: .relaxed) != 0 {
        words[place].store(0, ordering: .relaxed)
      }
    }
  }

  /// Adds the blocks up to this one, without a gap. The caller holds the page store's lock.
  func addBlocks(through place: Int) {
    if blocks[place].load(ordering: .relaxed) != 0 { return }
    var start = place
    let first = place >= Self.firstPrivateBlock ? Self.firstPrivateBlock : 0
    while start > first, blocks[start - 1].load(ordering: .relaxed) == 0 { start -= 1 }
    // One call of the system for all; they are released one by one.
    let words = Self.reserveWords((place - start + 1) * Self.wordsPerBlock)
    for index in start...place {
      let block = words + (index - start) * Self.wordsPerBlock
      blocks[index].store(UInt(bitPattern: block), ordering: .releasing)
    }
  }
}
