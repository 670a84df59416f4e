// Threads for tests of what goes on at once.
//
// Neither tasks nor dispatch queues give that on a small machine: both run as many bodies at a time as
// there are processors, so a body that waits for one not yet begun waits for ever, and "sixteen writers"
// are two. Here each body has a thread of its own from the start.

package import Foundation

/// Runs `body` with each number below `count`, all at the same time, and returns when all have ended.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = beginThreads(count, body)
  group.wait()
}

/// Begins to run `body` with each number below `count`, all at the same time.
///
/// - Returns: What to wait for; it is over when all have ended.
package func beginThreads(
  _ count: Int = 1, _ body: @escaping @Sendable (Int) -> Void
) -> DispatchGroup {
  let group = DispatchGroup()
  for number in 0..<count {
    group.enter()
    let thread = Thread {
      body(number)
      group.leave()
    }
    thread.stackSize = 4 << 20
    thread.start()
  }
  return group
}

/// Runs blocking work on a thread of its own, and lets other tasks run meanwhile.
package func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    _ = beginThreads { _ in continuation.resume(with: Result { try body() }) }
  }
}
