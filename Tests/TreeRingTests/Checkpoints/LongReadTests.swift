// Slow readers, in the caller's code or in the engine's, do not block writers.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Long reads", .leavesSoundStores) struct LongReadTests {
  private static func store() throws -> Store {
    try Store(
      path: "store", fileSystem: MemoryFileSystem(),
      options: StoreOptions(durability: .unsynced, memoryBudget: 2 << 20, logger: quietLogger))
  }

  /// Writes many times as many pages as fit the budget.
  private static func write(_ store: Store, round: UInt8 = 0) throws {
    for part in 0..<100 {
      try store.write { tx in
        for row in 0..<100 {
          try tx.put(
            [UInt8](repeating: round, count: 400), for: Key("row \(part * 100 + row)"), in: blobs)
        }
      }
    }
  }

  @Test("A thread that writes during its own scan waits for no reader")
  func insideACallback() throws {
    let store = try Self.store()
    try Self.write(store)
    let snapshot = try store.snapshot()
    var seen = 0
    try snapshot.forEachRow(in: "blobs") { row in
      if seen % 100 == 0, seen < 300 { try Self.write(store, round: UInt8(1 + seen / 100)) }
      #expect(row.object.first == 0)
      seen += 1
      return true
    }
    #expect(seen == 10_000)
    #expect(try store.snapshot().get("row 1", in: blobs)?.first == 3)
    try store.close()
  }

  @Test("A thread that writes while it reads a difference waits for no reader")
  func insideADifference() throws {
    let store = try Self.store()
    try Self.write(store)
    let old = try store.snapshot()
    try Self.write(store, round: 1)
    let new = try store.snapshot()
    var seen = 0
    try new.diff(from: old) { difference in
      if seen % 1000 == 0, seen < 3000 { try Self.write(store, round: UInt8(2 + seen / 1000)) }
      #expect(difference.before?.object.first == 0 && difference.after?.object.first == 1)
      seen += 1
      return true
    }
    #expect(seen == 10_000)
    try store.close()
  }

  @Test(
    "A difference whose pages are lost half-way throws and reports no wrong row"
  )
  func pagesLostAmidADifference() throws {
    for place in [512, 700] {
      let disk = SimulatedFileSystem(seed: 1)
      let store = try Store(
        path: "store", fileSystem: disk,
        options: StoreOptions(durability: .unsynced, memoryBudget: 2 << 20, logger: quietLogger))
      try Self.write(store)
      let old = try store.snapshot()
      try Self.write(store, round: 1)
      try store.checkpoint()
      let new = try store.snapshot()
      var seen = 0
      let failure = code {
        try new.diff(from: old) { difference in
          #expect(difference.kind == .update)
          #expect(difference.before?.object.first == 0 && difference.after?.object.first == 1)
          seen += 1
          if seen == place {
            store.evictCleanPages()
            disk.failReads(of: "store/pages", in: 0..<(.max))
          }
          return true
        }
      }
      #expect(failure == .io, "after \(place)")
      #expect(seen >= place && seen < 10_000)
      disk.failReads(of: "store/pages", in: nil)
      var count = 0
      try new.diff(from: old) { _ in
        count += 1
        return true
      }
      #expect(count == 10_000)
    }
  }

  @Test("Frames that a reader may still hold are freed later")
  func framesComeBack() throws {
    let store = try Self.store()
    try Self.write(store)
    let checkpointer = try #require(store.engine.checkpointer)
    try store.pages.reading {
      try Self.write(store, round: 1)
      try store.checkpoint()
      store.evictCleanPages()
      #expect(checkpointer.evictor.parkedCount > 0)
    }
    for round in 2..<6 as Range<UInt8> { try Self.write(store, round: round) }
    try store.checkpoint()
    store.evictCleanPages()
    #expect(checkpointer.evictor.parkedCount == 0)
    try store.close()
  }

  @Test("A commit that a snapshot holds is not rebuilt for other readers or a compaction")
  func heldCommit() throws {
    let store = try Self.store()
    try Self.write(store)
    let held = try store.snapshot()
    for round in 1..<4 as Range<UInt8> { try Self.write(store, round: round) }
    let other = try store.snapshot(at: .commit(held.commit))
    #expect(try other.version === held.version)
    var most = 0
    let report = try store.compact(to: .dropHistory) { _ in
      most = max(most, store.pages.privatePageCount)
      return true
    }
    #expect(report.horizon == held.commit && report.rewrittenSegments > 0 && most == 0)
    try store.close()
  }

  @Test("A snapshot that expires during a call stays readable until the call ends")
  func expiresMeanwhile() throws {
    let store = try Store.inMemory(
      options: StoreOptions(
        durability: .unsynced, memoryBudget: 1 << 20, pinLimit: PinLimit(commits: 5),
        logger: quietLogger))
    func write(_ round: UInt8) throws {
      try store.write { tx in
        for row in 0..<400 {
          try tx.put([UInt8](repeating: round, count: 200), for: Key("row \(row)"), in: blobs)
        }
      }
    }
    try write(0)
    let snapshot = try store.snapshot()
    var seen = 0
    try snapshot.forEachRow(in: "blobs") { row in
      if seen == 0 {
        for round in 1..<200 as Range<UInt8> { try write(round) }
        // Long enough for a writer that ignores readers.
        usleep(50_000)
      }
      #expect(row.object.first == 0 && row.object.last == 0)
      seen += 1
      return true
    }
    #expect(seen == 400)
    #expect(code { try snapshot.get("row 1", in: blobs) } == .snapshotExpired)
    store.maintenance.settle()
    #expect(try store.checkInvariants() == [])
  }
}
