// Many threads at once: writers that move money between accounts, occasional readers of snapshots,
// readers of indexes, the feed, asynchronous writers. They also run under the thread sanitizer.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Concurrency", .leavesSoundStores)
struct StoreConcurrencyTests {
  private struct Account: Codable, Hashable {
    var balance: Int
    var branch: String
  }

  private static let accounts = Bucket<Account>("accounts")
  private static let counters = Bucket<[Int]>("counters")
  private static let accountCount = 12
  private static let total = 12 * 100

  private static let byBranch = GroupIndex("byBranch", on: accounts, version: 1) { account in
    Place(in: account.branch, by: .descending(account.balance))
  }

  private static func key(_ number: Int) -> Key { Key("account \(number)") }

  private func makeBank() throws -> Store {
    var options = StoreOptions(segmentSize: 64 << 10, indexes: [Self.byBranch])
    options.pageCellCapacity = 4
    let store = try Store.inMemory(options: options)
    try store.write { tx in
      for number in 0..<Self.accountCount {
        try tx.put(
          Account(balance: 100, branch: "b\(number % 3)"), for: Self.key(number), in: Self.accounts)
      }
      try tx.put([0], for: "transfers", in: Self.counters)
    }
    return store
  }

  @Test("A writer does not itself wake many waiters for its commit")
  func waking() throws {
    let store = try makeBank()
    let woken = Counter()
    let wokenByWriter = Counter()
    onThreads(1) { _ in
      Thread.current.threadDictionary["writes"] = true
      let waiting = DispatchGroup()
      for _ in 0..<50 {
        waiting.enter()
        store.queue.whenVisible(store.newestCommit + 1) {
          _ = woken.next()
          if Thread.current.threadDictionary["writes"] != nil { _ = wokenByWriter.next() }
          waiting.leave()
        }
      }
      _ = try? store.write { try $0.put([1], for: "transfers", in: Self.counters) }
      waiting.wait()
    }
    #expect(woken.count == 50 && wokenByWriter.count == 0)
  }

  /// Moves an amount and counts the transfer, all in one transaction.
  private static func transfer(_ tx: Transaction, _ random: inout SeededGenerator) throws {
    let from = key(Int.random(in: 0..<accountCount, using: &random))
    let to = key(Int.random(in: 0..<accountCount, using: &random))
    let amount = Int.random(in: 0...50, using: &random)
    var source = try #require(try tx.get(from, in: accounts))
    source.balance -= amount
    source.branch = "b\(Int.random(in: 0..<3, using: &random))"
    try tx.put(source, for: from, in: accounts)
    var target = try #require(try tx.get(to, in: accounts))
    target.balance += amount
    try tx.put(target, for: to, in: accounts)
    let count = try #require(try tx.get("transfers", in: counters))
    try tx.put([count[0] + 1], for: "transfers", in: counters)
  }

  /// Checks one state: all the money is there, and index and rows agree. Returns the number of
  /// transfers so far.
  @discardableResult
  private static func check(_ snapshot: Snapshot) throws -> Int {
    var sum = 0
    var branches: [String: Int] = [:]
    try snapshot.forEach(in: accounts) { _, account in
      sum += account.balance
      branches[account.branch, default: 0] += 1
      return true
    }
    #expect(sum == total, "at commit \(snapshot.commit)")
    let index = try snapshot.index("byBranch")
    #expect(index.count == accountCount, "at commit \(snapshot.commit)")
    for (group, count) in try index.groupCounts() {
      #expect(branches[group.description] == count, "at commit \(snapshot.commit)")
      var last = Int.max
      for row in try index.rows(in: group) {
        let balance = try row.object.withUnsafeBytes { try accounts.coder.decode($0, 0).balance }
        #expect(balance <= last, "at commit \(snapshot.commit)")
        last = balance
      }
    }
    return try #require(try snapshot.get("transfers", in: counters))[0]
  }

  @Test("Transfers of many writers lose nothing, and every state read is whole")
  func bank() async throws {
    let store = try makeBank()
    let (writers, asyncWriters, transfers) = (3, 2, 120)
    let expected = writers * transfers + asyncWriters * transfers

    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<asyncWriters {
        group.addTask {
          for step in 0..<transfers {
            let seed = UInt64(writer * 1000 + step)
            let commit = try await store.write { tx in
              var random = SeededGenerator(seed: seed)
              try Self.transfer(tx, &random)
            }.commit
            #expect(store.newestCommit >= commit)
          }
        }
      }
      group.addTask {
        var last: UInt64 = 0
        for try await commit in store.commits() {
          #expect(commit.number == last + 1)
          last = commit.number
          if last == UInt64(expected + 2) { break }
        }
      }
      group.addTask {
        try await onThread {
          try Self.runThreads(store, writers: writers, transfers: transfers)
        }
      }
      try await group.waitForAll()
    }

    #expect(try Self.check(store.snapshot()) == expected)
    // Each state has counted exactly the transfers before its commit: commits are serial.
    for commit in stride(from: UInt64(2), through: store.newestCommit, by: 17) {
      #expect(try await Self.check(store.snapshot(at: .commit(commit))) == Int(commit) - 2)
    }
    #expect(try store.checkInvariants() == [])
    #expect(try store.leakedPageCount(beside: []) == 0)
    try await store.close()
  }

  /// Runs synchronous writers and, until they are done, readers.
  private static func runThreads(
    _ store: Store, writers: Int, transfers: Int
  ) throws {
    let failure = Mutex<(any Error)?>(nil)
    let left = Atomic<Int>(writers)
    onThreads(writers + 3) { thread in
      var random = SeededGenerator(seed: UInt64(thread))
      do {
        if thread < writers {
          defer { left.subtract(1, ordering: .releasing) }
          for step in 0..<transfers {
            let seed = UInt64(thread * 1000 + step)
            let commit =
              step % 2 == 0
              ? try store.write { try transfer($0, &random) }.commit
              : try store.writeOnAnyThread { tx in
                var random = SeededGenerator(seed: seed)
                try transfer(tx, &random)
              }.commit
            let snapshot = try store.snapshot(at: .commit(commit))
            #expect(snapshot.commit == commit)
          }
        } else {
          try read(store, &random, whileNot: { left.load(ordering: .acquiring) == 0 })
        }
      } catch {
        failure.withLock { $0 = error }
        left.store(0, ordering: .releasing)
      }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// Reads the newest state, random commits and the changes between them.
  private static func read(
    _ store: Store, _ random: inout SeededGenerator, whileNot isDone: () -> Bool
  ) throws {
    var held: [(Snapshot, Int)] = []
    var rounds = 0
    while rounds < 5 || !isDone() {
      rounds += 1
      let newest = try store.snapshot()
      held.append((newest, try check(newest)))
      let past = UInt64.random(in: 2...newest.commit, using: &random)
      let old = try store.snapshot(at: .commit(past))
      held.append((old, try check(old)))
      for (from, to) in [(old, newest), (newest, old)] {
        let changes = try store.affectedRows(ofIndex: "byBranch", from: from, to: to)
        #expect(changes.from == from.commit)
        #expect(changes.to == to.commit)
      }
      _ = try newest.diff(from: old)
      if held.count > 10 {
        let (snapshot, count) = held.remove(at: Int.random(in: 0..<held.count, using: &random))
        #expect(try check(snapshot) == count, "commit \(snapshot.commit) has changed")
      }
    }
  }

  @Test("With many writers a full device undoes whole commits, and none that returned")
  func fullDevice() throws {
    let disk = Disk(seed: 5)
    let store = try disk.open(durability: .unsynced, segmentSize: 16 << 10)
    try store.put([0], for: "count")
    let returned = Atomic<Int>(0)
    onThreads(4) { thread in
      var random = SeededGenerator(seed: UInt64(thread))
      for step in 0..<100 {
        if step % 7 == 3 {
          let used = disk.contents.values.reduce(0) { $0 + $1.count }
          disk.files.setCapacity(used + Int.random(in: 0..<800, using: &random))
        }
        if step % 7 == 6 { disk.files.setCapacity(nil) }
        do {
          try store.write(durability: step % 2 == 0 ? .full : Durability.unsynced) { tx in
            let old = try tx.get("count", in: blobs) ?? []
            let count = old.reduce(0) { $0 * 256 + Int($1) } + 1
            try tx.put([UInt8(count >> 8), UInt8(count & 0xFF)], for: "count", in: blobs)
            try tx.put([UInt8(thread), UInt8(step)], for: Key("\(thread) \(step)"), in: blobs)
          }
          returned.add(1, ordering: .relaxed)
        } catch {
          #expect((error as? TreeRingError)?.code == .noSpace, "\(error)")
        }
      }
    }
    disk.files.setCapacity(nil)
    let count = returned.load(ordering: .relaxed)
    func check(_ store: Store) throws {
      let bytes = try #require(try store.snapshot().get("count", in: blobs))
      #expect(bytes.reduce(0) { $0 * 256 + Int($1) } == count)
      #expect(try store.snapshot().count(in: "blobs") == count + 1)
      #expect(store.newestCommit == UInt64(count + 1))
    }
    try check(store)
    #expect(try store.write { try $0.put([1], for: "last", in: blobs) }.commit == UInt64(count + 2))
    try store.write { _ = try $0.delete("last", in: "blobs") }
    #expect(try store.checkInvariants() == [])
    #expect(try store.leakedPageCount(beside: []) == 0)
    try store.close()
    let reopened = try disk.open()
    let bytes = try #require(try reopened.snapshot().get("count", in: blobs))
    #expect(bytes.reduce(0) { $0 * 256 + Int($1) } == count)
  }

  @Test("Closing with concurrent readers and writers: each call succeeds or throws closed")
  func closing() throws {
    for round in 0..<10 {
      let store = try makeBank()
      onThreads(5) { thread in
        var random = SeededGenerator(seed: UInt64(thread + round * 10))
        if thread == 0 {
          for _ in 0..<round * 300 { _ = store.newestCommit }
          #expect(throws: Never.self) { try store.close() }
          return
        }
        do {
          for _ in 0..<1000 {
            if thread < 3 {
              try store.write { try Self.transfer($0, &random) }
            } else {
              _ = try store.snapshot().get(Self.key(1), in: Self.accounts)
              _ = try store.snapshot(at: .commit(1)).count(in: "accounts")
            }
          }
        } catch {
          #expect((error as? TreeRingError)?.code == .closed, "\(error)")
        }
      }
    }
  }
}
