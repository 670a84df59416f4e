// Streams of changes, which read in threads of the library.

import TestSupport
import Testing
import TreeRing
import TreeRingMappings

@Suite(.leavesSoundStores) struct ChangeThreadsTests {
  @Test("Changes are computed on a thread of the library, not on one of the cooperative pool")
  func threads() async throws {
    let store = try Store.inMemory()
    let rows = Bucket.bytes("rows")
    let byLength = GroupIndex("by length", on: rows, version: 1) { Place(in: "\($0.count)") }
    try await store.register(byLength)
    let (calls, callsInTasks) = (Counter(), Counter())
    let mappings = Mappings(
      of: "by length",
      groupsWhere: { _ in
        _ = calls.next()
        if withUnsafeCurrentTask(body: { $0 != nil }) { _ = callsInTasks.next() }
        return true
      })
    var changes = store.changes(of: mappings).makeAsyncIterator()
    for number in 0..<20 {
      try await store.write { tx in
        try tx.put([UInt8](repeating: 1, count: number % 4), for: number, in: rows)
      }
      #expect(try await changes.next()?.after.rowCount == number + 1)
    }
    #expect(calls.count >= 20 && callsInTasks.count == 0)
    // The check itself: an observer calls the closure on its owner's thread.
    var observer = store.observer(of: mappings)
    _ = try observer.advance()
    #expect(callsInTasks.count > 0)
  }
}
