// Subscriptions for the answers to appends. Each append has one for itself: with a subscription of
// its own for each, the servers would exchange two more messages per append.

internal import Synchronization

/// A subject for answers.
final class Inbox: Sendable {
  let prefix: String
  let subscription: Subscription
  private let count = Atomic<UInt64>(0)

  init(of connection: Connection) throws(AttemptFailure) {
    prefix = try Connection.uniqueSubject()
    subscription = try connection.subscribe(to: "\(prefix).*")
  }

  /// A subject for the next answer. Answers that come too late have earlier ones.
  func nextSubject() -> String {
    "\(prefix).\(count.add(1, ordering: .relaxed).newValue)"
  }
}

/// The inboxes that no append uses at the moment.
final class InboxPool: Sendable {
  private let inboxes = Mutex<[Inbox]>([])

  /// Runs `body` with an inbox of a connection.
  func withInbox<Result>(
    of connection: Connection, _ body: (Inbox) throws(AttemptFailure) -> Result
  ) throws(AttemptFailure) -> Result {
    let kept = inboxes.withLock { inboxes in
      // Those of earlier connections are of no use.
      inboxes.removeAll { $0.subscription.connection !== connection }
      return inboxes.popLast()
    }
    let inbox: Inbox
    if let kept { inbox = kept } else { inbox = try Inbox(of: connection) }
    defer { inboxes.withLock { $0.append(inbox) } }
    return try body(inbox)
  }
}
