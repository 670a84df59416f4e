// A large number of live snapshots: finding the version of one of them does not examine the others.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Many live snapshots", .leavesSoundStores) struct ManyPinsTests {
  @Test("The version of a pinned commit is found, whichever of its pins have ended")
  func versions() throws {
    let store = try Store.inMemory(
      options: StoreOptions(durability: .unsynced, logger: quietLogger))
    var random = SeededGenerator(seed: 31)
    var held: [Snapshot] = []
    for step in 0..<1200 {
      if step % 6 == 0 { try store.put([UInt8(step % 256)], for: "row") }
      // More are taken than given back, so that their table grows.
      if Int.random(in: 0..<5, using: &random) < 2, !held.isEmpty {
        held.remove(at: Int.random(in: 0..<held.count, using: &random))
      } else {
        held.append(try store.snapshot())
      }
      let commits = Set(held.map(\.commit))
      for commit in 0...store.newestCommit {
        let found = store.pinRegistry.version(of: commit)
        #expect(found?.roots.commit == (commits.contains(commit) ? commit : nil))
      }
      #expect(store.pins.map(\.commit) == held.map(\.commit).sorted())
    }
  }

  @Test("Snapshots over the limit expire in whatever order they were taken")
  func expiry() throws {
    var options = StoreOptions(durability: .unsynced, logger: quietLogger)
    options.pinLimit = PinLimit(commits: 20)
    let store = try Store.inMemory(options: options)
    var random = SeededGenerator(seed: 32)
    var held: [Snapshot] = []
    for step in 1...150 {
      try store.put([UInt8(step)], for: "row")
      let back = CommitNumber.random(in: 0...15, using: &random)
      let commit = store.newestCommit - min(back, store.newestCommit)
      held.append(try store.snapshot(at: .commit(commit)))
      if step % 3 == 0 { held.remove(at: Int.random(in: 0..<held.count, using: &random)) }
      try store.put([UInt8(step), 1], for: "row")
      for snapshot in held {
        let isOver = store.newestCommit > 20 + snapshot.commit
        #expect((code { try snapshot.get("row", in: blobs) } == .snapshotExpired) == isOver)
      }
      held.removeAll { store.newestCommit > 20 + $0.commit }
    }
  }
}
