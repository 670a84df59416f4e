// The threads that wait for a batch of commits. Each has a condition of its own. A condition that
// all share would let them queue for the log's monitor, one context switch after the other, only to
// find that they are done.

internal import Dispatch
internal import TreeRingPlatform

/// A thread that waits for the end of a batch, or for its turn to lead one.
package final class BatchWaiter: Sendable {
  package enum News: Sendable {
    /// The commit is completed: there is nothing to look at.
    case completed
    /// The state has changed: the commit was undone, or the thread may lead.
    case changed
  }

  private let isCompleted = Atomic(false)
  private let arrival = DispatchSemaphore(value: 0)

  package init() {}

  /// Waits for a `wake` that no call has waited for, or for `limit` if that is shorter.
  /// - Returns: `completed` if that has been among the news.
  package func wait(atMost limit: Duration? = nil) -> News {
    if let limit {
      _ = arrival.wait(timeout: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
    } else {
      arrival.wait()
    }
    return isCompleted.load(ordering: .acquiring) ? .completed : .changed
  }

  /// Wakes the thread. Once it is `completed`, it stays so, whatever other threads say later.
  package func wake(_ news: News) {
    if news == .completed { isCompleted.store(true, ordering: .releasing) }
    arrival.signal()
  }
}

/// A batch that its leader has written, or failed to write.
struct FinishedBatch {
  /// The threads to wake.
  var waiters: [BatchWaiter]
  /// The newest completed commit; nil if the batch was not written.
  var newest: CommitNumber?

  /// Wakes the threads. Needs no lock.
  func wakeWaiters() {
    for waiter in waiters { waiter.wake(newest == nil ? .changed : .completed) }
  }
}
