// The news of a thread that waits for a batch.

import Testing

@testable import TreeRingLog

@Suite("A thread that waits for a batch")
struct BatchWaiterTests {
  @Test("Completion is for ever, whatever other threads say later")
  func lateNews() {
    let waiter = BatchWaiter()
    waiter.wake(.changed)
    #expect(waiter.wait() == .changed)
    waiter.wake(.completed)
    waiter.wake(.changed)
    for _ in 0..<2 { #expect(waiter.wait() == .completed) }
  }

  @Test("A limited wait ends without news, and misses none")
  func limit() {
    let waiter = BatchWaiter()
    #expect(waiter.wait(atMost: .zero) == .changed)
    #expect(waiter.wait(atMost: .milliseconds(1)) == .changed)
    waiter.wake(.completed)
    #expect(waiter.wait(atMost: .seconds(60)) == .completed)
  }
}
