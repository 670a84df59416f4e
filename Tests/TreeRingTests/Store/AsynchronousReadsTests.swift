// The asynchronous forms of searches and of other reads of snapshots.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Asynchronous reads of snapshots", .leavesSoundStores) struct AsynchronousReadsTests {
  @Test("Searches equal those of the blocking forms")
  func search() async throws {
    let store = try Store.tiny()
    let text = try TextIndex("words", on: notes, fields: ["group"])
    try await store.define(text)
    let fields = try FieldIndex(on: notes, group: "group", order: [.init("number")])
    try await store.define("numbers", fields)
    for number in 0..<30 {
      try await store.write { tx in
        try tx.put(Note(group: "word g\(number % 3)", number: number), for: number, in: notes)
      }
    }
    let snapshot = try store.snapshot()
    let (words, numbers) = (try snapshot[text], try snapshot.index("numbers"))
    let query = try TextQuery("g1")
    #expect(try await words.count(of: query) == 10)
    let group: GroupName = "word g1"
    let hits = try await words.find(query, in: numbers, group: group, limit: 4, reversed: true)
    let expected = try Store.blocking {
      try words.find(query, in: numbers, group: group, limit: 4, reversed: true)
    }
    #expect(hits == expected && hits.count == 4)
    let rows = try await words.rows(of: hits, in: notes)
    #expect(rows.map(\.row.number) == [28, 25, 22, 19])
    let unknown = TextQuery.field("none", .phrase("g1"))
    #expect(await error { try await words.count(of: unknown) }?.code == .invalidInput)
  }

  @Test("Differences equal those of the blocking form, and end with their task")
  func differences() async throws {
    let store = try Store.tiny()
    for number in 0..<40 {
      try store.put(Note(group: "g", number: number), for: Key("\(number % 7)"))
    }
    let (old, new) = try Store.blocking {
      (try store.snapshot(at: .commit(20)), try store.snapshot())
    }
    let found = try await new.diff(from: old)
    #expect(found.count == 7)
    #expect(found == (try Store.blocking { try new.diff(from: old) }))
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await error { try await new.diff(from: old) }
    }
    #expect(await cancelled.value?.code == .cancelled)
    let other = try Store.tiny().snapshot()
    #expect(await error { try await new.diff(from: other) }?.code == .invalidInput)
  }

  @Test("An index is built at a commit before its definition, once")
  func building() async throws {
    let store = try Store.tiny()
    for number in 0..<40 {
      try store.put(Note(group: "g\(number % 3)", number: number), for: Key("\(number)"))
    }
    let fields = try FieldIndex(on: notes, group: "group", order: [.init("number")])
    try await store.define("numbers", fields)
    try await store.define(TextIndex("words", on: notes, fields: ["group"]))
    let past = try await store.snapshot(at: .commit(30))
    for (name, count) in [("numbers", 1), ("words", 2), ("numbers", 2)] {
      try await past.buildIndex(name)
      #expect(try past.version.builtIndexes.count == count)
    }
    #expect(try past.index("numbers").count == 30)
    #expect(try await past.text("words").count(of: TextQuery("g1")) == 10)
    #expect(try past.version.builtIndexes.count == 2)
    // The newest commit maintains them.
    let newest = try store.snapshot()
    try await newest.buildIndex("numbers")
    #expect(try newest.version.builtIndexes.isEmpty)
    #expect(await error { try await past.buildIndex("none") }?.code == .notFound)
    try await store.close()
    #expect(await error { try await past.buildIndex("numbers") }?.code == .closed)
  }

  @Test("The feed of commits reads on a thread of the library, not on one of the cooperative pool")
  func feed() async throws {
    let files = CountedFileSystem(MemoryFileSystem())
    let store = try Store(
      path: "store", fileSystem: files, options: StoreOptions(logger: quietLogger))
    for number in 0..<200 { try store.put(Note(group: "g", number: number), for: Key("\(number)")) }
    _ = files.reads.take()
    var feed = store.commits(from: 1).makeAsyncIterator()
    for number in 1...200 as ClosedRange<CommitNumber> {
      #expect(try await feed.next()?.number == number)
    }
    let reads = files.reads.take()
    #expect(reads.reads > 0 && reads.readsInTasks == 0)
    // The check itself: a task that reads on its own thread.
    _ = try store.commit(1)
    #expect(files.reads.take().readsInTasks > 0)
    try await store.close()
  }
}
