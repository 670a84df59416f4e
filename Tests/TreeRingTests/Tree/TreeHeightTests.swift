// The cost of a descent: every lookup, rank and select visits one page per level, so the number of
// levels bounds the pages visited. The test counts; it does not time.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The height of a tree") struct TreeHeightTests {
  @Test(
    "Levels grow with the logarithm of the entries, after inserts and after deletes",
    arguments: [(4, 2.0), (Int.max, 16.0)])
  func levels(capacity: Int, leastFanOut: Double) {
    let pages = PageStore(cellCapacity: capacity)
    var random = SeededGenerator(seed: 7)
    var root = TreeRoot.empty
    let editor = PageEditor(pages: pages, epoch: 1)
    var keys: [[UInt8]] = []
    func check() {
      let count = Double(max(root.count, 1))
      var bound = 2.0
      var reach = 1.0
      while reach < count {
        reach *= leastFanOut
        bound += 1
      }
      let levels = root.page == 0 ? 0 : pages.page(root.page).level + 1
      #expect(Double(levels) <= bound, "\(levels) levels for \(root.count) entries")
    }
    for _ in 0..<20_000 {
      let key = (0..<12).map { _ in UInt8.random(in: 0...255, using: &random) }
      keys.append(key)
      editor.put(&root, key, [1])
      if root.count.isMultiple(of: 997) { check() }
    }
    keys.shuffle(using: &random)
    for key in keys {
      key.withUnsafeBytes { _ = editor.remove(&root, key: $0) }
      if root.count.isMultiple(of: 997) { check() }
    }
    #expect(root.count == 0)
    editor.discard()
  }
}
