// The differences between two trees of one page store. The diff traverses both side by side. It
// skips a page that both sides are about to enter, without reading it. So the cost depends on the
// changes, not on the size of the trees.
//
// Each side stands before a page or on an entry of a leaf.
//   1. Both before the same page, or one before a page whose first entry the other stands on: skip.
//   2. One or both before a page: descend, the higher page first.
//   3. Both on entries: the lower key is a removal or an insertion; equal keys are a change if
//      their values differ.
// Descending too early costs one step only: a side on the first entry of a page counts as "before
// that page" again.

internal import TreeRingPlatform

/// The differences between two trees, in key order. Both roots must stay pinned while it exists.
package struct TreeDiff: ~Copyable {
  /// A call with one difference: the key, the value in the old tree, the value in the new tree.
  package typealias Body<R> = (
    _ key: UnsafeRawBufferPointer, _ old: UnsafeRawBufferPointer?, _ new: UnsafeRawBufferPointer?
  ) throws -> R

  private var old: Side
  private var new: Side
  /// The number of pages entered, on both sides together; for tests.
  var visitedPageCount: Int { old.visitedPageCount + new.visitedPageCount }

  /// Creates the diff that leads from one tree to another. O(1).
  init(from old: TreeRoot, to new: TreeRoot, pages: PageStore) {
    self.old = Side(old, pages: pages)
    self.new = Side(new, pages: pages)
  }

  /// Calls `body` with the next difference; returns nil at the end. Key and values are valid inside
  /// `body` only. O(differences · log n) over all calls.
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

  /// Moves to the first entries whose keys are not below a key. Only before the first difference.
  /// O(log n).
  mutating func seek(to key: UnsafeRawBufferPointer) {
    old.seek(to: key)
    new.seek(to: key)
  }

  /// Continues in a new read section.
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

  /// Makes one step. It finds at most one difference; the sides then stand on its entries.
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

/// One tree of a diff: the path of entered pages, then possibly a page to enter next.
private struct Side: ~Copyable {
  private struct Step {
    var number: PageNumber
    var birth: PageBirth
    var index: Int
    var page: Page
  }

  // The first field, because the thread sanitizer mistakes a change of this struct for a change of
  // the object that the first field refers to, and `pages` is shared.
  /// The entered pages, from the root down.
  private let steps: UnsafeMutablePointer<Step>
  private let pages: PageStore
  private let table: PageTable
  private let root: TreeRoot
  private var depth = 0
  /// The page that the side stands before; 0 on an entry.
  private var front: PageNumber
  private var frontBirth: PageBirth
  private(set) var isAtEnd: Bool
  private let keyBuffer: UnsafeMutableRawPointer
  private var keyLength = -1
  private(set) var visitedPageCount = 0

  init(_ root: TreeRoot, pages: PageStore) {
    self.pages = pages
    table = pages.table
    self.root = root
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

  /// The level of the page that the side stands before; -1 on an entry.
  var level: Int { front == 0 ? -1 : page(at: depth).level }

  /// The page entered at a depth, or the page that the side stands before.
  private func page(at depth: Int) -> Page {
    if depth == 0 { return table.top(of: root) }
    return table.countedChild(of: steps[depth - 1].page, at: steps[depth - 1].index)
  }

  /// Looks up the addresses of the entered pages again, after a change of read section.
  mutating func resume() {
    for place in 0..<depth { steps[place].page = page(at: place) }
  }

  /// Enters the page that the side stands before.
  mutating func enter() {
    let page = page(at: depth)
    steps[depth] = Step(number: front, birth: frontBirth, index: 0, page: page)
    depth += 1
    visitedPageCount += 1
    stand(before: 0, of: page)
    keyLength = -1
    // Only the substitute for a page that could not be fetched is empty.
    if page.cellCount == 0 { advance() }
  }

  /// Moves from the root to the first entry whose key is not below a key.
  mutating func seek(to key: UnsafeRawBufferPointer) {
    while !isAtEnd, front != 0 {
      let page = page(at: depth)
      enter()
      if page.cellCount == 0 { return }
      if page.level == 0 {
        let index = page.leafLowerBound(key.start, key.count).index
        // Behind the last entry, the first one of the next leaf is above the key.
        steps[depth - 1].index = max(0, index - 1)
        if index > 0 { advance() }
        while !isAtEnd, front != 0 { enter() }
      } else {
        steps[depth - 1].index = page.childIndex(key.start, key.count)
        stand(before: steps[depth - 1].index, of: page)
      }
    }
  }

  /// Moves past the current page or entry.
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

  /// Moves to a child of an inner page, or to an entry of a leaf.
  private mutating func stand(before index: Int, of page: Page) {
    front = page.level == 0 ? 0 : page.children[index]
    frontBirth = page.level == 0 ? 0 : page.births[index]
  }

  /// Moves back before a page if the side stands on that page's very first entry.
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

  /// Moves both sides past the page that both are about to enter, if it is the same page.
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
