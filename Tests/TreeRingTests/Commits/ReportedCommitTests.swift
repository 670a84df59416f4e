// The commit that a write returns is as durable as requested, even if the write itself made no
// commit.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Durability of reported commits") struct ReportedCommitTests {
  private static let key: [UInt8] = [7]

  /// Makes an unsynced commit.
  @discardableResult
  private func writeUnsynced(_ store: Store, tags: [String] = []) throws -> CommitNumber {
    try store.write(durability: .unsynced) { tx in
      tx.idempotencyKey = Self.key
      tx.tags = tags
      try tx.put([1], for: "a", in: blobs)
    }.commit
  }

  /// Expects that a commit survives any power failure, whatever unsynced writes that loses.
  private func expectSafe(_ commit: CommitNumber, in store: Store, on disk: Disk) throws {
    let found = try newestCommits(after: store, on: disk)
    #expect(found.allSatisfy { $0 >= commit }, "\(found)")
  }

  /// The newest commits found after power failures while a store is open.
  private func newestCommits(after store: Store, on disk: Disk) throws -> [CommitNumber] {
    try withExtendedLifetime(store) {
      try (1...12).map { try Disk(disk.files.afterCrash(seed: $0)).open().newestCommit }
    }
  }

  /// Runs `body` on a store with an unsynced commit; the commit that `body` returns must survive.
  private func check(
    durability: Durability = .full, _ body: (Store) throws -> CommitNumber
  ) throws {
    let disk = Disk()
    let store = try disk.open(durability: durability)
    try writeUnsynced(store)
    let answered = try body(store)
    #expect(answered == 1)
    try expectSafe(answered, in: store, on: disk)
  }

  @Test("Without a retry, a power failure may lose an unsynced commit") func unsynced() throws {
    let disk = Disk()
    let store = try disk.open()
    try writeUnsynced(store)
    let found = try newestCommits(after: store, on: disk)
    #expect(found.contains(0))
  }

  @Test("A retry under the same key has its own durability, not that of the first write")
  func repeatedKey() throws {
    for durability in [Durability.full, .barrier] {
      try check { store in
        try store.write(durability: durability) { tx in
          tx.idempotencyKey = Self.key
          try tx.put([1], for: "a", in: blobs)
        }.commit
      }
    }
  }

  @Test("An empty write waits for the durability that it asks for") func empty() throws {
    try check { try $0.write { try $0.contains("a", in: "blobs") }.commit }
    try check { try $0.write(durability: .full) { _ in }.commit }
  }

  @Test("A refused write reports a commit that is durable") func refusals() throws {
    try check { store in
      let refusal = error { try store.write(expecting: 0) { try $0.put([2], for: "a", in: blobs) } }
      #expect(refusal?.code == .conflict)
      return try #require(refusal?.current)
    }
    try check { store in
      let refusal = error {
        try store.write { try $0.require("a", in: "blobs", lastWrittenAt: 0) }
      }
      #expect(refusal?.code == .conflict)
      return try #require(refusal?.current)
    }
    try check { store in
      let refusal = error {
        try store.write { _ in throw TreeRingError(.wrongExpectedRevision, "other", current: 7) }
      }
      #expect(refusal?.code == .wrongExpectedRevision && refusal?.current == 7)
      return store.newestCommit
    }
  }

  @Test("Asynchronous writes wait until the commit that they report is durable") func asynchronous()
    async throws
  {
    let disk = Disk()
    let store = try disk.open(durability: .full)
    try await store.write(durability: .unsynced) { tx in
      tx.idempotencyKey = Self.key
      try tx.put([1], for: "a", in: blobs)
    }
    let refusal = await error {
      try await store.write(expecting: 0) { try $0.put([2], for: "a", in: blobs) }
    }
    #expect(refusal?.current == 1)
    try expectSafe(1, in: store, on: disk)
    try await store.write(durability: .unsynced) { try $0.put([3], for: "b", in: blobs) }
    #expect(try await store.write { _ in }.commit == 2)
    try expectSafe(2, in: store, on: disk)
  }

  @Test("A definition that is already in force waits for the store's durability")
  func nothingToDo() throws {
    let fields = try FieldIndex(bucket: "notes", group: "group", order: [])
    for act: (Store) throws -> CommitNumber in [
      { try $0.register(byGroup()) }, { try $0.define("x", fields) },
      { try $0.define("m", ManualIndex(on: "notes")) }, { try $0.revert(to: .commit(1)).commit },
    ] {
      let disk = Disk()
      let store = try disk.open()
      try store.write(durability: .unsynced) { tx in
        try tx.define("x", fields)
        try tx.define("m", ManualIndex(on: "notes"))
        try tx.define("byGroup", version: 1, .code(buckets: ["notes"]))
      }
      #expect(try act(store) == 1)
      try expectSafe(1, in: store, on: disk)
    }
  }

  @Test("A retry with less durability does not wait; a relaxed one is synced in time")
  func weaker() async throws {
    let disk = Disk()
    let store = try disk.open()
    func repeated(_ durability: Durability) throws -> CommitNumber {
      try store.write(durability: durability) { $0.idempotencyKey = Self.key }.commit
    }
    try writeUnsynced(store)
    let syncs = store.log.statistics.syncCount
    #expect(try repeated(.unsynced) == 1)
    #expect(store.log.statistics.syncCount == syncs)
    #expect(store.log.durable == 0)
    #expect(try repeated(.relaxed(within: .milliseconds(1))) == 1)
    for _ in 0..<10_000 where store.log.durable == 0 {
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(store.log.durable == 1)
    #expect(try repeated(.full) == 1)
    #expect(store.log.statistics.syncCount == syncs + 1)
  }

  @Test("If the reported commit cannot be made durable, the write throws") func failedSync() throws
  {
    let disk = Disk()
    let store = try disk.open()
    try writeUnsynced(store)
    disk.files.failAll(after: 1, with: .inputOutput)
    let failure = error { try store.write { _ in } }
    #expect(failure?.code == .unknown)
    #expect(failure?.commit == 1)
    disk.files.failAll(after: nil, with: .inputOutput)
  }
}
