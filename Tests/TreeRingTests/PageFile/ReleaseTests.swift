// Free pages whose room goes back to the device.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Releasing free pages", .leavesSoundStores) struct ReleaseTests {
  private let bucket = Bucket<[UInt8]>.bytes("rows")

  private func write(
    _ store: Store, _ model: inout [Key: [UInt8]], _ random: inout SeededGenerator
  ) throws {
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...60, using: &random) {
        let key = Key("row \(Int.random(in: 0..<500, using: &random))")
        if Int.random(in: 0..<4, using: &random) == 0 {
          try tx.delete(key, in: bucket)
          model[key] = nil
        } else {
          let row = [UInt8](repeating: .random(in: 0...255, using: &random), count: 100)
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

  @Test(
    "Amid commits, checkpoints, evictions, snapshots and a crash every state stays as it was",
    arguments: seeds(1...8))
  func statesStay(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var disk = SimulatedFileSystem(seed: seed)
    var options = StoreOptions(memoryBudget: 1 << 20, logger: quietLogger)
    options.pageCellCapacity = 4
    var store = try Store(path: "store", fileSystem: disk, options: options)
    var model: [Key: [UInt8]] = [:]
    var held: [(Snapshot, [Key: [UInt8]])] = []
    var released = 0
    for _ in 0..<200 {
      let checkpointer = try #require(store.engine.checkpointer)
      switch Int.random(in: 0..<10, using: &random) {
      case 0...3: try write(store, &model, &random)
      case 4: try store.checkpoint()
      case 5, 6:
        checkpointer.release { true }
        released = max(released, checkpointer.file.holes.withLock { $0.count })
      case 7: store.evictCleanPages()
      case 8:
        if held.count > 3 { held.removeFirst() }
        held.append((try store.snapshot(), model))
      default:
        held = []
        disk = disk.afterCrash(seed: random.next())
        store = try Store(path: "store", fileSystem: disk, options: options)
      }
      try check(try store.snapshot(), model)
      for (snapshot, model) in held { try check(snapshot, model) }
    }
    #expect(released > 0)
    #expect(try store.checkInvariants() == [])
    held = []
    try store.close()
  }

  @Test("A file that has shrunk takes less room on the device, and the same once it is reopened")
  func roomOnDevice() throws {
    let folder = try TemporaryFolder()
    let store = try Store(
      at: folder.path, options: StoreOptions(durability: .unsynced, logger: quietLogger))
    for round in 0..<8 {
      try store.write { tx in
        for number in 0..<40_000 {
          try tx.put(
            [UInt8](repeating: UInt8(round), count: 400), for: Key("\(number)"), in: bucket)
        }
      }
      try store.checkpoint()
    }
    let checkpointer = try #require(store.engine.checkpointer)
    // Each round has replaced every page. The last checkpoint has dropped the root before it, whose
    // pages the next meta frees.
    let before = checkpointer.pageUse
    #expect(max(before.surplus, before.leaving) > 1024, "\(before)")
    checkpointer.release { true }
    let use = checkpointer.pageUse
    #expect(use.retained - use.leaving <= use.allowance && use.leaving < 1024, "\(use)")
    let (length, room) = try size(folder.path + "/pages")
    let isSupported = store.engine.checkpointer?.file.holes.withLock { $0.count > 0 } ?? false
    if isSupported {
      #expect(room < length * 3 / 4, "\(room) of \(length) bytes")
      // The reserved end of the file is gone too, but for at most four megabytes.
      #expect(room <= (use.all + 1024 + 256) * PageLayout.pageByteCount, "\(room) for \(use.all)")
      let kept = store.pages.takeFreeNumbers(
        atMost: .max, from: 1,
        except: store.engine.checkpointer?.file.holes.withLock { $0 } ?? BitSet())
      #expect(kept == [], "free pages that keep their room")
      store.pages.free(kept)
    }
    #expect(try store.checkInvariants() == [])
    try store.close()
    let reopened = try Store(at: folder.path, options: StoreOptions(logger: quietLogger))
    #expect(try reopened.snapshot().get("77", in: bucket) == [UInt8](repeating: 7, count: 400))
    try reopened.close()
  }

  /// The length of a file, and the room that it takes on the device, in bytes.
  private func size(_ path: String) throws -> (length: Int, room: Int) {
    var status = stat()
    try #require(stat(path, &status) == 0)
    return (Int(status.st_size), Int(status.st_blocks) * 512)
  }

  @Test("If the device refuses, the pages stay free and the store stays usable")
  func refusal() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try Store(
      path: "store", fileSystem: disk, options: StoreOptions(logger: quietLogger))
    for round in 0..<6 {
      try store.write { tx in
        for number in 0..<300 {
          try tx.put(
            [UInt8](repeating: UInt8(round), count: 100), for: Key("\(number)"), in: bucket)
        }
      }
      try store.checkpoint()
    }
    let checkpointer = try #require(store.engine.checkpointer)
    let free = store.pages.freePageCount
    try #require(free > 0)
    disk.fail(after: 1, with: .inputOutput)
    checkpointer.release { true }
    #expect(store.pages.freePageCount == free)
    #expect(checkpointer.failure == nil)
    try store.write { try $0.put([9], for: "0", in: bucket) }
    try store.checkpoint()
    try store.close()
  }
}
