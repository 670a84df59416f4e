// Checkpoints while commits become visible: each must account for every page that it writes.

import Dispatch
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Checkpoints, used concurrently", .leavesSoundStores) struct CheckpointConcurrencyTests {
  @Test("In the file of a process that is killed at any time every page is in use or free")
  func everyPageIsAccountedFor() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try Store(
      path: "store", fileSystem: disk,
      options: StoreOptions(durability: .unsynced, logger: quietLogger))
    let isDone = Atomic<Bool>(false)
    let writers = beginThreads(2) { writer in
      var round = 0
      while !isDone.load(ordering: .relaxed) {
        round += 1
        _ = try? store.write { tx in
          try tx.put([UInt8(writer)], for: Key("row \(round % 50)"), in: blobs)
        }
      }
    }
    for round in 0..<40 {
      try store.checkpoint()
      let findings = try verifyPageFile("store/pages", fileSystem: disk.afterKill())
      #expect(findings == [], "after checkpoint \(round)")
      if !findings.isEmpty { break }
    }
    isDone.store(true, ordering: .relaxed)
    writers.wait()
    try store.close()
  }
}
