// What differs between two trees of one page store. Both are gone through side by side; where both
// stand before the same page, it is skipped unread, so the cost is the changes, not the trees.
//
// Each side stands before a page or on an entry of a leaf.
//   1. Both before the same page, or one before a page whose first entry the other stands on: skip.
//   2. One or both before a page: go down, the higher page first.
//   3. Both on entries: the lower key is a removal or an insertion; equal keys are a change if their
//      values differ.
// Going down early costs nothing but a step, since a page whose first entry is current is taken for
// "before that page" again.

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// The differences between two trees, in key order. Both roots must stay pinned meanwhile.
package struct TreeDiff: ~Copyable {
  /// Calls made with a difference: the key, the value in the old tree, the value in the new tree.
  package typealias Body<R> = (
    _ key: UnsafeRawBufferPointer, _ old: UnsafeRawBufferPointer?, _ new: UnsafeRawBufferPointer?
  ) throws -> R

  private var old: Side
  private var new: Side
  /// Pages looked into, on both sides together; for tests.
  package var visitedPageCount: Int { old.visitedPageCount + new.visitedPageCount }

  /// The differences that lead from one tree to another. O(1).
  package init(from old: TreeRoot, to new: TreeRoot, pages: PageStore) {
    self.old = Side(old, pages: pages)
    self.new = Side(new, pages: pages)
  }

  /// Calls `body` with the next difference; nil when there is none left. Amortised over all calls
  /// O(differences · log n); key and values are valid inside `body` only.
  package mutating func next<R>(_ body: Body<R>) rethrows -> R? {
    while true {
      switch step() {
      case .removed:
        defer { old.advance() }
        return try old.withEntry { try body($0, $1, nil) }
      case .inserted:
        defer { new.advance() }
        return try new.withEntry { try body($0, nil, $1) }
      case .changed:
        defer {
          old.advance()
          new.advance()
        }
        let value = new.value
        return try old.withEntry { try body($0, $1, value) }
      case .none: continue
      case .end: return nil
      }
    }
  }

  /// Goes on in another read section than the one before.
  package mutating func resume() {
    old.resume()
    new.resume()
  }

  /// Calls `body` with every difference, until it returns false.
  package mutating func forEach(_ body: Body<Bool>) rethrows {
    while let goesOn = try next(body) {
      if !goesOn { return }
    }
  }

  private enum Outcome { case removed, inserted, changed, none, end }

  /// Does one step; finds at most one difference, on whose entry the sides then stand.
  private mutating func step() -> Outcome {
    if old.isAtEnd || new.isAtEnd { return stepAlone() }
    if old.skip(ifSharedWith: &new) { return .none }
    if !old.isOnEntry || !new.isOnEntry {
      let oldLevel = old.level
      let newLevel = new.level
      if oldLevel >= newLevel, !old.isOnEntry { old.enter() }
      if newLevel >= oldLevel, !new.isOnEntry { new.enter() }
      return .none
    }
    let order = Side.compareKeys(&old, &new)
    if order < 0 { return .removed }
    if order > 0 { return .inserted }
    if Side.haveEqualValues(old, new) {
      old.advance()
      new.advance()
      return .none
    }
    return .changed
  }

  private mutating func stepAlone() -> Outcome {
    if !old.isAtEnd {
      if old.isOnEntry { return .removed }
      old.enter()
      return .none
    }
    if !new.isAtEnd {
      if new.isOnEntry { return .inserted }
      new.enter()
      return .none
    }
    return .end
  }
}

/// One tree of a diff: a path of pages gone into, then possibly a page stood before.
private struct Side: ~Copyable {
  private struct Step {
    var number: PageNumber
    var birth: PageBirth
    var index: Int
    var page: Page
  }

  // First: the thread sanitizer takes a change of this struct for a change of the object that its
  // first field refers to, and `pages` is shared.
  /// The pages gone into, from the root down.
  private let steps: UnsafeMutablePointer<Step>
  private let pages: PageStore
  private let table: PageTable
  private var depth = 0
  /// The page stood before; 0 when on an entry.
  private var front: PageNumber
  private var frontBirth: PageBirth
  private(set) var isAtEnd: Bool
  private let keyBuffer: UnsafeMutableRawPointer
  private var keyLength = -1
  private(set) var visitedPageCount = 0

  init(_ root: TreeRoot, pages: PageStore) {
    self.pages = pages
    table = pages.table
    front = root.page
    frontBirth = root.birth
    isAtEnd = root.page == 0
    steps = .allocate(capacity: PageLayout.maxHeight)
    keyBuffer = .allocate(byteCount: PageLayout.maxCellByteCount + 8, alignment: 8)
  }

  deinit {
    steps.deallocate()
    keyBuffer.deallocate()
  }

  var isOnEntry: Bool { front == 0 }

  /// The level of the page stood before; -1 on an entry.
  var level: Int { front == 0 ? -1 : table.page(front, birth: frontBirth).level }

  /// Looks up again where the pages gone into are.
  mutating func resume() {
    for place in 0..<depth {
      let step = steps[place]
      steps[place].page = table.page(step.number, birth: step.birth)
    }
  }

  /// Goes into the page stood before.
  mutating func enter() {
    let page = table.page(front, birth: frontBirth)
    steps[depth] = Step(number: front, birth: frontBirth, index: 0, page: page)
    depth += 1
    visitedPageCount += 1
    stand(before: 0, of: page)
    keyLength = -1
    // Only the substitute for a page that could not be fetched is empty.
    if page.cellCount == 0 { advance() }
  }

  /// Goes behind the page stood before or the entry stood on.
  mutating func advance() {
    keyLength = -1
    while depth > 0 {
      let page = steps[depth - 1].page
      steps[depth - 1].index += 1
      if steps[depth - 1].index < page.cellCount {
        stand(before: steps[depth - 1].index, of: page)
        return
      }
      depth -= 1
    }
    isAtEnd = true
  }

  /// Stands before a child of an inner page; on an entry of a leaf.
  private mutating func stand(before index: Int, of page: Page) {
    front = page.level == 0 ? 0 : page.children[index]
    frontBirth = page.level == 0 ? 0 : page.births[index]
  }

  /// Stands before a page again if the current place is that page's very first entry.
  private mutating func goBack(before number: PageNumber) -> Bool {
    var place = depth
    while place > 0, steps[place - 1].index == 0 {
      place -= 1
      if steps[place].number == number {
        depth = place
        front = number
        frontBirth = steps[place].birth
        return true
      }
    }
    return false
  }

  /// Goes behind a page that both sides are about to read.
  mutating func skip(ifSharedWith other: inout Side) -> Bool {
    let isShared =
      if front != 0, front == other.front {
        true
      } else if front != 0 {
        other.goBack(before: front)
      } else if other.front != 0 {
        goBack(before: other.front)
      } else {
        false
      }
    if isShared {
      advance()
      other.advance()
    }
    return isShared
  }

  var value: UnsafeRawBufferPointer {
    steps[depth - 1].page.value(at: steps[depth - 1].index)
  }

  private mutating func loadKey() {
    if keyLength >= 0 { return }
    let step = steps[depth - 1]
    step.page.copyKey(at: step.index, to: keyBuffer)
    keyLength = step.page.keyLength(at: step.index)
  }

  mutating func withEntry<R>(
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    loadKey()
    return try body(UnsafeRawBufferPointer(start: keyBuffer, count: keyLength), value)
  }

  static func compareKeys(_ a: inout Side, _ b: inout Side) -> Int {
    a.loadKey()
    b.loadKey()
    return KeyOrder.compare(a.keyBuffer, a.keyLength, b.keyBuffer, b.keyLength)
  }

  static func haveEqualValues(_ a: borrowing Side, _ b: borrowing Side) -> Bool {
    let x = a.value
    let y = b.value
    return x.count == y.count && memcmp(x.start, y.start, x.count) == 0
  }
}
