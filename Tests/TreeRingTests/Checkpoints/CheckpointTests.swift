// Stores with trees in a page file: opened from checkpoints, larger than memory, damaged.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Checkpoints", .leavesSoundStores) struct CheckpointTests {
  private struct Files {
    let system = MemoryFileSystem()

    func open(
      budget: Int = 64 << 20, indexes: [GroupIndex] = RandomHistory.codeIndexes, cells: Int = 4,
      progress: ((OpeningProgress) -> Void)? = nil
    ) throws -> Store {
      var options = StoreOptions(
        durability: .unsynced, memoryBudget: budget, segmentSize: 16 << 10, indexes: indexes,
        logger: quietLogger)
      options.pageCellCapacity = cells
      return try Store(
        path: "store", fileSystem: system, options: options, progress: progress)
    }

    func pageFileFindings() throws -> [String] {
      try verifyPageFile("store/pages", fileSystem: system).map(\.problem)
    }
  }

  @Test("Closing while checkpoints are due: nothing is written to a closed file, nothing is logged")
  func closingAmidCheckpoints() throws {
    let said = Mutex<[String]>([])
    for round in 0..<20 {
      var options = StoreOptions(durability: .unsynced, memoryBudget: 1 << 20)
      options.logger = listeningLogger { text in said.withLock { $0.append(text) } }
      let store = try Store(path: "store", fileSystem: MemoryFileSystem(), options: options)
      for number in 0..<(6 + round % 4) {
        try store.write { tx in
          for row in 0..<1000 {
            try tx.put(Array("\(number) \(row)".utf8), for: Key("\(row)"), in: blobs)
          }
        }
      }
      try store.close()
    }
    let heard = said.withLock { $0 }
    #expect(heard == [])
  }

  @Test(
    "Checkpoints between any commits do not change the result of any read", arguments: seeds(1...4))
  func betweenCommits(seed: UInt64) throws {
    let files = Files()
    var random = SeededGenerator(seed: seed)
    var history = RandomHistory(seed: seed)
    var store = try files.open()
    try store.define("byGroup", RandomHistory.fieldIndex)
    while history.model.states.count <= Int(store.newestCommit) { history.noteEmptyCommit() }
    var held: [Snapshot] = []
    for _ in 0..<80 {
      try history.commit(to: store)
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1: try store.checkpoint()
      case 2: held.append(try store.snapshot())
      case 3: if !held.isEmpty { held.remove(at: Int.random(in: 0..<held.count, using: &random)) }
      case 4:
        let commit = CommitNumber.random(in: 0...store.newestCommit, using: &random)
        try history.check(store.snapshot(at: .commit(commit)), label: "seed \(seed), at \(commit)")
      case 5 where Int.random(in: 0..<3, using: &random) == 0:
        for snapshot in held { try history.check(snapshot, label: "seed \(seed), held") }
        held = []
        try store.close()
        #expect(try files.pageFileFindings() == [], "seed \(seed)")
        store = try files.open()
        #expect(try store.leakedPageCount(beside: []) == 0, "seed \(seed), reopened")
      default: break
      }
    }
    for snapshot in held { try history.check(snapshot, label: "seed \(seed), held") }
    held = []
    #expect(try store.leakedPageCount(beside: []) == 0, "seed \(seed)")
    try store.close()
    store = try files.open()
    #expect(try store.statistics().retainedRootCount > 3)
    for commit in 0...Int(store.newestCommit) where commit % 5 == 0 {
      try history.check(
        store.snapshot(at: .commit(CommitNumber(commit))), label: "seed \(seed), at \(commit)")
    }
    try history.checkChanges(store, label: "seed \(seed)")
    #expect(try store.checkInvariants() == [])
  }

  @Test("An opening after a checkpoint replays only the later commits")
  func opensFromCheckpoint() throws {
    let files = Files()
    var store = try files.open(indexes: [])
    for number in 0..<50 { try store.put([UInt8(number)], for: Key("k\(number)")) }
    try store.close()
    var replayed: [OpeningProgress] = []
    store = try files.open(indexes: []) { replayed.append($0) }
    #expect(replayed.isEmpty)
    #expect(try store.snapshot().count(in: "blobs") == 50)
    try store.close()
    try files.system.unlink("store/pages")
    store = try files.open(indexes: []) { replayed.append($0) }
    #expect(replayed.last?.commit == 50 && replayed.last?.newest == 50)
    #expect(try store.snapshot().count(in: "blobs") == 50)
  }

  @Test("A store larger than its memory budget is written, read and reopened", arguments: [1, 2])
  func largerThanMemory(seed: UInt64) throws {
    let files = Files()
    var random = SeededGenerator(seed: seed)
    var store = try files.open(budget: 1 << 20, indexes: [])
    var model: [Key: [UInt8]] = [:]
    // One commit alone is larger than the budget.
    try store.write { tx in
      for number in 0..<6000 {
        let key = Key("k\(number * 7919 % 6007)")
        try tx.put([UInt8(number & 255)], for: key, in: blobs)
        model[key] = [UInt8(number & 255)]
      }
    }
    let early = try store.snapshot()
    let earlyModel = model
    for _ in 0..<150 {
      try store.write { tx in
        for _ in 0..<20 {
          let key = Key("k\(Int.random(in: 0..<6007, using: &random))")
          if Int.random(in: 0..<5, using: &random) == 0 {
            _ = try tx.delete(key, in: blobs.name)
            model[key] = nil
          } else {
            let value: [UInt8] = [UInt8.random(in: 0...255, using: &random), 1]
            try tx.put(value, for: key, in: blobs)
            model[key] = value
          }
        }
      }
    }
    func check(_ snapshot: Snapshot, _ model: [Key: [UInt8]]) throws {
      var found: [Key: [UInt8]] = [:]
      try snapshot.forEach(in: blobs) { key, bytes in
        found[key] = bytes
        return true
      }
      #expect(found == model)
    }
    try check(early, earlyModel)
    try check(store.snapshot(), model)
    let statistics = try store.statistics()
    #expect(statistics.checkpointCount > 0)
    #expect(statistics.pageMemoryByteCount < 8 << 20)
    #expect(statistics.pageCount * 4096 > 4 << 20)
    #expect(try store.checkInvariants() == [])
    let newest = store.newestCommit
    try store.close()
    #expect(try files.pageFileFindings() == [])
    store = try files.open(budget: 1 << 20, indexes: [])
    try check(store.snapshot(), model)
    try check(store.snapshot(at: .commit(1)), earlyModel)
    #expect(store.newestCommit == newest)
    try store.close()
    // The next opening builds the trees from the log alone.
    try files.system.unlink("store/pages")
    store = try files.open(budget: 1 << 20, indexes: [])
    try check(store.snapshot(), model)
  }

  @Test(
    "A missing, cut, stale or damaged page file is rebuilt, and reads give the same results",
    arguments: seeds(1...12))
  func damaged(seed: UInt64) throws {
    let files = Files()
    var random = SeededGenerator(seed: seed)
    var history = RandomHistory(seed: seed)
    var store = try files.open()
    try store.define("byGroup", RandomHistory.fieldIndex)
    while history.model.states.count <= Int(store.newestCommit) { history.noteEmptyCommit() }
    func commits(_ count: Int) throws {
      for _ in 0..<count { try history.commit(to: store) }
    }
    try commits(20)
    try store.close()
    let stale = try files.system.bytes(of: "store/pages")
    store = try files.open()
    try commits(20)
    try store.close()
    let file = try files.system.open("store/pages", .readWrite)
    let size = try file.size()
    switch seed % 4 {
    case 0: try file.truncate(to: UInt64.random(in: 0..<size, using: &random))
    case 1: try stale.withUnsafeBytes { try file.write($0, at: 0) }
    case 2:
      for _ in 0..<20 {
        let byte = [UInt8.random(in: 0...255, using: &random)]
        let offset = UInt64.random(in: 0..<size, using: &random)
        try byte.withUnsafeBytes { try file.write($0, at: offset) }
      }
    default:
      let garbage = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
      let page = UInt64.random(in: 0..<(size / 4096), using: &random)
      try garbage.withUnsafeBytes { try file.write($0, at: page * 4096) }
    }
    file.close()
    // Every read is right or throws; after an error the next opening rebuilds the file.
    var attempts = 0
    while true {
      attempts += 1
      store = try files.open()
      do {
        try store.write { try $0.put([1], for: "probe", in: blobs) }
        try store.write { try $0.delete("probe", in: blobs.name) }
        _ = try store.checkInvariants()
        // All states, so that the store reads every root of the file.
        for commit in history.model.states.indices.reversed() {
          try history.check(
            store.snapshot(at: .commit(CommitNumber(commit))), label: "seed \(seed) at \(commit)")
        }
        break
      } catch let error as TreeRingError {
        #expect(error.code == .corruption || error.code == .poisoned, "\(error)")
      }
      try? store.close()
      if attempts > 4 {
        Issue.record("seed \(seed): the page file is not made anew")
        break
      }
    }
    try store.close()
  }

  @Test("Writes made during a scan never wait for the scan to end")
  func writesInsideReads() throws {
    let files = Files()
    let store = try files.open(budget: 1 << 20, indexes: [])
    try store.write { tx in
      for number in 0..<2000 { try tx.put([1], for: Key("k\(number)"), in: blobs) }
    }
    var rounds = 0
    try store.snapshot().forEach(in: blobs) { _, bytes in
      #expect(bytes == [1])
      rounds += 1
      if rounds % 40 == 0 {
        try store.write { tx in
          for number in 0..<100 {
            try tx.put([2], for: Key("k\((rounds * 100 + number) % 2000)"), in: blobs)
          }
        }
      }
      if rounds % 500 == 0 { try store.checkpoint() }
      return true
    }
    #expect(rounds == 2000)
    try store.close()
    #expect(try files.pageFileFindings() == [])
  }

  @Test("A log that ends before a checkpoint's commit is an error, and nothing is rebuilt")
  func logBehindPages() throws {
    let files = Files()
    let store = try files.open(indexes: [])
    for number in 0..<3 { try store.put([UInt8(number)], for: "k") }
    let log = try files.system.list("store/log")
    let name = "store/log/" + (log.first ?? "")
    let before = try files.system.bytes(of: name)
    for number in 0..<3 { try store.put([UInt8(number)], for: "k") }
    try store.close()
    let file = try files.system.open(name, .readWrite)
    try file.truncate(to: UInt64(before.count))
    file.close()
    #expect(code { try files.open(indexes: []) } == .logBehindPages)
    try files.system.unlink("store/pages")
    #expect(try files.open(indexes: []).newestCommit == 3)
  }
}

extension MemoryFileSystem {
  fileprivate func bytes(of path: String) throws -> [UInt8] {
    let file = try open(path, .readOnly)
    var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
    _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    return bytes
  }
}
