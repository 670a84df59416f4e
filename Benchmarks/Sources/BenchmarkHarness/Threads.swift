// Running several threads from a common start.

internal import Foundation
internal import Synchronization

/// Runs `body` on several threads concurrently and waits for all of them.
/// - Returns: the wall-clock time from the common start to the last end, in seconds.
/// - Throws: the first error of any thread.
public func onThreads(
  _ count: Int, _ body: @escaping @Sendable (_ thread: Int) throws -> Void
) throws -> Double {
  let failure = Mutex<(any Error)?>(nil)
  let start = DispatchSemaphore(value: 0)
  let done = DispatchGroup()
  for number in 0..<count {
    done.enter()
    let thread = Thread {
      start.wait()
      do {
        try body(number)
      } catch {
        failure.withLock { if $0 == nil { $0 = error } }
      }
      done.leave()
    }
    thread.stackSize = 1 << 20
    thread.start()
  }
  let seconds = Clocks.wallSeconds {
    for _ in 0..<count { start.signal() }
    done.wait()
  }
  if let error = failure.withLock({ $0 }) { throw error }
  return seconds
}
