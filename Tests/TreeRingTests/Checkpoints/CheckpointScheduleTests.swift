// The moments of checkpoints: as soon as writing pauses, and at once if they are urgent. That a
// checkpoint waits amid commits is not tested: a busy machine may make any pause between commits.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingPlatform

@Suite("The schedule of checkpoints", .timeLimit(.minutes(1))) struct CheckpointScheduleTests {
  @Test("A checkpoint that would wait for hours is made when writing pauses")
  func pause() async {
    let schedule = CheckpointSchedule()
    // Amid commits the next one would begin after three hours.
    schedule.checkpointEnded(after: .seconds(600))
    await withCheckedContinuation { continuation in
      schedule.queue(.checkpoint) { continuation.resume() }
    }
    schedule.close()
  }

  @Test("An urgent checkpoint waits for nothing, and the same work is queued once")
  func urgent() async {
    let schedule = CheckpointSchedule()
    schedule.checkpointEnded(after: .seconds(600))
    let runs = Counter()
    await withCheckedContinuation { continuation in
      schedule.queue(.eviction) {
        // Queued while the thread is busy.
        schedule.queue(.urgentCheckpoint) { _ = runs.next() }
        schedule.queue(.urgentCheckpoint) { _ = runs.next() }
        continuation.resume()
      }
    }
    schedule.settle()
    #expect(runs.count == 1)
    schedule.close()
  }

  @Test("The replay grows with bytes and with operations")
  func replay() {
    var roots = Roots()
    #expect(roots.replayByteCount == 0)
    roots.payloadByteCount = 1_000
    #expect(roots.replayByteCount == 1_000)
    roots.operationCount = 10
    #expect(roots.replayByteCount == 1_640)
  }

  @Test("A store whose writing pauses makes a checkpoint if much would be replayed, else none")
  func store() throws {
    let store = try Store(
      path: "store", fileSystem: MemoryFileSystem(),
      options: StoreOptions(mode: .create, durability: .unsynced, logger: quietLogger))
    func write(_ rows: Range<Int>) throws {
      try store.write { tx in
        for row in rows {
          try tx.put([UInt8](repeating: 7, count: 100), for: Key("\(row)"), in: blobs)
        }
      }
    }
    try write(0..<1_000)
    #expect(store.engine.checkpointer?.schedule.attemptCount == 0)
    #expect(try store.statistics().checkpointCount == 0)
    // The default limit is passed by this commit.
    try write(1_000..<8_000)
    while try store.statistics().checkpointCount == 0 { Platform.sleep(.milliseconds(1)) }
    #expect(try store.statistics().widestReplay <= 8_000)
    try store.close()
  }
}
