// Streams of a tracker's batches, which read in threads of the library.

import TestSupport
import Testing
import TreeRing
import TreeRingCollections

@Suite(.leavesSoundStores) struct BatchThreadsTests {
  @Test("Batches are computed on a thread of the library, not on one of the cooperative pool")
  func threads() async throws {
    let store = try Store.inMemory()
    let (calls, callsInTasks) = (Counter(), Counter())
    let rows = Bucket<[UInt8]>(
      "rows",
      coder: RowCoder(
        encode: { $0 },
        decode: { bytes, _ in
          _ = calls.next()
          if withUnsafeCurrentTask(body: { $0 != nil }) { _ = callsInTasks.next() }
          return Array(bytes)
        }))
    let tracker = try Tracker(of: TrackerRequest(rows), in: store)
    var batches = tracker.batches.makeAsyncIterator()
    for number in 0..<20 {
      try await store.write { try $0.put([UInt8(number)], for: number, in: rows) }
      #expect(try await batches.next()?.count == 1)
      #expect(batches.tracker.rows.count == number + 1)
    }
    #expect(calls.count >= 20 && callsInTasks.count == 0)
    // The check itself: a tracker reads on its owner's thread.
    _ = try Tracker(of: TrackerRequest(rows), in: store)
    #expect(callsInTasks.count > 0)
  }
}
