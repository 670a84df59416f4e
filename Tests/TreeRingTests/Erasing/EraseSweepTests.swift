// Power fails before every call of an erasing. In every state found, the newest state is whole, the
// other rows have their values of every commit, and a second erasing leaves nothing of the row.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Crash sweep of erasing") struct EraseSweepTests {
  private static let secret = Key("nobody may know this key")

  private func options() -> StoreOptions {
    var options = StoreOptions(segmentSize: 2000, logger: quietLogger)
    options.pageCellCapacity = 4
    return options
  }

  private func open(_ disk: SimulatedFileSystem) throws -> Store {
    try Store(path: "store", fileSystem: disk, options: options())
  }

  @Test("Power may fail at any call of an erasing", arguments: seeds(1...1))
  func crashAnywhere(seed: UInt64) throws {
    let disk = SimulatedFileSystem(seed: seed)
    let before = try fill(disk, seed: seed)
    let moments = Mutex<[SimulatedFileSystem]>([])
    let store = try open(disk)
    disk.observe { _, _, disk in moments.withLock { $0.append(disk) } }
    try store.erase(Self.secret, in: "blobs")
    disk.observe(nil)
    try store.close()
    var states = 0
    for (call, moment) in moments.withLock({ $0 }).enumerated() {
      var seen: Set<Int> = []
      for keep in 0..<2 {
        let found = moment.afterCrash(seed: seed &* 10_000 &+ UInt64(call * 10 + keep))
        guard seen.insert(found.fingerprint).inserted else { continue }
        states += 1
        do {
          try check(found, before)
        } catch {
          Issue.record("seed \(seed), call \(call), keep \(keep): \(error)")
        }
      }
    }
    #expect(states > 20)
  }

  /// Writes rows and their history; returns the other rows at each commit.
  private func fill(_ disk: SimulatedFileSystem, seed: UInt64) throws -> [[StoredRow]] {
    var random = SeededGenerator(seed: seed)
    let store = try open(disk)
    for round in 0..<18 {
      try store.write { tx in
        for row in 0..<3 { try tx.put([UInt8(round), UInt8(row)], for: Key("k\(row)"), in: blobs) }
        switch round % 6 {
        case 0, 3:
          let bytes = (0..<2000).map { _ in UInt8.random(in: 0...255, using: &random) }
          try tx.put(bytes, for: Self.secret, in: blobs)
        case 1: try tx.put(metadata: [1, 2, 3], for: Self.secret, in: "blobs")
        case 2: try tx.deleteAll(in: "blobs", from: "k2")
        default: try tx.touch(Self.secret, in: "blobs")
        }
      }
    }
    let before = try (1...store.newestCommit).map { try others(store, at: $0) }
    try store.close()
    return before
  }

  private func others(_ store: Store, at commit: CommitNumber) throws -> [StoredRow] {
    var rows: [StoredRow] = []
    try store.snapshot(at: .commit(commit)).forEachRow(in: "blobs") {
      if $0.key != Self.secret { rows.append($0) }
      return true
    }
    return rows
  }

  private func check(_ disk: SimulatedFileSystem, _ before: [[StoredRow]]) throws {
    let store = try open(disk)
    let wasDeleted = store.newestCommit > CommitNumber(before.count)
    let isThere = try store.snapshot().contains(Self.secret, in: "blobs")
    try #require(isThere == !wasDeleted)
    let problems = try store.checkInvariants()
    try #require(problems.isEmpty)
    try store.erase(Self.secret, in: "blobs")
    for (index, rows) in before.enumerated() {
      let commit = CommitNumber(index + 1)
      let found = try others(store, at: commit)
      try #require(found == rows, "commit \(commit)")
      let past = try store.snapshot(at: .commit(commit))
      let isLeft = try past.contains(Self.secret, in: "blobs")
      try #require(!isLeft, "commit \(commit)")
    }
    try store.close()
    for path in disk.paths {
      let bytes = disk.contents(of: path) ?? []
      let place = bytes.withUnsafeBytes { $0.firstPosition(of: Self.secret.bytes) }
      try #require(place == nil, "\(path)")
    }
  }
}
