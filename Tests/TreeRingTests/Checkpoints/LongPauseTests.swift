// Work that waits for a long pause of writing.

import Dispatch
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Long pauses of writing", .leavesSoundStores) struct LongPauseTests {
  @Test("Work starts once there are no commits and edits, and learns of new ones")
  func starts() {
    let schedule = CheckpointSchedule(longPause: .milliseconds(10))
    let outcome = Mutex<[Bool]>([])
    let ended = DispatchSemaphore(value: 0)
    schedule.queueWhenIdle(.release) { isIdle in
      let before = isIdle()
      schedule.countEdits()
      outcome.withLock { $0 = [before, isIdle()] }
      ended.signal()
    }
    #expect(ended.wait(timeout: .now() + 30) == .success)
    // Another thread does not write, so the pause lasted until the work wrote itself.
    #expect(outcome.withLock { $0 } == [true, false])
  }

  @Test("The same work is queued once, and again when it has begun")
  func once() {
    let schedule = CheckpointSchedule(longPause: .milliseconds(10))
    let count = Atomic<Int>(0)
    let ended = DispatchSemaphore(value: 0)
    let work: @Sendable (() -> Bool) -> Void = { _ in
      count.add(1, ordering: .relaxed)
      ended.signal()
    }
    for _ in 0..<5 { schedule.queueWhenIdle(.release, work) }
    #expect(ended.wait(timeout: .now() + 30) == .success)
    schedule.queueWhenIdle(.release, work)
    #expect(ended.wait(timeout: .now() + 30) == .success)
    #expect(count.load(ordering: .relaxed) == 2)
  }

  @Test("A closed schedule takes no work")
  func closed() {
    let schedule = CheckpointSchedule(longPause: .milliseconds(1))
    let count = Atomic<Int>(0)
    schedule.close()
    schedule.queueWhenIdle(.release) { _ in count.add(1, ordering: .relaxed) }
    usleep(50_000)
    schedule.settle()
    #expect(count.load(ordering: .relaxed) == 0)
  }

  @Test("A release that a commit stops goes on in the next pause, until all free pages are holes")
  func continues() throws {
    let disk = SimulatedFileSystem(seed: 1)
    var options = StoreOptions(durability: .unsynced, logger: quietLogger)
    options.pageCellCapacity = 4
    let store = try Store(path: "store", fileSystem: disk, options: options)
    let checkpointer = try #require(store.engine.checkpointer)
    let releases = Atomic<Int>(0)
    disk.observe { [weak checkpointer] _, what, _ in
      guard what.contains("release") else { return }
      // As a commit does; it lets the first slice end.
      if releases.add(1, ordering: .relaxed).newValue == 1 { checkpointer?.schedule.countCommit() }
    }
    let bucket = Bucket<[UInt8]>.bytes("rows")
    for round in 0..<6 {
      try store.write { tx in
        for number in 0..<5000 { try tx.put([UInt8(round)], for: Key("\(number)"), in: bucket) }
      }
      try store.checkpoint()
    }
    try #require(store.pages.freePageCount > 2048)
    let deadline = ContinuousClock.now + .seconds(60)
    while checkpointer.file.holes.withLock({ $0.count }) < store.pages.freePageCount,
      ContinuousClock.now < deadline
    {
      usleep(10_000)
    }
    #expect(checkpointer.file.holes.withLock { $0.count } == store.pages.freePageCount)
    #expect(releases.load(ordering: .relaxed) > 1)
    disk.observe(nil)
    #expect(try store.snapshot().get("77", in: bucket) == [5])
    try store.close()
  }
}
