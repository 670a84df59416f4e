// The append of a log over JetStream: the messages of AppendCall on a connection.

internal import Foundation
public import TreeRingReplication

extension JetStreamLog {
  /// Appends entries. Up to 500 of them, of 4 MB together, are appended all or none; of more, each
  /// such part.
  public func append(
    _ entries: [[UInt8]], after expected: UInt64, within limit: Duration
  ) throws(SharedLogError) -> AppendOutcome {
    precondition(!entries.isEmpty, "an append has at least one entry")
    precondition(
      entries.allSatisfy { $0.count <= entryByteLimit }, "an entry is larger than the limit")
    var call = AppendCall(
      entries, after: expected, by: .now + limit, identifier: AppendCall.newIdentifier())
    let outcome = try call.run(over: ConnectedServers(self))
    if outcome == .appended { note(last: expected + UInt64(entries.count)) }
    return outcome
  }
}

/// The servers of a log over its connection.
private final class ConnectedServers: AppendServers {
  private let log: JetStreamLog
  private var prepared: Connection?

  init(_ log: JetStreamLog) { self.log = log }

  var now: ContinuousClock.Instant { .now }

  func sleep(_ duration: Duration) { Thread.sleep(forTimeInterval: duration / .seconds(1)) }

  func prepare(by deadline: ContinuousClock.Instant) throws(SharedLogError) {
    prepared = try log.prepare(by: deadline)
  }

  func last(by deadline: ContinuousClock.Instant) throws(AttemptFailure) -> UInt64 {
    try log.info(calls(by: deadline)).state.last
  }

  func headers(
    of number: UInt64, by deadline: ContinuousClock.Instant
  ) throws(AttemptFailure) -> String {
    try calls(by: deadline).headers(of: number)
  }

  private func calls(by deadline: ContinuousClock.Instant) throws(AttemptFailure) -> StreamCalls {
    StreamCalls(connection: try connection(), stream: log.options.stream, deadline: deadline)
  }

  private func connection() throws(AttemptFailure) -> Connection {
    guard let prepared else { throw .passing("there is no connection") }
    return prepared
  }

  func send(
    _ part: AppendPart, _ wait: (any AppendAnswers) throws(AttemptFailure) -> Void
  ) throws(AttemptFailure) {
    let connection = try connection()
    try log.inboxes.withInbox(of: connection) { inbox throws(AttemptFailure) in
      let stream = log.options.stream
      let answers = InboxAnswers(
        subject: inbox.nextSubject(), inbox: inbox, stream: stream, connection: connection,
        reconnectCount: connection.reconnectCount)
      do throws(AttemptFailure) {
        for index in part.entries.indices {
          try connection.publish(
            part.entries[index], to: stream, headers: part.headers(at: index, stream: stream),
            reply: index == part.entries.endIndex - 1 ? answers.subject : nil)
        }
      } catch {
        // A write that failed may have sent a part of a message.
        log.link.discard(connection)
        throw error
      }
      connection.flush(within: part.patience)
      try wait(answers)
    }
  }
}

/// The answers that come to an inbox of a connection.
private struct InboxAnswers: AppendAnswers {
  let subject: String
  let inbox: Inbox
  let stream: String
  let connection: Connection
  /// The number of times that the connection had been made again before the attempt.
  let reconnectCount: UInt64

  func next(within limit: Duration) throws(AttemptFailure) -> (subject: String, bytes: [UInt8])? {
    guard let message = try inbox.subscription.next(within: limit) else { return nil }
    return (message.subject, message.bytes)
  }

  func check() throws(AttemptFailure) {
    if let prohibition = connection.prohibition(of: stream) { throw .refused(prohibition) }
    if !connection.isConnected || connection.reconnectCount != reconnectCount {
      throw .passing("the connection was lost")
    }
  }
}
