// Page number → page, in two loads without locks. The table is a fixed array of lazily made blocks
// of atomic words; a word is the address of the page's bytes, 0 if there is none. A word may change
// its address while readers look (a page that moves from the heap to the mapped file), never the
// bytes found there. A store opened from a page file begins with words of 0 and a supply that is
// asked for a page when it is first touched.

internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// The address of every page.
// The words are atomics and blocks are only ever added, under the page store's lock.
struct PageTable: @unchecked Sendable {
  static let blockShift = 14
  static let blockCount = 1 << (32 - blockShift)
  static let wordsPerBlock = 1 << blockShift
  /// The first number of the private pages, which have no place in a page file.
  static let firstPrivateNumber: PageNumber = 1 << 31
  private static let firstPrivateBlock = Int(firstPrivateNumber >> blockShift)

  /// The addresses of the blocks.
  let blocks: UnsafeMutablePointer<Atomic<UInt>>
  /// Whom to ask for a page that has no address. The page store holds it as long as the table.
  private let supply: Unmanaged<PageSupply>?

  #if DEBUG || TREERING_COUNTED
    /// How often a page was asked for, so that tests can count instead of timing. Other builds know nothing
    /// of it.
    var visitCount: Int { visits.pointee.load(ordering: .relaxed) }
    private let visits = UnsafeMutablePointer<Atomic<Int>>.allocate(capacity: 1)
  #endif

  init(supply: PageSupply?) {
    blocks = Self.reserveWords(Self.blockCount)
    #if DEBUG || TREERING_COUNTED
      visits.initialize(to: Atomic(0))
    #endif
    self.supply = supply.map { .passUnretained($0) }
  }

  /// Address space for words that read as zero; memory is supplied where it is touched, which opening
  /// a large store does nowhere. A heap that has had such memory back would clear all of it.
  private static func reserveWords(_ count: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
    let memory = mmap(
      nil, count * MemoryLayout<UInt>.stride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    guard let memory, memory != UnsafeMutableRawPointer(bitPattern: -1) else {
      preconditionFailure("out of memory for the page table")
    }
    return memory.assumingMemoryBound(to: Atomic<UInt>.self)
  }

  private static func release(_ words: UnsafeMutableRawPointer?, _ count: Int) {
    munmap(words, count * MemoryLayout<UInt>.stride)
  }

  /// Frees the table itself, not the pages.
  func deallocate() {
    for first in [0, Self.firstPrivateBlock] {
      for index in first..<(first + Self.firstPrivateBlock) {
        let address = blocks[index].load(ordering: .relaxed)
        if address == 0 { break }
        Self.release(UnsafeMutableRawPointer(bitPattern: address), Self.wordsPerBlock)
      }
    }
    Self.release(blocks, Self.blockCount)
    #if DEBUG || TREERING_COUNTED
      visits.deinitialize(count: 1)
      visits.deallocate()
    #endif
  }

  @inline(__always)
  private func countVisit() {
    #if DEBUG || TREERING_COUNTED
      visits.pointee.add(1, ordering: .relaxed)
    #endif
  }

  /// Whether a page of this number exists.
  func contains(_ number: PageNumber) -> Bool {
    let block = blocks[Int(number >> Self.blockShift)].load(ordering: .relaxed)
    guard let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block) else { return false }
    return words[Int(number) & (Self.wordsPerBlock - 1)].load(ordering: .relaxed) != 0
  }

  /// The address of a page's bytes; 0 if it has none.
  @inline(__always)
  func address(_ number: PageNumber) -> UInt {
    let block = blocks[Int(number >> Self.blockShift)].load(ordering: .relaxed)
    let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block).unsafelyUnwrapped
    return words[Int(number) & (Self.wordsPerBlock - 1)].load(ordering: .relaxed)
  }

  /// A page come by before, by its number alone.
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
    countVisit()
    let number = page.children[index]
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address(number)) else {
      return fetch(number, birth: page.births[index])
    }
    return Page(bytes: bytes)
  }

  /// The page of this number and birth.
  @inline(__always)
  func page(_ number: PageNumber, birth: PageBirth) -> Page {
    countVisit()
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address(number)) else {
      return fetch(number, birth: birth)
    }
    return Page(bytes: bytes)
  }

  /// A tree's top page.
  @inline(__always)
  func top(of root: TreeRoot) -> Page { page(root.page, birth: root.birth) }

  /// Asks the supply for a page and keeps its address.
  @inline(never)
  private func fetch(_ number: PageNumber, birth: PageBirth) -> Page {
    guard let supply else { preconditionFailure("page \(number) does not exist") }
    let (bytes, isPage) = supply.takeUnretainedValue().fetchPage(number, birth: birth)
    if isPage { setIfAbsent(number, to: bytes) }
    return Page(bytes: bytes)
  }

  /// The substitute for a page that could not be fetched when it was first asked for.
  @inline(never)
  private func missing(_ number: PageNumber) -> Page {
    guard let supply else { preconditionFailure("page \(number) does not exist") }
    return Page(bytes: supply.takeUnretainedValue().noteFailure())
  }

  /// Sets the address of a page that has none. Any thread; threads that fetch the same page at the
  /// same time bring the same address.
  func setIfAbsent(_ number: PageNumber, to bytes: UnsafeMutableRawPointer) {
    let block = blocks[Int(number >> Self.blockShift)].load(ordering: .relaxed)
    let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block).unsafelyUnwrapped
    _ = words[Int(number) & (Self.wordsPerBlock - 1)].compareExchange(
      expected: 0, desired: UInt(bitPattern: bytes), ordering: .releasing)
  }

  /// Sets the address of a page; nil if it is gone. Caller holds the page store's lock. Returns the
  /// address before.
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

  /// Forgets where every page lies that has a place in the file: who touches one next fetches it. Others may
  /// be reading; what they hold stays where it is. O(numbers in use or free).
  func forgetFilePages() {
    for index in 0..<Self.firstPrivateBlock {
      let block = blocks[index].load(ordering: .relaxed)
      guard let words = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: block) else { return }
      for place in 0..<Self.wordsPerBlock where words[place].load(ordering: .relaxed) != 0 {
        words[place].store(0, ordering: .relaxed)
      }
    }
  }

  /// Makes the blocks up to this one, without leaving a hole. Caller holds the page store's lock.
  func addBlocks(through place: Int) {
    var index = place
    let first = place >= Self.firstPrivateBlock ? Self.firstPrivateBlock : 0
    while index > first, blocks[index - 1].load(ordering: .relaxed) == 0 { index -= 1 }
    for index in index...place where blocks[index].load(ordering: .relaxed) == 0 {
      let words = Self.reserveWords(Self.wordsPerBlock)
      blocks[index].store(UInt(bitPattern: words), ordering: .releasing)
    }
  }
}
