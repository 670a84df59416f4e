// All pages of a store: the page table, the memory they live in, the free page numbers.
//
// Reading takes no lock and counts no references: number → pointer through the table. Allocating and
// freeing take one lock and may come from any thread. A page may be freed only when no root that can
// still be read reaches it; that is the pin table's business, not checked here.
//
// A page's home is a frame of the heap, or memory of somebody else: the mapped page file. Pages come
// from there through a supply, when first touched; and a page of the heap moves there (`rehome`) when
// the file holds the same bytes. Its number stays.

internal import Synchronization
package import TreeRingLog

/// Pages by number.
package final class PageStore: Sendable {
  /// The most cells a page may hold, however small they are. Tests lower it to make deep trees.
  package let cellCapacity: Int
  let table: PageTable
  private let supply: PageSupply?

  // Sendable under the lock: the frames in it are reachable only through it or through the table.
  fileprivate struct State: @unchecked Sendable {
    var arena = FrameArena()
    var freeNumbers: [PageNumber] = []
    var nextNumber: PageNumber = 1
    var liveCount = 0
    var nextOwner: UInt32 = 1
    /// Memory that is not the arena's.
    var foreign: [Range<UInt>] = []
  }
  private let state = Mutex(State())

  /// A store without pages.
  /// - Parameter cellCapacity: the most cells a page may hold, at least 4.
  package init(cellCapacity: Int = .max) {
    precondition(cellCapacity >= 4, "a page must be able to hold four cells")
    self.cellCapacity = cellCapacity
    supply = nil
    table = PageTable(supply: nil)
  }

  /// A store of the pages of a page file, none of them touched yet. O(free numbers).
  /// - Parameters:
  ///   - supply: brings each page when it is first touched.
  ///   - numberBound: one more than the highest page number in use or free.
  ///   - freeNumbers: the numbers below it that are not in use, 0 not among them.
  package init(
    supply: PageSupply, numberBound: PageNumber, freeNumbers: [PageNumber],
    cellCapacity: Int = .max
  ) {
    precondition(cellCapacity >= 4, "a page must be able to hold four cells")
    precondition(numberBound > 0, "page number 0 is always taken")
    self.cellCapacity = cellCapacity
    self.supply = supply
    table = PageTable(supply: supply)
    table.addBlocks(through: Int(numberBound >> PageTable.blockShift))
    state.withLock {
      $0.nextNumber = numberBound
      $0.freeNumbers = freeNumbers
      $0.liveCount = Int(numberBound) - 1 - freeNumbers.count
    }
  }

  deinit {
    state.withLock { $0.arena.deallocateAll() }
    table.deallocate()
  }

  /// Pages allocated and not freed.
  package var livePageCount: Int { state.withLock { $0.liveCount } }
  /// One more than the highest page number ever used.
  package var pageNumberBound: PageNumber { state.withLock { $0.nextNumber } }
  /// The size of all live pages, in bytes.
  package var livePageByteCount: Int { livePageCount * PageLayout.pageByteCount }
  /// The memory taken from the system for pages, in bytes; at least the live pages in the heap.
  package var heapByteCount: Int { state.withLock { $0.arena.byteCount } }

  /// Whether a page of this number is in memory or can be fetched.
  package func contains(_ number: PageNumber) -> Bool {
    table.contains(number) || (supply != nil && number > 0 && number < pageNumberBound)
  }

  /// The page of this number, which must exist.
  package func page(_ number: PageNumber) -> Page { table.page(number) }

  /// Takes pages out of the table and their memory back. O(pages).
  package func free(_ numbers: some Sequence<PageNumber>) {
    state.withLock { state in
      for number in numbers {
        let home = table.set(number, to: nil)
        precondition(home != nil || supply != nil, "page \(number) is freed twice")
        if let home, !state.isForeign(home) { state.arena.deallocate(home) }
        state.freeNumbers.append(number)
        state.liveCount -= 1
      }
    }
  }

  /// A new page of undefined content, in the table under its number.
  func allocate() -> (number: PageNumber, page: Page) {
    let (number, address) = state.withLock { state in
      let number = state.freeNumbers.popLast() ?? state.takeNextNumber()
      let frame = state.arena.allocate()
      table.set(number, to: frame)
      state.liveCount += 1
      return (number, UInt(bitPattern: frame))
    }
    guard let bytes = UnsafeMutableRawPointer(bitPattern: address) else {
      preconditionFailure("the arena returned no memory")
    }
    return (number, Page(bytes: bytes))
  }

  /// Declares memory where pages may live that the store does not own: the mapped page file.
  package func addForeignMemory(_ memory: UnsafeRawBufferPointer) {
    let start = UInt(bitPattern: memory.baseAddress)
    state.withLock { $0.foreign.append(start..<(start + UInt(memory.count))) }
  }

  /// Lets a page live at another address, in foreign memory that holds the same bytes.
  /// - Returns: its frame in the heap, if it had one. Readers may still be looking at it: give it to
  ///   `releaseFrames` when every read section begun before this call has ended.
  package func rehome(
    _ number: PageNumber, to bytes: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer? {
    let frame = state.withLock { state -> UInt in
      precondition(state.isForeign(bytes), "a page moves to foreign memory only")
      guard let home = table.set(number, to: bytes), !state.isForeign(home) else { return 0 }
      return UInt(bitPattern: home)
    }
    return UnsafeMutableRawPointer(bitPattern: frame)
  }

  /// Takes back frames that `rehome` returned.
  package func releaseFrames(_ frames: some Sequence<UnsafeMutableRawPointer>) {
    let addresses = frames.map { UInt(bitPattern: $0) }
    state.withLock { state in
      for address in addresses {
        guard let frame = UnsafeMutableRawPointer(bitPattern: address) else { continue }
        state.arena.deallocate(frame)
      }
    }
  }

  /// Frames of the heap in use, those waiting for `releaseFrames` included.
  package var frameCount: Int { state.withLock { $0.arena.frameCount } }

  /// The numbers free for new pages, in no order. O(free numbers).
  package var freeNumbers: [PageNumber] { state.withLock { $0.freeNumbers } }

  /// How many fetches have failed. A read section whose count at its end is not that at its start may
  /// have read a substitute: it throws `lastFetchFailure` instead of its result.
  package var fetchFailureCount: UInt64 { supply?.failureCount ?? 0 }
  /// The error of the latest failed fetch.
  package var lastFetchFailure: TreeRingError? { supply?.lastFailure }

  /// A stamp no other editor of this store has; never 0.
  func makeOwnerStamp() -> UInt32 {
    state.withLock { state in
      defer { state.nextOwner = state.nextOwner == .max ? 1 : state.nextOwner + 1 }
      return state.nextOwner
    }
  }
}

extension PageStore.State {
  fileprivate func isForeign(_ bytes: UnsafeMutableRawPointer) -> Bool {
    foreign.contains { $0.contains(UInt(bitPattern: bytes)) }
  }

  fileprivate mutating func takeNextNumber() -> PageNumber {
    precondition(nextNumber != .max, "out of page numbers")
    defer { nextNumber += 1 }
    return nextNumber
  }
}
