// Threads for tests of concurrency.
//
// Neither tasks nor dispatch queues guarantee concurrency on a small machine: both run only as many
// bodies at a time as there are processors. So a body that waits for one not yet begun waits
// forever, and "sixteen writers" are two. Here each body has its own thread from the start.

package import Foundation

/// Runs `body` with each number below `count`, all concurrently, and returns when all have ended.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = beginThreads(count, body)
  group.wait()
}

/// Starts `body` with each number below `count`, all concurrently.
///
/// - Returns: the group to wait for; it is finished when all have ended.
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

/// Runs blocking work on its own thread; other tasks can run in that time.
package func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    _ = beginThreads { _ in continuation.resume(with: Result { try body() }) }
  }
}
