// Building an index whose entries do not fit into memory.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Building an index", .leavesSoundStores) struct IndexBuildingTests {
  private static let indexes = RandomHistory.codeIndexes

  private func store(rows: Int, budget: Int = 64 << 20) throws -> Store {
    let store = try Store(
      path: "store", fileSystem: MemoryFileSystem(),
      options: StoreOptions(
        durability: .unsynced, memoryBudget: budget, indexes: Self.indexes, logger: quietLogger))
    let items = Bucket<Item>("items")
    for start in stride(from: 0, to: rows, by: 500) {
      try store.write { tx in
        for number in start..<min(rows, start + 500) {
          let item = Item(
            group: number % 7 == 0 ? nil : "g\(number * 31 % 11)", number: number * 7919 % 1009,
            text: String(repeating: "abc", count: number % 40))
          try tx.put(item, for: Key("k\(number * 104_729 % 1_000_003)"), in: items)
        }
      }
    }
    return store
  }

  @Test(
    "The trees do not depend on the number of entries collected at a time",
    arguments: [1, 100, 5_000])
  func sameTrees(limit: Int) throws {
    let store = try store(rows: 700)
    try store.define("byGroup", RandomHistory.fieldIndex)
    let version = try store.snapshot().version
    let rows = Tree(version.roots.rows, pages: store.pages)
    try store.pages.reading {
      for record in version.catalog.indexes.values {
        let index = try #require(try record.active(code: Self.indexes.map(\.code)))
        let kept = try #require(version.existingIndex(record.number))
        let editor = PageEditor(
          pages: store.pages, epoch: version.roots.commit, isPrivate: true)
        defer { editor.discard() }
        var spills = 0
        let all = try IndexEditor(editor: editor).build(
          [index], rows: rows, catalog: version.catalog,
          catalogTree: Tree(version.roots.catalog, pages: store.pages),
          values: ValueSource(log: store.log), entryByteLimit: limit,
          spill: { (_) throws(TreeRingError) in spills += 1 })
        let built = try #require(all.first)
        #expect(built.undecodable == kept.undecodable)
        #expect(built.order.count == kept.order.count && built.order.count > 0)
        for (one, other) in [(built.order, kept.order), (built.places, kept.places)] {
          var difference = TreeDiff(from: one, to: other, pages: store.pages)
          difference.forEach { key, _, _ in
            Issue.record("\(record.name) differs at \(Array(key))")
            return false
          }
        }
      }
    }
  }

  @Test(
    "An index larger than the memory budget is built within it, and found whole after reopening")
  func withinBudget() throws {
    let store = try store(rows: 12_000, budget: 1 << 20)
    let share = MemoryBudget(byteCount: 1 << 20).heap(tableByteCount: 0)
    try store.write { tx in
      try tx.define("byGroup", RandomHistory.fieldIndex)
      // Sixty-four entries may dirty these pages beyond the share.
      #expect(store.pages.heapPageCounts.dirty <= share.pages + 64)
    }
    let version = try store.snapshot().version
    let index = try #require(version.catalog.indexes["byGroup"])
    let roots = try #require(version.existingIndex(index.number))
    #expect(roots.order.count > 10_000)
    #expect(try store.checkInvariants() == [])
    try store.close()
  }

  @Test("A cancelled build frees its pages, and the transaction continues")
  func cancelled() throws {
    let store = try store(rows: 9_000)
    try store.write { tx in
      let before = store.pages.numbers.usedCount
      let error = #expect(throws: TreeRingError.self) {
        try tx.define("byGroup", RandomHistory.fieldIndex) { $0 < 8_000 }
      }
      #expect(error?.code == .cancelled)
      #expect(store.pages.numbers.usedCount == before)
      try tx.put([1], for: "after", in: blobs)
    }
    #expect(try store.snapshot().get("after", in: blobs) == [1])
    #expect(store.indexes.map(\.name) == ["byCreation", "digits"])
    #expect(try store.leakedPageCount(beside: []) == 0)
  }
}
