// Deleting many rows at once, in memory too small for the changes.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Deleting many rows", .leavesSoundStores)
struct DeleteAllTests {
  private func options(_ budget: Int) -> StoreOptions {
    var options = StoreOptions(
      durability: .unsynced, memoryBudget: budget, indexes: [byGroup()], logger: quietLogger)
    options.pageCellCapacity = 4
    return options
  }

  @Test("Pages are written early, and the remaining rows are the same")
  func spills() throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: files, options: options(3 << 20))
    let rowCount = 1_500
    for start in stride(from: 0, to: rowCount, by: 250) {
      try store.write { tx in
        for number in start..<start + 250 {
          let note = Note(group: "g\(number % 5)", number: number)
          try tx.put(note, for: Key("k\(10_000 + number)"), in: notes)
        }
      }
    }
    let before = try store.snapshot()
    let share = try #require(store.engine.checkpointer).share
    var spilled = 0
    try store.write { tx in
      let count = try tx.deleteAll(in: notes, from: "k10100", to: "k11400")
      #expect(count == 1_300)
      spilled = Int(store.pages.pageNumberBound) - store.pages.heapPageCounts.all
      #expect(store.pages.heapPageCounts.dirty <= share.pages + 64)
      let rest = try tx.count(in: notes)
      #expect(rest == 200)
    }
    #expect(spilled > 0)
    func check(_ store: Store) throws {
      let snapshot = try store.snapshot()
      #expect(try snapshot.count(in: notes) == 200)
      #expect(try snapshot.index("byGroup").keys("g0").count == 40)
      #expect(try snapshot.get("k10099", in: notes)?.number == 99)
      #expect(try snapshot.get("k10100", in: notes) == nil)
      #expect(try store.checkInvariants() == [])
    }
    try check(store)
    #expect(try before.count(in: notes) == rowCount)
    let rows = try store.affectedRows(ofIndex: "byGroup", from: before, to: store.snapshot()).rows
    #expect(rows.count == 1_300)
    try store.close()
    try files.unlink("store/pages")
    try check(try Store(path: "store", fileSystem: files, options: options(3 << 20)))
  }

  @Test("A delete that fails half-way makes no commit, even if its error is caught")
  func failure() throws {
    let store = try Store.inMemory()
    try store.write { tx in
      for number in 0..<300 { try tx.put([1], for: Key("k\(number)"), in: blobs) }
    }
    let newest = store.newestCommit
    let thrown = error {
      try store.write { tx in
        // A row with an unreadable record.
        var rows = tx.editor.roots.rows
        let key = RowTreeKey.of(bucket: 1, key: Array("k250".utf8))
        key.withUnsafeBytes { key in
          [UInt8(255)].withUnsafeBytes { _ = tx.editor.editor.put(&rows, key: key, value: $0) }
        }
        tx.editor.roots.rows = rows
        #expect(throws: TreeRingError.self) { try tx.deleteAll(in: blobs) }
      }
    }
    #expect(thrown?.code == .corruption)
    #expect(store.newestCommit == newest)
    #expect(try store.snapshot().count(in: blobs) == 300)
  }
}
