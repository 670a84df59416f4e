// The dead pages of one pin. They form a list in order of arrival until the pin ends and they move
// to an older pin. From then on they form a heap by birth, the youngest first. Joining two heaps
// moves the smaller into the larger, so n pages cost O(n log² n) in all, in whatever order pins
// end.

internal import TreeRingLog

/// Pages that only pins keep.
struct DeadPages: Sendable {
  /// The pages: in order of arrival while they form a list, otherwise in no order.
  private(set) var pages: [RetiredPage] = []
  private var isHeap = false
  #if DEBUG
    /// The number of moves of pages within the heaps that make up this one.
    private(set) var moveCount = 0
  #endif

  init(_ pages: [RetiredPage] = []) { self.pages = pages }

  /// Adds a page. O(1) for a list, O(log n) for a heap.
  mutating func append(_ page: RetiredPage) {
    pages.append(page)
    if isHeap { rise(pages.count - 1) }
  }

  /// Removes the first pages of a list.
  mutating func removeFirst(_ count: Int) { pages.removeFirst(min(count, pages.count)) }

  /// Turns the heap into a list: later pages are appended after the present ones.
  mutating func makeList() { isHeap = false }

  /// Removes and returns the pages born after a state. O(n) for a list, which stays one; O(log n)
  /// for each page removed from a heap.
  mutating func removePages(bornAfter state: StateID) -> [RetiredPage] {
    if !isHeap {
      // Usually all of them: the pages of a commit among others die together.
      if pages.allSatisfy({ $0.birth.state > state }) {
        defer { pages = [] }
        return pages
      }
      let removed = pages.filter { $0.birth.state > state }
      if !removed.isEmpty { pages.removeAll { $0.birth.state > state } }
      return removed
    }
    var removed: [RetiredPage] = []
    while let youngest = pages.first, youngest.birth.state > state {
      removed.append(youngest)
      exchange(0, pages.count - 1)
      pages.removeLast()
      sink(0)
    }
    return removed
  }

  /// Adds the pages of another pin. O(log n) for each page of the smaller heap.
  mutating func join(_ other: DeadPages) {
    if other.pages.isEmpty {
      #if DEBUG
        moveCount += other.moveCount
      #endif
      return
    }
    var other = other
    if other.pages.count > pages.count { swap(&self, &other) }
    makeHeap()
    #if DEBUG
      moveCount += other.moveCount + other.pages.count
    #endif
    for page in other.pages { append(page) }
  }

  private mutating func makeHeap() {
    if isHeap { return }
    isHeap = true
    for index in stride(from: pages.count / 2 - 1, through: 0, by: -1) { sink(index) }
  }

  private mutating func rise(_ start: Int) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      if pages[parent].birth.state >= pages[index].birth.state { return }
      exchange(index, parent)
      index = parent
    }
  }

  private mutating func sink(_ start: Int) {
    var index = start
    while true {
      var youngest = index
      for child in [2 * index + 1, 2 * index + 2] where child < pages.count {
        if pages[child].birth.state > pages[youngest].birth.state { youngest = child }
      }
      if youngest == index { return }
      exchange(index, youngest)
      index = youngest
    }
  }

  private mutating func exchange(_ a: Int, _ b: Int) {
    pages.swapAt(a, b)
    #if DEBUG
      moveCount += 1
    #endif
  }
}
