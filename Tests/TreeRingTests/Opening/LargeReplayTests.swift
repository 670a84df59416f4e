// Openings whose replay does not fit in memory: they sort it in a file without a name.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Replays larger than memory", .leavesSoundStores) struct LargeReplayTests {
  private static let leftover = "store/log/replay.lz4.tmp"

  private static func open(
    _ system: any FileSystem, _ mode: StoreMode = .readWrite
  ) throws -> Store {
    try Store(
      path: "store", fileSystem: system,
      options: StoreOptions(
        mode: mode, durability: .unsynced, memoryBudget: 1 << 20, logger: quietLogger))
  }

  /// A store with puts, replacements, deletes and tags, some megabytes of them, without its page
  /// file; and its rows.
  private static func make(
    _ system: any FileSystem, seed: UInt64, commits: Int = 120
  ) throws -> [Key: [UInt8]] {
    var random = SeededGenerator(seed: seed)
    var model: [Key: [UInt8]] = [:]
    let store = try open(system, .create)
    for commit in 0..<commits {
      try store.write { tx in
        for _ in 0..<100 {
          let key = Key("k\(Int.random(in: 0..<9_000, using: &random))")
          if Int.random(in: 0..<8, using: &random) == 0 {
            try tx.delete(key, in: blobs)
            model[key] = nil
          } else {
            let value = [UInt8](repeating: .random(in: 0...255, using: &random), count: 120)
            try tx.put(value, for: key, in: blobs)
            model[key] = value
          }
        }
        if commit % 30 == 0 { tx.tags = ["t\(commit)"] }
      }
    }
    try store.close()
    try system.unlink("store/pages")
    return model
  }

  private static func rows(_ store: Store) throws -> [Key: [UInt8]] {
    var rows: [Key: [UInt8]] = [:]
    try store.snapshot().forEach(in: blobs) { key, value in
      rows[key] = value
      return true
    }
    return rows
  }

  @Test("The rows and tags are those of the writes; no file is left", arguments: seeds(1...2))
  func rows(seed: UInt64) throws {
    let memory = MemoryFileSystem()
    let model = try Self.make(memory, seed: seed)
    let made = Counter()
    let system = HookedFileSystem(
      memory,
      beforeCall: { path in
        if path == Self.leftover { _ = made.next() }
      })
    let store = try Self.open(system)
    // The file was looked for, opened and unlinked.
    #expect(made.count == 3)
    #expect(try Self.rows(store) == model, "seed \(seed)")
    #expect(try store.snapshot().tags().map(\.commit) == [1, 31, 61, 91])
    #expect(try store.snapshot(at: .tag("t30")).count(in: "blobs") > 0)
    #expect(try !memory.list("store/log").contains { $0.hasSuffix("tmp") })
    try store.close()
  }

  @Test(
    "Any call of the opening may fail: a typed error or the right rows, now and afterwards",
    arguments: [DiskFault.inputOutput, .noSpace])
  func failures(fault: DiskFault) throws {
    let disk = SimulatedFileSystem(seed: 1)
    let model = try Self.make(disk, seed: 4, commits: 70)
    var failures = 0
    var call = 0
    while true {
      call += 1
      let copy = disk.afterKill()
      let before = copy.callCount
      copy.fail(after: call, with: fault)
      do {
        let store = try Self.open(copy)
        #expect(try Self.rows(store) == model, "\(fault) at call \(call)")
        let isPast = copy.callCount - before < call
        try? store.close()
        if isPast { break }
      } catch let error as TreeRingError {
        failures += 1
        #expect([.io, .noSpace].contains(error.code), "\(error)")
      }
      let store = try Self.open(copy)
      #expect(try Self.rows(store) == model, "after \(fault) at call \(call)")
      #expect(try !copy.list("store/log").contains { $0.hasSuffix("tmp") })
      try store.close()
    }
    #expect(call > 10)
    #expect(fault == .noSpace || failures > 5)
  }

  @Test("The name that a kill leaves is removed by the next opening")
  func leftovers() throws {
    let system = MemoryFileSystem()
    let model = try Self.make(system, seed: 3)
    try system.open(Self.leftover, .createNew).write([1, 2, 3], at: 0)
    let store = try Self.open(system)
    #expect(try Self.rows(store) == model)
    #expect(try !system.exists(Self.leftover))
    try store.close()
  }
}
