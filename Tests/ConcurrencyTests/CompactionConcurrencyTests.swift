// Compaction beside writers and readers: every reader sees committed states only, and no thread
// waits for ever.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

/// The state that the threads of a test share.
private final class Shared: Sendable {
  let writersLeft = Atomic<Int>(2)
  let reads = Atomic<Int>(0)
  var isRunning: Bool { writersLeft.load(ordering: .relaxed) > 0 }
}

@Suite("Concurrent compaction", .leavesSoundStores) struct CompactionConcurrencyTests {
  /// Moves amounts between rows, so that their sum is the same at every commit.
  private func move(_ store: Store, _ random: inout SeededGenerator) throws {
    let (from, to) = (
      Int.random(in: 0..<16, using: &random), Int.random(in: 0..<16, using: &random)
    )
    try store.write(durability: .unsynced) { tx in
      let amount = UInt8.random(in: 0...3, using: &random)
      let old = try tx.get(Key("\(from)"), in: blobs)?.first ?? 0
      guard from != to, old >= amount else { return tx.note = "nothing moved" }
      let other = try tx.get(Key("\(to)"), in: blobs)?.first ?? 0
      guard UInt8.max - other >= amount else { return tx.note = "nothing moved" }
      try tx.put([old - amount], for: Key("\(from)"), in: blobs)
      if other + amount == 0 {
        try tx.delete(Key("\(to)"), in: "blobs")
      } else {
        try tx.put(
          [other + amount], metadata: Array(repeating: 7, count: 40), for: Key("\(to)"), in: blobs)
      }
    }
  }

  private func begin(_ store: Store) throws {
    try store.write { tx in
      for row in 0..<16 { try tx.put([100], for: Key("\(row)"), in: blobs) }
    }
  }

  private func sum(_ snapshot: Snapshot) throws -> Int {
    var sum = 0
    try snapshot.forEachRow(in: "blobs") {
      sum += Int($0.object.first ?? 0)
      return true
    }
    return sum
  }

  private func read(_ store: Store, _ shared: Shared, _ random: inout SeededGenerator) throws {
    var kept: [Snapshot] = []
    while shared.isRunning {
      let back = CommitNumber.random(in: 0..<60, using: &random)
      let newest = store.newestCommit
      do throws(TreeRingError) {
        kept.append(try store.snapshot(at: .commit(max(1, newest - min(back, newest)))))
      } catch {
        #expect(error.code == .beyondHorizon)
      }
      if let snapshot = kept.randomElement(using: &random) {
        let sum = try sum(snapshot)
        #expect(sum == 1600)
        shared.reads.add(1, ordering: .relaxed)
      }
      if kept.count > 3 { kept.removeFirst() }
    }
  }

  @Test(
    "Writers, and readers at any commit, continue while history is compacted",
    arguments: seeds(1...1))
  func beside(seed: UInt64) throws {
    var options = StoreOptions(
      durability: .unsynced, retention: .last(commits: 40), segmentSize: 6 << 10,
      logger: quietLogger)
    options.pageCellCapacity = 5
    let disk = SimulatedFileSystem(seed: seed)
    let store = try Store(path: "store", fileSystem: disk, options: options)
    try begin(store)
    let shared = Shared()
    onThreads(6) { thread in
      var random = SeededGenerator(seed: seed &* 100 &+ UInt64(thread))
      do {
        switch thread {
        case 0, 1:
          defer { shared.writersLeft.subtract(1, ordering: .relaxed) }
          // On a busy machine the compacting thread may get no turn for long.
          for turn in 0..<20_000 where turn < 150 || store.horizon <= 1 {
            try move(store, &random)
          }
        case 2:
          while shared.isRunning {
            let report = try store.compact(to: .keeping(.last(commits: 30)))
            #expect(report.horizon <= store.newestCommit)
          }
        default: try read(store, shared, &random)
        }
      } catch { Issue.record("\(error)") }
    }
    #expect(shared.reads.load(ordering: .relaxed) > 0)
    #expect(store.horizon > 1)
    for commit in max(1, store.horizon)...store.newestCommit {
      do {
        let sum = try sum(store.snapshot(at: .commit(commit)))
        #expect(sum == 1600, "at \(commit)")
      } catch let error as TreeRingError where error.code == .beyondHorizon {
        // The store also compacts itself, and that may still be running.
        #expect(commit < store.horizon)
      }
    }
    let problems = try store.checkInvariants()
    #expect(problems.isEmpty)
    try store.close()
    let again = try Store(path: "store", fileSystem: disk, options: options)
    let found = try sum(again.snapshot())
    #expect(found == 1600)
    #expect(again.horizon > 1)
    try again.close()
  }
}
