// Trimming of the shared log while replicas read it.

import Dispatch
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingReplication

@Suite("Trimming beside reads", .leavesSoundStores)
struct TrimTests {
  @Test(
    "A replica goes on whose read comes after the trimming of entries that it has by then",
    arguments: [false, true])
  func overtaken(isLeader: Bool) throws {
    let log = SwitchedLog(MemoryLog())
    let a = try replica("a", isLeader ? log : log.log)
    let b = try replica("b", isLeader ? log.log : log)
    try a.lead()
    let (begun, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let readCount = Atomic(0)
    log.beforeReads {
      if readCount.add(1, ordering: .relaxed).oldValue == 0 {
        begun.signal()
        goesOn.wait()
      }
    }
    try #require(begun.wait(timeout: .now() + 10) == .success)
    for number in 1...5 {
      try a.store.write { try $0.put("\(number)", for: "x", in: texts) }
    }
    try b.catchUp()
    try a.trimLog(before: 5)
    let before = readCount.load(ordering: .relaxed)
    goesOn.signal()
    let deadline = ContinuousClock.now + .seconds(10)
    while readCount.load(ordering: .relaxed) == before, .now < deadline {
      Platform.sleep(.milliseconds(2))
    }
    #expect(readCount.load(ordering: .relaxed) > before)
    #expect(a.status.failure == nil && b.status.failure == nil)
    try a.store.write { try $0.put("6", for: "x", in: texts) }
    try b.catchUp()
    #expect(try contents(a.store) == contents(b.store))
    try a.close()
    try b.close()
  }
}
