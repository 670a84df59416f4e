// Streams of changes, which read in threads of the library.

import TestSupport
import Testing
import TreeRingMappings

@testable import TreeRing
@testable import TreeRingLog

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

  @Test("A search runs again on a thread of the library")
  func hits() async throws {
    let files = CountedFileSystem(MemoryFileSystem())
    let store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    let rows = Bucket.bytes("rows")
    try await store.define(TextIndex("words", on: rows, fields: ["t"]))
    var changes = store.hits(of: .phrase("dune"), in: "words").makeAsyncIterator()
    // Objects that are too long for the trees are read from the log.
    let filling = String(repeating: "x", count: 5000)
    var readCount = 0
    for number in 0..<10 {
      try await store.write { tx in
        try tx.put(Array(#"{"t":"dune","f":"\#(filling)"}"#.utf8), for: number, in: rows)
      }
      _ = files.reads.take()
      #expect(try await changes.next()?.after.rowCount == number + 1)
      let reads = files.reads.take()
      readCount += reads.reads
      #expect(reads.readsInTasks == 0)
    }
    #expect(readCount > 0)
    try await store.close()
  }
}
