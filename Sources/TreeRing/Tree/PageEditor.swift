// One transaction's editing of trees. A page is edited in place only if this editor made it, which
// its owner stamp says; every other page is copied first and reported as retired. So the roots that
// others read never change, and a page is copied once per transaction however often it is edited.
//
// An edit goes down from the root, making each page on the way its own, then works on the leaf and,
// where pages split or run empty, back up along the path it noted.

package import TreeRingLog

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// A page on the way from the root to a leaf, and the index of the child gone down to.
struct PathStep {
  var page: Page
  var index: Int
}

/// The pages of one transaction. Used by one thread at a time; ended by `finish` or `discard`.
package final class PageEditor {
  /// The pages edited.
  package let pages: PageStore
  /// The commit that the transaction makes.
  package let epoch: CommitNumber
  /// Whether its pages never go to a page file.
  package let isPrivate: Bool
  /// The mark of the pages this editor made.
  let owner: UInt32
  let table: PageTable
  let cellCapacity: Int
  let path: UnsafeMutablePointer<PathStep>

  /// What changes when a page is made or given up. Behind a pointer, since the access checks of a
  /// class's stored properties cost as much as copying a page.
  private struct State {
    var retired: [RetiredPage] = []
    /// Every page made, those given up again included.
    var made: [PageNumber] = []
    /// What the pages made or changed now are born at.
    var birth: PageBirth
    /// Pages made that have been given to the file early, and not been changed since.
    var spilled: Set<PageNumber> = []
    /// Pages made and given up, for use again.
    var spare: [PageNumber] = []
    var cellList: CellList?
    var isOpen = true

    init(birth: PageBirth) { self.birth = birth }
  }
  private let state: UnsafeMutablePointer<State>

  /// Pages of earlier transactions that this one replaced, in no order.
  package var retired: [RetiredPage] { state.pointee.retired }

  /// Begins a transaction that makes commit `epoch`.
  /// - Parameter isPrivate: whether its pages belong to one reader's own state of the trees: they get
  ///   numbers that have no place in a page file.
  package init(pages: PageStore, epoch: CommitNumber, isPrivate: Bool = false) {
    self.pages = pages
    self.epoch = epoch
    self.isPrivate = isPrivate
    let (owner, birth) = pages.beginEditing(epoch, isPrivate: isPrivate)
    self.owner = owner
    table = pages.table
    cellCapacity = pages.cellCapacity
    path = .allocate(capacity: PageLayout.maxHeight)
    state = .allocate(capacity: 1)
    state.initialize(to: State(birth: birth))
    state.pointee.made.reserveCapacity(8)
    state.pointee.retired.reserveCapacity(8)
  }

  deinit {
    if state.pointee.isOpen { discard() }
    state.deinitialize(count: 1)
    state.deallocate()
    path.deallocate()
  }

  /// Pages made and still in use, in no order. O(pages made).
  package var allocated: [PageNumber] {
    let made = state.pointee.made
    if state.pointee.spare.isEmpty { return made }
    let spare = Set(state.pointee.spare)
    return made.filter { !spare.contains($0) }
  }

  /// Ends the transaction: its pages are never edited again. The caller publishes its roots, then
  /// hands `retired` to the pin table.
  package func finish() -> (allocated: [PageNumber], retired: [RetiredPage]) {
    precondition(state.pointee.isOpen, "a transaction can end only once")
    let result = (allocated, retired)
    if !state.pointee.spare.isEmpty { pages.free(state.pointee.spare) }
    close()
    return result
  }

  /// Ends the transaction and frees every page it made.
  package func discard() {
    precondition(state.pointee.isOpen, "a transaction can end only once")
    pages.free(state.pointee.made)
    close()
  }

  private func close() {
    state.pointee = State(birth: birth)
    state.pointee.isOpen = false
  }
}

// MARK: - Pages of the transaction

extension PageEditor {
  /// What the pages made or changed now are born at.
  @inline(__always)
  var birth: PageBirth { state.pointee.birth }

  /// A page of undefined content that belongs to this editor.
  func allocate() -> (number: PageNumber, page: Page) {
    if let number = state.pointee.spare.popLast() { return (number, table.page(number)) }
    precondition(state.pointee.isOpen, "the transaction has ended")
    let new = pages.allocate(isPrivate: isPrivate)
    state.pointee.made.append(new.number)
    return new
  }

  /// A copy of a page that belongs to this editor; the page itself is retired. A page that the
  /// transaction made and gave to the file keeps its number, under a new birth.
  @inline(never)
  func copy(_ page: Page) -> Page {
    if !state.pointee.spilled.isEmpty, state.pointee.spilled.remove(page.number) != nil {
      let own = pages.bringBack(page)
      own.birth = birth
      own.owner = owner
      return own
    }
    let (number, new) = allocate()
    memcpy(new.bytes, page.bytes, PageLayout.pageByteCount)
    new.number = number
    new.birth = birth
    new.owner = owner
    state.pointee.retired.append(RetiredPage(number: page.number, birth: page.birth))
    return new
  }

  /// The number of pages made whose home is the heap. O(pages made).
  package var heapPageCount: Int { allocated.count { pages.isInHeap($0) } }

  /// Gives the pages made whose home is the heap to the file: as they are now they may be written, once
  /// or again, and moved there. A change makes them pages of the next edition. Nobody may hold pointers
  /// into pages of the transaction. O(pages made).
  /// - Returns: those pages, by number; none if there have been as many editions as a birth can count.
  package func spill() -> [RetiredPage] {
    guard let next = pages.endEdition(birth) else { return [] }
    state.pointee.birth = next
    let numbers = allocated.filter { pages.isInHeap($0) }.sorted()
    state.pointee.spilled.formUnion(numbers)
    return numbers.map { number in
      let page = table.page(number)
      page.owner = 0
      return RetiredPage(number: number, birth: page.birth)
    }
  }

  /// Gives up a page that is no longer part of a tree.
  func release(_ page: Page) {
    if page.owner == owner {
      page.owner = 0
      state.pointee.spare.append(page.number)
    } else {
      state.pointee.retired.append(RetiredPage(number: page.number, birth: page.birth))
    }
  }

  /// Gives up a page known by its reference, without looking at it unless it may be owned.
  func release(_ number: PageNumber, birth: PageBirth) {
    if birth.commit == epoch, !state.pointee.spilled.contains(number) {
      release(table.page(number))
    } else {
      state.pointee.retired.append(RetiredPage(number: number, birth: birth))
    }
  }

  /// The root's page, owned by this editor.
  @inline(__always)
  func ownedRoot(_ root: inout TreeRoot) -> Page {
    let page = table.top(of: root)
    if page.owner == owner { return page }
    let new = copy(page)
    root.page = new.number
    root.birth = new.birth
    return new
  }

  /// The child at an index of an owned inner page, owned by this editor.
  @inline(__always)
  func ownedChild(of page: Page, at index: Int) -> Page {
    let child = table.child(of: page, at: index)
    if child.owner == owner { return child }
    let new = copy(child)
    page.children[index] = new.number
    page.births[index] = new.birth
    return new
  }

  /// The list for laying pages out anew.
  var list: CellList {
    if let list = state.pointee.cellList { return list }
    let list = CellList()
    state.pointee.cellList = list
    return list
  }

  /// Sets a separator aside where it outlives the cell list's use.
  func keepSeparator(_ key: UnsafeRawPointer, length: Int) -> UnsafeRawPointer {
    list.keepSeparator(key, length: length)
  }
}

// MARK: - Whole trees

extension PageEditor {
  /// Removes every entry. O(pages).
  package func removeAll(_ root: inout TreeRoot) {
    if root.page != 0 {
      let top = table.top(of: root)
      releaseTree(root.page, birth: root.birth, level: top.level)
    }
    root = .empty
  }

  private func releaseTree(_ number: PageNumber, birth: PageBirth, level: Int) {
    if level > 0 {
      let page = table.page(number, birth: birth)
      for index in 0..<page.cellCount {
        releaseTree(page.children[index], birth: page.births[index], level: level - 1)
      }
    }
    release(number, birth: birth)
  }
}
