// History: every version of a row, the feed of commits, waiting, and reverting.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("History", .leavesSoundStores)
struct HistoryTests {
  private func texts(_ store: Store, _ key: Key) throws -> [String] {
    try store.history(of: key, in: "blobs").map { version in
      "\(version.commit) \(version.kind) \(version.object ?? []) \(version.metadata ?? [])"
    }
  }

  @Test("A row written twice by its last commit has a history even when that is the horizon")
  func compacted() throws {
    let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
    try store.put([1], for: "a")
    let commit = try store.write { tx in
      try tx.put([2], for: "a", in: blobs)
      try tx.touch("a", in: "blobs")
    }.commit
    for _ in 0..<40 { try store.put([UInt8](repeating: 7, count: 900), for: "other") }
    try store.compact(to: .dropHistory)
    #expect(store.horizon > commit)
    let versions = try store.history(of: "a", in: "blobs")
    #expect(versions.map(\.commit) == [commit] && versions.last?.object == [2])
    try store.put([3], for: "a")
    #expect(try store.history(of: "a", in: "blobs").map(\.object) == [[3], [2]])
    try store.close()
  }

  @Test("A row's history lists every version, newest first, through deletes of all kinds")
  func versions() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [])
    try store.write { try $0.put([1], metadata: [9], for: "a", in: blobs) }
    try store.put([5], for: "other")
    try store.write { try $0.put(metadata: [8], for: "a", in: "blobs") }
    try store.write { try $0.touch("a", in: "blobs") }
    try store.write { try $0.delete("a", in: "blobs") }
    try store.write { try $0.put([2], for: "a", in: blobs) }
    try store.write { try $0.deleteAll(in: "blobs") }
    try store.write { try $0.put([3], for: "a", in: blobs) }
    try store.write { try $0.put(object: [4], for: "a", in: blobs) }
    let expected = [
      "9 put [4] []", "8 put [3] []", "7 delete [] []", "6 put [2] []", "5 delete [] []",
      "4 touch [] []", "3 metadata [] [8]", "1 put [1] [9]",
    ]
    #expect(try texts(store, "a") == expected)
    #expect(try texts(store, "other") == ["7 delete [] []", "2 put [5] []"])
    #expect(try texts(store, "never") == [])
    #expect(try store.history(of: "a", in: "no bucket").isEmpty)
    try store.close()
    store = try files.open(indexes: [])
    #expect(try texts(store, "a") == expected)
    let times = try store.history(of: "a", in: "blobs").map(\.timestamp)
    #expect(times == times.sorted(by: >))
  }

  @Test("A version is decoded with the coder version that wrote it, even after that has changed")
  func coders() throws {
    let files = MemoryFiles()
    func texts(_ version: UInt32) -> Bucket<String> {
      Bucket(
        "texts",
        coder: RowCoder(
          version: version, encode: { Array("\(version)\($0)".utf8) },
          decode: { bytes, written in
            let text = String(decoding: bytes, as: UTF8.self)
            guard text.first == "\(written)".first else { throw TreeRingError(.corruption, text) }
            return "\(text.dropFirst()) of \(written)"
          }))
    }
    var store = try files.open(indexes: [])
    try store.write { try $0.put("a", for: "k", in: texts(1)) }
    try store.write { try $0.put(object: "b", for: "k", in: texts(2)) }
    try store.write { try $0.touch("k", in: texts(2)) }
    try store.write { try $0.put(metadata: [1], for: "k", in: texts(2)) }
    try store.write { try $0.delete("k", in: texts(2)) }
    try store.write { try $0.put("c", for: "k", in: texts(3)) }
    for _ in 0..<2 {
      let versions = try store.history(of: "k", in: texts(3))
      #expect(versions.map(\.coder) == [3, nil, nil, nil, 2, 1])
      #expect(
        try versions.map(texts(3).decode) == ["c of 3", nil, nil, nil, "b of 2", "a of 1"])
      try store.close()
      store = try files.open(indexes: [])
    }
  }

  @Test("Every call that takes a bucket's name takes a bucket too")
  func typedBuckets() throws {
    let store = try Store.inMemory()
    let first = try store.write { tx in
      for key in ["a", "b", "c"] as [Key] { try tx.put([1], for: key, in: blobs) }
      try tx.put(metadata: [7], for: "a", in: blobs)
    }
    try store.write { tx in
      try tx.require("a", in: blobs, lastWrittenAt: first.commit)
      try tx.require("z", in: blobs, lastWrittenAt: 0)
      try tx.touch("b", in: blobs)
      #expect(try tx.delete("c", in: blobs))
      #expect(try !tx.contains("c", in: blobs))
    }
    let snapshot = try store.snapshot()
    #expect(try snapshot.row("a", in: blobs)?.object == [1])
    #expect(try snapshot.metadata(of: "a", in: blobs) == [7])
    #expect(try snapshot.contains("a", in: blobs))
    #expect(try snapshot.written("b", in: blobs) == first.commit + 1)
    #expect(try snapshot.count(in: blobs) == 2)
    #expect(try snapshot.count(in: blobs, from: "b") == 1)
    var keys: [Key] = []
    try snapshot.forEachRow(in: blobs, reversed: true) { row in
      keys.append(row.key)
      return true
    }
    #expect(keys == ["b", "a"])
    #expect(RowID("a", in: blobs) == RowID(bucket: "blobs", key: "a"))
    #expect(try store.history(of: "c", in: blobs).map(\.kind) == [.delete, .put])
    #expect(try store.write { try $0.deleteAll(in: blobs, from: "b") }.value == 1)
    #expect(try store.snapshot().count(in: blobs) == 1)
  }

  @Test("Several operations on one row in one commit are listed one by one")
  func oneCommit() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    try store.write { tx in
      try tx.put([2], for: "a", in: blobs)
      try tx.delete("a", in: "blobs")
      try tx.put([3], for: "a", in: blobs)
      try tx.deleteAll(in: "blobs")
      try tx.put([4], for: "a", in: blobs)
      try tx.touch("a", in: "blobs")
    }
    #expect(
      try texts(store, "a") == [
        "2 touch [] []", "2 put [4] []", "2 delete [] []", "2 put [3] []", "2 delete [] []",
        "2 put [2] []", "1 put [1] []",
      ])
    #expect(try store.snapshot().row("a", in: "blobs")?.created == 2)
  }

  // MARK: - The feed

  @Test("The feed gives every commit in order, from any one on, and then waits for more")
  func feed() async throws {
    let store = try Store.inMemory()
    for number in UInt8(1)...5 { try store.put([number], for: "a") }
    var iterator = store.commits(from: 3).makeAsyncIterator()
    for number in UInt64(3)...5 { #expect(try await iterator.next()?.number == number) }
    #expect(iterator.next == 6)
    let waiting = Task { [iterator] in
      var iterator = iterator
      return try await iterator.next()?.number
    }
    await Task.yield()
    try store.put([6], for: "a")
    #expect(try await waiting.value == 6)
    var all: [UInt64] = []
    for try await commit in store.commits() {
      all.append(commit.number)
      if commit.number == 6 { break }
    }
    #expect(all == Array(1...6))
  }

  @Test("Cancelling ends the feed, whether it waits or is behind")
  func feedCancelled() async throws {
    let store = try Store.inMemory()
    let task = Task {
      var count = 0
      for try await _ in store.commits() { count += 1 }
      return count
    }
    for number in UInt8(1)...3 { try store.put([number], for: "a") }
    try await store.reached(3)
    task.cancel()
    #expect(try await task.value <= 3)
    let behind = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var iterator = store.commits().makeAsyncIterator()
      return try await iterator.next()
    }
    #expect(try await behind.value == nil)
  }

  @Test("Closing the store ends waiting feeds and waiters with closed")
  func feedClosed() async throws {
    let store = try Store.inMemory()
    let feed = Task { for try await _ in store.commits() {} }
    let waiter = Task { try await store.reached(5) }
    await Task.yield()
    try await store.close()
    #expect(await error { try await feed.value }?.code == .closed)
    #expect(await error { try await waiter.value }?.code == .closed)
  }

  @Test("reached returns once the commit is visible, and at once if it is")
  func reached() async throws {
    let store = try Store.inMemory()
    try await store.reached(0)
    let waiter = Task {
      try await store.reached(3)
      return store.newestCommit
    }
    for number in UInt8(1)...3 { try store.put([number], for: "a") }
    #expect(try await waiter.value >= 3)
    try await store.reached(2)
    let cancelled = Task { try await store.reached(99) }
    await Task.yield()
    cancelled.cancel()
    #expect(await error { try await cancelled.value }?.code == .cancelled)
  }

  // MARK: - Commits by number

  @Test("A commit that is not there is notFound")
  func noCommit() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    #expect(code { try store.commit(0) } == .notFound)
    #expect(code { try store.commit(2) } == .notFound)
    #expect(try store.commit(1).number == 1)
    #expect(try store.operations(of: 1).operations.count == 1)
  }

  // MARK: - Reverting

  @Test("revert makes every row what it was, in one new commit that can itself be reverted")
  func revert() throws {
    let store = try Store.tiny(indexes: [byGroup()])
    let large = [UInt8](repeating: 3, count: 10_000)
    try store.write { tx in
      for number in 0..<30 {
        try tx.put(Note(group: "g", number: number), for: Key("\(number)"), in: notes)
      }
      try tx.put(large, metadata: [1, 2], for: "large", in: blobs)
    }
    let target = try store.snapshot()
    try store.write { tx in
      for number in 0..<10 { try tx.delete(Key("\(number)"), in: "notes") }
      for number in 10..<20 {
        try tx.put(Note(group: "h", number: -number), for: Key("\(number)"), in: notes)
      }
      try tx.put([1], for: "new", in: Bucket.bytes("new bucket"))
      try tx.put([1], for: "large", in: blobs)
    }
    let changed = try store.snapshot()
    #expect(code { try store.revert(to: .commit(target.commit)) { _ in false } } == .cancelled)
    #expect(store.newestCommit == changed.commit)
    var counts: [Int] = []
    let (commit, operations) = try store.revert(to: .commit(target.commit)) { count in
      counts.append(count)
      return true
    }
    #expect(counts == counts.sorted() && counts.last == 22)
    #expect(commit == changed.commit + 1)
    #expect(operations == 22)
    #expect(try store.snapshot().diff(from: target) == [])
    #expect(try store.snapshot().index("byGroup").keys("g") == target.index("byGroup").keys("g"))
    #expect(try store.snapshot().get("large", in: blobs) == large)
    #expect(try store.snapshot(at: .commit(changed.commit)).diff(from: changed) == [])
    #expect(try store.revert(to: .commit(target.commit)).operations == 0)
    #expect(store.newestCommit == commit)
    #expect(try store.revert(to: .commit(changed.commit)).operations == 22)
    #expect(try store.snapshot().diff(from: changed) == [])
    #expect(try store.revert(to: .commit(0)).operations == 22)
    #expect(try store.snapshot().buckets().allSatisfy { $0.rows == 0 })
    #expect(try store.checkInvariants() == [])
  }
}
