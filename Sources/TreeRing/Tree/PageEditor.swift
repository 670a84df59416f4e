// Editing the trees in one transaction. The editor edits a page in place only if it made the page,
// which the owner stamp in the page shows. It copies every other page first and reports the
// original as retired. So the roots that others read never change, and a transaction copies a page
// only once.
//
// An edit descends from the root and takes ownership of each page on the path. Then it changes the
// leaf, and goes back up the recorded path as far as pages split or become empty.

package import TreeRingLog
internal import TreeRingPlatform

/// A page on the path from the root to a leaf, and the index of the child on the path.
struct PathStep {
  var page: Page
  var index: Int
}

/// The pages of one transaction. One thread at a time uses it; `finish` or `discard` ends it. Then
/// `begin` may begin another one.
package final class PageEditor {
  /// The store of the edited pages.
  package let pages: PageStore
  /// The number of the commit that the transaction makes.
  @exclusivity(unchecked) package private(set) var epoch: CommitNumber
  /// The edition of its first page. Pages of the commit of lower editions are not its own.
  @exclusivity(unchecked) private var firstEdition: UInt16
  /// Whether its pages are private: they have no slot in a page file.
  let isPrivate: Bool
  /// The stamp of the pages that the transaction made.
  @exclusivity(unchecked) private(set) var owner: OwnerStamp
  let table: PageTable
  let cellCapacity: Int
  /// Owns `path` and `state`.
  let memory: EditorMemory
  let path: UnsafeMutablePointer<PathStep>

  /// The state that changes when a page is made or released.
  struct State {
    var retired: [RetiredPage] = []
    /// Every page made, released ones included.
    var made: [PageNumber] = []
    /// The birth of pages that are made or changed from now on.
    var birth: PageBirth
    /// Pages made that were released to the file early and have not changed since.
    var spilled: Set<PageNumber> = []
    /// Pages made and released again, for reuse.
    var spare: [PageNumber] = []
    var cellList: CellList?
    /// Whether an editor uses this state.
    var isOpen = false

    init(birth: PageBirth) { self.birth = birth }

    /// Begins a transaction. The cell list stays.
    mutating func begin(_ birth: PageBirth) {
      self.birth = birth
      isOpen = true
      made.reserveCapacity(8)
      retired.reserveCapacity(8)
    }

    /// Ends a transaction.
    mutating func end() {
      isOpen = false
      retired = []
      made = []
      if !spilled.isEmpty { spilled = [] }
      if !spare.isEmpty { spare = [] }
    }
  }
  private let state: UnsafeMutablePointer<State>

  /// True if the transaction has ended, so that its memory may serve another.
  @exclusivity(unchecked) private var hasEnded = false

  /// Pages of earlier transactions that this one replaced, in no order.
  var retired: [RetiredPage] { state.pointee.retired }

  /// Begins a transaction that makes commit `epoch`.
  /// - Parameters:
  ///   - isPrivate: True if its pages belong to one reader's own state of the trees. Their numbers
  ///     have no slot in a page file.
  ///   - memory: The memory of an editor that has ended; nil for new memory.
  package convenience init(
    pages: PageStore, epoch: CommitNumber, isPrivate: Bool = false, memory: EditorMemory? = nil
  ) {
    let (owner, birth) = pages.beginEditing(epoch, isPrivate: isPrivate)
    self.init(
      pages: pages, birth: birth, owner: owner, isPrivate: isPrivate,
      memory: memory ?? EditorMemory())
  }

  /// Begins another form of a state; nil if the state's commit can have no more.
  convenience init?(pages: PageStore, formOf state: StateID) {
    guard let (owner, birth) = pages.beginForm(of: state) else { return nil }
    self.init(
      pages: pages, birth: birth, owner: owner, isPrivate: false, memory: EditorMemory())
  }

  private init(
    pages: PageStore, birth: PageBirth, owner: OwnerStamp, isPrivate: Bool, memory: EditorMemory
  ) {
    self.pages = pages
    epoch = birth.commit
    firstEdition = birth.edition
    self.isPrivate = isPrivate
    self.owner = owner
    table = pages.table
    cellCapacity = pages.cellCapacity
    self.memory = memory
    path = memory.path
    state = memory.state
    precondition(!state.pointee.isOpen, "the memory serves another editor")
    state.pointee.begin(birth)
  }

  /// Begins another transaction, of commit `epoch`; the one before has ended.
  func begin(_ epoch: CommitNumber) {
    precondition(hasEnded, "a transaction is under way")
    let (owner, birth) = pages.beginEditing(epoch, isPrivate: isPrivate)
    self.owner = owner
    self.epoch = birth.commit
    firstEdition = birth.edition
    state.pointee.begin(birth)
    hasEnded = false
  }

  deinit { if !hasEnded { discard() } }

  /// The pages made and still in use, in no order. O(pages made).
  var allocated: [PageNumber] {
    let made = state.pointee.made
    if state.pointee.spare.isEmpty { return made }
    let spare = Set(state.pointee.spare)
    return made.filter { !spare.contains($0) }
  }

  /// Ends the transaction: its pages never change again. The caller publishes its roots, then hands
  /// `retired` to the pin table.
  package func finish() -> (allocated: [PageNumber], retired: [RetiredPage]) {
    precondition(!hasEnded, "a transaction can end only once")
    let result = (allocated, retired)
    if !state.pointee.spare.isEmpty { pages.free(state.pointee.spare) }
    close()
    return result
  }

  /// Ends the transaction and frees every page it made.
  func discard() {
    precondition(!hasEnded, "a transaction can end only once")
    pages.free(state.pointee.made)
    close()
  }

  private func close() {
    state.pointee.end()
    hasEnded = true
  }
}

// MARK: - Pages of the transaction

extension PageEditor {
  /// The birth of pages that are made or changed from now on.
  @inline(__always)
  var birth: PageBirth { state.pointee.birth }

  /// A page of undefined content that this editor owns.
  /// - Parameter level: The level that it will have.
  func allocate(level: Int) -> (number: PageNumber, page: Page) {
    if let number = state.pointee.spare.popLast() { return (number, table.page(number)) }
    precondition(state.pointee.isOpen && !hasEnded, "the transaction has ended")
    let new = pages.allocate(isPrivate: isPrivate, isLeaf: level == 0)
    state.pointee.made.append(new.number)
    return new
  }

  /// A copy of a page that this editor owns; the original is retired. A page that the transaction
  /// made and released to the file keeps its number and gets a new birth.
  @inline(never)
  func copy(_ page: Page) -> Page {
    if !state.pointee.spilled.isEmpty, state.pointee.spilled.remove(page.number) != nil {
      let own = pages.copyToHeap(page)
      own.birth = birth
      own.owner = owner
      return own
    }
    let (number, new) = allocate(level: page.level)
    if page.number == 0 {
      // The substitute for a page that could not be read: zeros stand for page 0.
      memcpy(new.bytes, page.bytes, PageLayout.pageByteCount)
    } else {
      new.copyContent(of: page)
    }
    new.number = number
    new.birth = birth
    new.owner = owner
    state.pointee.retired.append(RetiredPage(number: page.number, birth: page.birth))
    return new
  }

  /// A copy, as `copy` makes it, of a child that is not in memory, read from the file.
  /// - Returns: nil if the child must be fetched, because it cannot be read or the transaction made
  ///   it.
  func copyFromFile(childOf page: Page, at index: Int) -> Page? {
    let child = RetiredPage(number: page.children[index], birth: page.births[index])
    if state.pointee.spilled.contains(child.number) { return nil }
    let (number, memory) = allocate(level: page.level - 1)
    guard let new = table.readChild(of: page, at: index, into: memory.bytes) else {
      state.pointee.spare.append(number)
      return nil
    }
    new.number = number
    new.birth = birth
    new.owner = owner
    state.pointee.retired.append(child)
    return new
  }

  /// Whether more than a number of the pages made have their home in the heap. O(1) if fewer pages
  /// were made, otherwise O(pages made).
  func hasInHeap(moreThan count: Int) -> Bool {
    state.pointee.made.count > count && allocated.count { pages.isInHeap($0) } > count
  }

  /// Releases the pages made whose home is the heap to the file, which may write them as they are
  /// now, even more than once, and then evict them. A later change makes a page one of the next
  /// edition. The caller holds no pointers into pages of the transaction. O(pages made).
  /// - Returns: Those pages, by number; none if all editions that a birth can count are used up.
  func spill() -> [RetiredPage] {
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

  /// Releases a page that is no longer part of a tree.
  func release(_ page: Page) {
    if page.owner == owner {
      page.owner = 0
      state.pointee.spare.append(page.number)
    } else {
      state.pointee.retired.append(RetiredPage(number: page.number, birth: page.birth))
    }
  }

  /// Releases a page known by its reference. Reads the page only if this editor may own it.
  func release(_ number: PageNumber, birth: PageBirth) {
    if birth.commit == epoch, birth.edition >= firstEdition,
      !state.pointee.spilled.contains(number)
    {
      release(table.page(number))
    } else {
      state.pointee.retired.append(RetiredPage(number: number, birth: birth))
    }
  }

  /// The list for rewriting the layout of pages.
  var list: CellList {
    if let list = state.pointee.cellList { return list }
    let list = CellList()
    state.pointee.cellList = list
    return list
  }

  /// Copies a separator to memory that outlives the cell list's use.
  func keepSeparator(_ key: UnsafeRawPointer, length: Int) -> UnsafeRawPointer {
    list.keepSeparator(key, length: length)
  }
}

// MARK: - Whole trees

extension PageEditor {
  /// Removes every entry. O(pages).
  package func removeAll(_ root: inout TreeRoot) {
    if root.page != 0 {
      releaseChildren(of: table.top(of: root))
      release(root.page, birth: root.birth)
    }
    root = .empty
  }

  /// Releases everything below a page, without reading leaves.
  private func releaseChildren(of page: Page) {
    if page.level == 0 { return }
    for index in 0..<page.cellCount {
      if page.level > 1 { releaseChildren(of: table.countedChild(of: page, at: index)) }
      release(page.children[index], birth: page.births[index])
    }
  }
}
