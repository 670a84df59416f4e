// Packing of a store's trees in pauses of writing.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Packing in pauses of writing", .leavesSoundStores) struct PackingTests {
  private let bucket = Bucket<[UInt8]>.bytes("rows")

  private func options(_ mode: StoreMode = .create) -> StoreOptions {
    var options = StoreOptions(mode: mode, memoryBudget: 2 << 20, logger: quietLogger)
    options.pageCellCapacity = 6
    return options
  }

  private func write(
    _ store: Store, _ model: inout [Key: [UInt8]], _ random: inout SeededGenerator, most: Int = 150
  ) throws {
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...most, using: &random) {
        let key = Key("row \(Int.random(in: 0..<900, using: &random))")
        if Int.random(in: 0..<4, using: &random) == 0 {
          try tx.delete(key, in: bucket)
          model[key] = nil
        } else {
          let row = [UInt8](repeating: .random(in: 0...255, using: &random), count: 30)
          try tx.put(row, for: key, in: bucket)
          model[key] = row
        }
      }
    }
  }

  private func check(_ snapshot: Snapshot, _ model: [Key: [UInt8]]) throws {
    let rows = try snapshot.rows(in: bucket)
    #expect(Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.row) }) == model)
  }

  private func leafCount(_ store: Store) throws -> Int {
    var count = 0
    try store.pages.reading {
      Tree(store.queue.visible.roots.rows, pages: store.pages).forEachPage {
        if $0.level == 0 { count += 1 }
      }
    }
    return count
  }

  private func pack(_ store: Store, while goesOn: () -> Bool = { true }) throws {
    try #require(store.engine.checkpointer).pack(isForced: true, while: goesOn)
  }

  @Test(
    "Amid commits, checkpoints, evictions, snapshots and crashes every state stays as it was",
    arguments: seeds(1...6))
  func statesStay(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var disk = SimulatedFileSystem(seed: seed)
    disk.watchWrites(refuseTwins)
    var store = try Store(path: "store", fileSystem: disk, options: options())
    var models: [CommitNumber: [Key: [UInt8]]] = [0: [:]]
    var model: [Key: [UInt8]] = [:]
    var held: [Snapshot] = []
    var packed = 0
    for _ in 0..<160 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0...4:
        try write(store, &model, &random)
        models[store.newestCommit] = model
      case 5: try store.checkpoint()
      case 6, 7:
        let before = store.queue.visible.roots.state
        var steps = Int.random(in: 0...3, using: &random)
        try pack(store) {
          steps -= 1
          return steps >= 0 || Bool.random(using: &random)
        }
        let after = store.queue.visible.roots.state
        #expect(after.commit == before.commit)
        if after > before { packed += 1 }
      case 8: store.evictCleanPages()
      case 9: store.engine.checkpointer?.release { true }
      case 10:
        if held.count > 2 { held.removeFirst() }
        held.append(try store.snapshot())
      default:
        held = []
        disk = disk.afterCrash(seed: random.next())
        disk.watchWrites(refuseTwins)
        store = try Store(path: "store", fileSystem: disk, options: options())
      }
      let now = try store.snapshot()
      try check(now, model)
      for snapshot in held {
        try check(snapshot, models[snapshot.commit] ?? [:])
        // The least change, whether or not the trees share pages.
        let changed = try now.diff(from: snapshot).map(\.id.key)
        let old = models[snapshot.commit] ?? [:]
        let expected = Set(old.keys).union(model.keys).filter { old[$0] != model[$0] }
        #expect(changed.sorted() == expected.sorted())
      }
      let past = CommitNumber.random(in: 0...store.newestCommit, using: &random)
      try check(try store.snapshot(at: .commit(past)), models[past] ?? [:])
    }
    #expect(packed > 3)
    held = []
    #expect(try store.checkInvariants() == [])
    try store.close()
    #expect(try verifyPageFile("store/pages", fileSystem: disk) == [])
  }

  @Test("Packing makes no commit, and the root of the packed state replaces the one before it")
  func noCommit() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try Store(path: "store", fileSystem: disk, options: options())
    var (model, random) = ([Key: [UInt8]](), SeededGenerator(seed: 1))
    for _ in 0..<20 { try write(store, &model, &random) }
    try store.checkpoint()
    let (newest, before) = (store.newestCommit, try leafCount(store))
    let log = try store.statistics().storedByteCount
    try pack(store)
    #expect(try leafCount(store) * 6 < before * 5, "\(before) leaves")
    #expect(store.newestCommit == newest)
    #expect(try store.statistics().storedByteCount == log)
    let ledger = try #require(store.engine.checkpointer).state.withLock { $0.ledger }
    #expect(ledger.newest?.state == store.queue.visible.roots.state)
    #expect(ledger.entries.filter { $0.commit == newest }.count == 1)
    #expect(try store.checkInvariants() == [])
    try check(try store.snapshot(), model)
    // Another process finds the packed state, and the next commit builds on it.
    let count = try leafCount(store)
    try store.close()
    let reopened = try Store(path: "store", fileSystem: disk, options: options())
    #expect(try leafCount(reopened) == count)
    try write(reopened, &model, &random)
    try check(try reopened.snapshot(), model)
    #expect(try reopened.checkInvariants() == [])
    try reopened.close()
  }

  @Test("A commit that comes amid packing wins, and packing ends")
  func commitWins() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try Store(path: "store", fileSystem: disk, options: options())
    var (model, random) = ([Key: [UInt8]](), SeededGenerator(seed: 2))
    for _ in 0..<20 { try write(store, &model, &random) }
    var calls = 0
    try pack(store) {
      calls += 1
      if calls == 2 { try? write(store, &model, &random, most: 3) }
      return true
    }
    try check(try store.snapshot(), model)
    let packed = try leafCount(store)
    // It goes on in the next pause.
    try pack(store)
    #expect(try leafCount(store) <= packed)
    try check(try store.snapshot(), model)
    #expect(try store.checkInvariants() == [])
    try store.close()
  }

  @Test("The pages that a snapshot reads are not packed while it lives")
  func pinned() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try Store(path: "store", fileSystem: disk, options: options())
    var (model, random) = ([Key: [UInt8]](), SeededGenerator(seed: 3))
    for _ in 0..<20 { try write(store, &model, &random) }
    var snapshot: Snapshot? = try store.snapshot()
    let old = model
    try write(store, &model, &random, most: 2)
    let before = try leafCount(store)
    try pack(store)
    #expect(try leafCount(store) == before)
    if let snapshot { try check(snapshot, old) }
    snapshot = nil
    try pack(store)
    #expect(try leafCount(store) < before)
    try check(try store.snapshot(), model)
    try store.close()
  }

  @Test("A follower of the newest root keeps its pages, and sees the same rows afterwards")
  func followed() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try Store(path: "store", fileSystem: disk, options: options())
    var (model, random) = ([Key: [UInt8]](), SeededGenerator(seed: 4))
    for _ in 0..<20 { try write(store, &model, &random) }
    try store.checkpoint()
    let before = try leafCount(store)
    let follower = try Store(path: "store", fileSystem: disk, options: options(.readOnly))
    try pack(store)
    #expect(try leafCount(store) == before)
    try check(try follower.snapshot(), model)
    try follower.close()
    try pack(store)
    #expect(try leafCount(store) < before)
    let late = try Store(path: "store", fileSystem: disk, options: options(.readOnly))
    try check(try late.snapshot(), model)
    try late.close()
    try store.close()
  }
}
