// The threads that wait for a batch of commits. Each has a condition of its own. A condition that
// all share would let them queue for the log's monitor, one context switch after the other, only to
// find that they are done.

internal import Dispatch
internal import TreeRingPlatform

/// A thread that waits for the end of a batch, or for its turn to lead one. Used once.
package final class BatchWaiter: Sendable {
  package enum News: UInt8, Sendable {
    /// The commit is completed: there is nothing to look at.
    case completed
    /// The state has changed: the commit was undone, or the thread may lead.
    case changed
  }

  private let news = Atomic(News.changed.rawValue)
  private let arrival = DispatchSemaphore(value: 0)

  package init() {}

  /// Waits for `wake`.
  package func wait() -> News {
    arrival.wait()
    return News(rawValue: news.load(ordering: .acquiring)) ?? .changed
  }

  /// Wakes the thread. Called once.
  package func wake(_ news: News) {
    self.news.store(news.rawValue, ordering: .releasing)
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
