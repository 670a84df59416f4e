// The threads that wait for a batch of commits. Each has a condition of its own. A condition that
// all share would let them queue for the log's monitor, one context switch after the other, only to
// find that they are done.

/// A thread that waits for the end of a batch, or for its turn to lead one. Used once.
final class BatchWaiter: Sendable {
  enum News: Sendable {
    /// The commit is completed: there is nothing to look at.
    case completed
    /// The state has changed: the commit was undone, or the thread may lead.
    case changed
  }

  private let news = Monitor<News?>(nil)
  private let arrival = Condition()

  /// Waits for `wake`.
  func wait() -> News {
    news.enter { held in
      while true {
        if let news = held.state { return news }
        held.wait(for: arrival)
      }
    }
  }

  /// Wakes the thread. Called once.
  func wake(_ news: News) {
    self.news.withLock { $0 = news }
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
