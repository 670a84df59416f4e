// Batches of expired rows: their sizes and dates, and those of the writes beside them.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Batches of expired rows", .leavesSoundStores) struct SweepBatchTests {
  /// A store that sweeps before writes and at a call. Its sweeper does not wake for a minute, which
  /// it would do when the clock is set, or as soon as a call has left rows that are due.
  private static func store(_ clock: ExpiryClock) throws -> Store {
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: ExpiryTests.options(clock, sweeps: true))
    for _ in 1...7 { store.sweeper.pauseAfterFailure() }
    return store
  }

  @Test("A write with a backlog comes after commits of bounded size, which show no row that is due")
  func backlog() throws {
    try backlog { Int64($0 / 20 + 1) }
  }

  @Test("So it is if all rows have one date, of which a batch has a part")
  func backlogOfOneDate() throws {
    try backlog { _ in 7 }
  }

  private func backlog(end: (Int) -> Int64) throws {
    let clock = ExpiryClock()
    let store = try Self.store(clock)
    try store.define("expiry", ExpiryTests.rule())
    let before = try store.write { tx in
      for number in 0..<2000 { try ExpiryTests.put(tx, "k\(number)", end: end(number)) }
      try ExpiryTests.put(tx, "later", end: 300)
    }.commit
    clock.seconds = 200
    let commit = try store.writeOnAnyThread { try ExpiryTests.put($0, "new", end: nil) }.commit
    #expect(commit == before + 9)
    #expect(try ExpiryTests.keys(store.snapshot(at: .commit(commit))) == ["later", "new"])
    for number in before + 1...commit {
      #expect(try store.operations(of: number).operations.count <= 256)
      let snapshot = try store.snapshot(at: .commit(number))
      let numbers = try ExpiryTests.keys(snapshot).compactMap { Int($0.dropFirst()) }
      #expect(numbers.count == max(0, 2000 - Int(number - before) * 256))
      #expect(numbers.allSatisfy { ExpiryClock.timestamp(end($0)) > snapshot.timestamp })
    }
    #expect(try store.checkInvariants() == [])
  }

  @Test("If many rows become due while a write runs, its commit is dated before them")
  func dueMeanwhile() throws {
    let clock = ExpiryClock()
    let store = try Self.store(clock)
    try store.define("expiry", ExpiryTests.rule())
    clock.seconds = 1
    func write(rows: Int, put: Int = 0, endingAt second: Int64) throws -> Snapshot {
      try store.write { tx in
        for number in 0..<rows { try ExpiryTests.put(tx, "k\(number)", end: clock.seconds + 5) }
      }
      let written = try store.writeOnAnyThread { tx in
        for number in 0..<put { try ExpiryTests.put(tx, "past\(number)", end: 0) }
        try ExpiryTests.put(tx, "new", end: nil)
        clock.seconds = second
      }
      // Neither is its date the newest commit's in place of an earlier clock's.
      #expect(!written.isClamped)
      return try store.snapshot(at: .commit(written.commit))
    }
    let before = try write(rows: 257, endingAt: 9)
    #expect(before.timestamp.microseconds == ExpiryClock.timestamp(6).microseconds - 1)
    #expect(try before.count(in: ExpiryTests.sessions) == 258)
    #expect(try store.operations(of: before.commit).operations.count == 1)
    try store.writeOnAnyThread { try ExpiryTests.put($0, "next", end: nil) }
    #expect(try ExpiryTests.keys(store.snapshot()) == ["new", "next"])
    #expect(try store.snapshot().timestamp == ExpiryClock.timestamp(9))
    // As many as a batch are deleted in the write's own commit.
    let after = try write(rows: 256, endingAt: 20)
    #expect(after.timestamp == ExpiryClock.timestamp(20))
    #expect(try ExpiryTests.keys(after) == ["new", "next"])
    // However many rows the write itself puts that are due, it is not dated before it began.
    let own = try write(rows: 257, put: 300, endingAt: 30)
    #expect(own.timestamp == ExpiryClock.timestamp(20))
    #expect(try own.count(in: ExpiryTests.sessions) == 2 + 257)
    #expect(try store.checkInvariants() == [])
  }

  @Test("Rows that a cascade of the same batch has deleted count as deleted")
  func cascadesAmongDue() throws {
    let clock = ExpiryClock()
    let store = try Self.store(clock)
    try store.define(
      "after", Reference(on: "sessions", field: "after", to: "sessions", onDelete: .cascade))
    try store.define("expiry", ExpiryTests.rule())
    let count = 1000
    try store.write { tx in
      for number in 0..<count {
        // The rows form pairs, both in one batch.
        let first = number.isMultiple(of: 2) ? "" : "\"after\":\"k\(1000 + number - 1)\","
        try tx.put(
          Array("{\(first)\"end\":\(946_684_900 + number / 2)}".utf8),
          for: Key("k\(1000 + number)"),
          in: ExpiryTests.sessions)
      }
    }
    clock.seconds = 2000
    #expect(try store.sweep(limit: 10) == 10)
    #expect(try store.snapshot().count(in: ExpiryTests.sessions) == count - 10)
    try store.writeOnAnyThread { try ExpiryTests.put($0, "new", end: nil) }
    #expect(try ExpiryTests.keys(store.snapshot()) == ["new"])
    for commit in 1...store.newestCommit where commit != 3 {
      #expect(try store.operations(of: commit).operations.count <= 256)
    }
  }

  @Test(
    "At every commit and date, sweeps included, just the rows are shown that were not due",
    arguments: seeds(1...6))
  func everyDate(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let clock = ExpiryClock()
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: ExpiryTests.options(clock))
    try store.define("expiry", ExpiryTests.rule())
    try store.define("user", Expiry(on: ExpiryTests.sessions, field: "user", numbers: .seconds))
    var ends: [String: Int64] = [:]
    var commits: [String: CommitNumber] = [:]
    for number in 0..<60 {
      clock.seconds += Int64.random(in: 0...4, using: &random)
      let start = clock.seconds
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        // Batches whose commits are dated before the clock.
        clock.seconds += 5
        let limit = Int.random(in: 1...6, using: &random)
        while try store.sweep(limit: limit) >= limit {}
        #expect(
          try store.snapshot().count(in: ExpiryTests.sessions)
            == ends.values.count { $0 > clock.seconds }, "seed \(seed)")
      default:
        try store.write { tx in
          for row in 0..<Int.random(in: 1...30, using: &random) {
            let key = "k\(number).\(row)"
            let end = start + Int64.random(in: 0...9, using: &random)
            let other = start + Int64.random(in: 0...20, using: &random)
            ends[key] = min(end, other)
            commits[key] = tx.commit
            try ExpiryTests.put(tx, key, end: end, user: 946_684_800 + Int(other))
          }
        }
      }
    }
    for commit in 1...store.newestCommit {
      let snapshot = try store.snapshot(at: .commit(commit))
      let shown = Set(try ExpiryTests.keys(snapshot))
      for (key, end) in ends where try #require(commits[key]) <= commit {
        let end = ExpiryClock.timestamp(end)
        let place: Comment = "seed \(seed), commit \(commit), row \(key)"
        if shown.contains(key) {
          #expect(end > snapshot.timestamp, place)
        } else {
          // The rest of a date may follow in the next commit.
          #expect(end.microseconds - 1 <= snapshot.timestamp.microseconds, place)
        }
      }
    }
    // A batch is older than what it leaves, so a snapshot of a date shows what was due later only.
    for second in 0...clock.seconds {
      let date = ExpiryClock.timestamp(second)
      let snapshot = try store.snapshot(at: .date(date))
      for key in try ExpiryTests.keys(snapshot) {
        let end = ExpiryClock.timestamp(try #require(ends[key]))
        #expect(end > snapshot.timestamp, "seed \(seed), second \(second)")
      }
    }
    #expect(try store.checkInvariants() == [])
  }

  @Test("A sweep of many rows deletes the first, and is dated just before the next")
  func batches() throws {
    let clock = ExpiryClock()
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: ExpiryTests.options(clock))
    try store.define("expiry", ExpiryTests.rule())
    try store.write { tx in
      for number in 0..<50 { try ExpiryTests.put(tx, "k\(number)", end: Int64(number / 5 + 1)) }
    }
    clock.seconds = 100
    func date() throws -> Int64 { try store.snapshot().timestamp.microseconds }
    func just(before second: Int64) -> Int64 { ExpiryClock.timestamp(second).microseconds - 1 }
    #expect(try store.sweep(limit: 12) == 12)
    #expect(try date() == just(before: 3))
    #expect(try store.sweep(limit: 1) == 1)
    #expect(try date() == just(before: 3))
    #expect(try store.sweep(limit: 17) == 17)
    #expect(try date() == just(before: 7))
    #expect(try store.sweep(limit: 0) == 1)
    #expect(try store.sweep(limit: 19) == 19)
    #expect(try date() == ExpiryClock.timestamp(100).microseconds)
    #expect(try store.sweep(limit: 20) == 0)
  }
}
