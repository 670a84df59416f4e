// The tree's invariants and an exhaustive check of them. Tests run it after every step; `treering
// check` runs it over a store.
//
//   1. Every page of the tree exists and carries its own number.
//   2. Children lie one level below their page; leaves are at level 0.
//   3. No page is empty, none holds more cells than the store's capacity.
//   4. Keys ascend strictly, and lie within the separators above them.
//   5. An entry's count is the number of entries below it; its birth is the child page's birth.
//   6. A page is not older than any page below it.
//   7. Cells lie inside the heap without overlap; heap start and dead bytes account for every byte;
//      the gap is zero.
//   8. Every page is reached only once.

internal import TreeRingLog

/// Checks a tree's invariants. O(entries).
package enum TreeChecker {
  /// The violations found, one sentence each; empty for a sound tree.
  package static func check(_ root: TreeRoot, pages: PageStore) -> [String] {
    var checker = Check(pages: pages)
    if root.page == 0 {
      return root.count == 0 ? [] : ["an empty tree states \(root.count) entries"]
    }
    let top = ChildReference(page: root.page, birth: root.birth, count: root.count)
    if let page = checker.page(top, olderThan: .max) {
      if page.level > 0, page.cellCount == 1 { checker.report(page, "a root with one child") }
      checker.visit(page, top, level: page.level, from: nil, to: nil)
    }
    return checker.violations
  }

  /// The numbers of all pages of a tree. O(pages).
  static func reachablePages(_ root: TreeRoot, pages: PageStore) -> Set<PageNumber> {
    var result: Set<PageNumber> = []
    func visit(_ number: PageNumber, _ birth: PageBirth) {
      if !result.insert(number).inserted { return }
      let page = pages.table.page(number, birth: birth)
      if page.level == 0 { return }
      for index in 0..<page.cellCount { visit(page.children[index], page.births[index]) }
    }
    if root.page != 0 { visit(root.page, root.birth) }
    return result
  }
}

private struct Check {
  let pages: PageStore
  var violations: [String] = []
  var seen: Set<PageNumber> = []
  var lastKey: [UInt8]?

  init(pages: PageStore) { self.pages = pages }

  mutating func report(_ page: Page, _ text: String) {
    violations.append("page \(page.number) at level \(page.level): \(text)")
  }

  /// The page of a reference, checked against it; nil if the store has no such page.
  mutating func page(_ reference: ChildReference, olderThan commit: CommitNumber) -> Page? {
    guard pages.contains(reference.page) else {
      violations.append("page \(reference.page) does not exist")
      return nil
    }
    let page = pages.table.page(reference.page, birth: reference.birth)
    if page.number != reference.page { report(page, "found in place of \(reference.page)") }
    if page.birth != reference.birth {
      report(page, "born at \(page.birth), its entry states \(reference.birth)")
    }
    if page.birth.commit > commit { report(page, "younger than the page above it") }
    if !seen.insert(reference.page).inserted { report(page, "reached twice") }
    return page
  }

  mutating func visit(
    _ page: Page, _ reference: ChildReference, level: Int, from lower: [UInt8]?, to upper: [UInt8]?
  ) {
    if page.level != level { return report(page, "expected at level \(level)") }
    if page.cellCount > pages.cellCapacity { report(page, "\(page.cellCount) cells") }
    if page.entryCount != reference.count {
      report(page, "\(page.entryCount) entries, its entry states \(reference.count)")
    }
    if let flaw = page.layoutFlaw() { return report(page, flaw) }
    if level == 0 {
      visitLeaf(page, from: lower, to: upper)
    } else {
      visitInner(page, level: level, from: lower, to: upper)
    }
  }

  private mutating func visitLeaf(_ page: Page, from lower: [UInt8]?, to upper: [UInt8]?) {
    for index in 0..<page.cellCount {
      let key = page.key(at: index)
      if let lastKey, !lastKey.lexicographicallyPrecedes(key) {
        report(page, "key \(index) does not lie after the one before")
      }
      if let lower, key.lexicographicallyPrecedes(lower) {
        report(page, "key \(index) lies before the separator")
      }
      if let upper, !key.lexicographicallyPrecedes(upper) {
        report(page, "key \(index) does not lie before the next separator")
      }
      lastKey = key
    }
  }

  private mutating func visitInner(
    _ page: Page, level: Int, from lower: [UInt8]?, to upper: [UInt8]?
  ) {
    var start = lower
    for index in 0..<page.cellCount {
      let end = index + 1 < page.cellCount ? page.key(at: index + 1) : upper
      if let start, let end, !start.lexicographicallyPrecedes(end) {
        report(page, "separator \(index + 1) does not lie after the one before")
      }
      let child = page.child(at: index)
      if let childPage = self.page(child, olderThan: page.birth.commit) {
        visit(childPage, child, level: level - 1, from: start, to: end)
      }
      start = end
    }
  }
}

extension Page {
  /// A cell's whole key. For checks and dumps.
  package func key(at index: Int) -> [UInt8] {
    if level > 0, index == 0 { return [] }
    let length = keyLength(at: index)
    let bytes = [UInt8](unsafeUninitializedCapacity: length + 8) { buffer, count in
      if let start = buffer.baseAddress { copyKey(at: index, to: start) }
      count = length
    }
    return bytes
  }
}
