// The append of a log over JetStream.
//
// One entry is a message with the expected number in a header, which the stream's leader compares.
// Several are an atomic batch of the servers: they appear together or not at all. A chain of
// messages, each expecting the one before it, would be wrong: after another writer's entry instead
// of the first one, the second would find the number that it expects.
//
// Each attempt at one message or batch ends in one of these ways:
// 1. It is acknowledged: a majority of the servers has it on disk.
// 2. The leader expects another number. If the wanted one has an entry, that is a conflict, unless
//    the entry has the identifier of this call in its headers: then an earlier attempt succeeded.
//    If it has none yet, another entry is on its way there, and the attempt is repeated.
// 3. It is refused.
// 4. Anything else. The attempt is repeated: with the same expected number, it succeeds once.

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
    var call = AppendCall(entries: entries, expected: expected, deadline: .now + limit)
    while true {
      do throws(SharedLogError) {
        let connection = try prepare(by: call.deadline)
        if let outcome = try advance(&call, over: connection) { return outcome }
      } catch {
        // An earlier part or attempt may be in the log.
        switch error {
        case .refused where call.isUntried: throw error
        case .refused(let text), .unavailable(let text): return .unknown(text)
        case .trimmed: return .unknown(error.description)
        }
      }
    }
  }

  /// Makes one attempt at the next part of an append.
  /// - Returns: The outcome of the whole append, if it is certain.
  private func advance(
    _ call: inout AppendCall, over connection: Connection
  ) throws(SharedLogError) -> AppendOutcome? {
    let part = call.nextPart
    let reason: String
    do throws(AttemptFailure) {
      try attempt(part, over: connection)
      return finish(part, of: &call)
    } catch {
      if case .answered(let answer) = error, answer.number == APIError.Number.wrongLastSequence {
        do throws(AttemptFailure) {
          if try isFinished(part, of: call, over: connection) { return finish(part, of: &call) }
          return .conflict
        } catch {
          reason = try passingReason(error)
        }
      } else {
        reason = try passingReason(error)
        call.isUncertain = true
      }
    }
    guard ContinuousClock.now < call.deadline else { return .unknown(reason) }
    Thread.sleep(forTimeInterval: min(call.pause, call.deadline.rest) / .seconds(1))
    call.pause = min(call.pause * 2, .milliseconds(200))
    return nil
  }

  /// Finds out why the leader expects another number than a part.
  /// - Returns: Whether an earlier attempt at the part succeeded; if not, it is a conflict.
  private func isFinished(
    _ part: AppendCall.Part, of call: AppendCall, over connection: Connection
  ) throws(AttemptFailure) -> Bool {
    let calls = StreamCalls(connection: connection, stream: options.stream, deadline: call.deadline)
    let last = try info(calls).state.last
    if last == part.expected {
      throw .passing("another entry after \(last) is on its way, and has no majority yet")
    }
    guard last > part.expected, call.isUncertain else { return false }
    return try calls.headers(of: part.expected + 1).contains(call.identifier)
  }

  private func finish(_ part: AppendCall.Part, of call: inout AppendCall) -> AppendOutcome? {
    call.finishPart(part)
    note(last: part.expected + UInt64(part.entries.count))
    return call.isFinished ? .appended : nil
  }

  private struct Acknowledgement: Decodable {
    var seq: UInt64
  }

  /// Sends a part, and returns after its acknowledgement.
  private func attempt(
    _ part: AppendCall.Part, over connection: Connection
  ) throws(AttemptFailure) {
    try inboxes.withInbox(of: connection) { inbox throws(AttemptFailure) in
      let reply = inbox.nextSubject()
      let reconnectCount = connection.reconnectCount
      do throws(AttemptFailure) {
        for index in part.entries.indices {
          try connection.publish(
            part.entries[index], to: options.stream,
            headers: part.headers(at: index, stream: options.stream),
            reply: index == part.entries.endIndex - 1 ? reply : nil)
        }
      } catch {
        // A write that failed may have sent a part of a message.
        link.discard(connection)
        throw error
      }
      let end = min(part.deadline, .now + part.patience)
      connection.flush(within: end.rest)
      while true {
        if let message = try inbox.subscription.next(within: min(end.rest, .milliseconds(250))) {
          guard message.subject == reply else { continue }
          let answer: Acknowledgement = try StreamCalls.decode(message.bytes)
          guard answer.seq == part.expected + UInt64(part.entries.count) else {
            throw .passing("the entries after \(part.expected) became those up to \(answer.seq)")
          }
          return
        }
        if let prohibition = connection.prohibition(of: options.stream) {
          throw .refused(prohibition)
        }
        if !connection.isConnected || connection.reconnectCount != reconnectCount {
          throw .passing("the connection was lost")
        }
        if ContinuousClock.now >= end { throw .passing("no acknowledgement") }
      }
    }
  }
}

/// An append on its way.
private struct AppendCall {
  /// Entries that are appended together, or not at all.
  struct Part {
    var entries: ArraySlice<[UInt8]>
    /// The number before the first of them.
    var expected: UInt64
    /// The identifier of this attempt, which contains that of its call.
    var identifier: String
    var deadline: ContinuousClock.Instant
    var byteCount: Int

    /// The time to wait for an acknowledgement before the next attempt.
    var patience: Duration { .seconds(3) + .seconds(1) * (byteCount >> 20) }

    /// The headers of an entry's message.
    func headers(at index: Int, stream: String) -> [(String, String)] {
      // The library's own option cannot express that no entry is expected.
      var headers = [("Nats-Expected-Stream", stream)]
      let isFirst = index == entries.startIndex
      if isFirst { headers.append(("Nats-Expected-Last-Sequence", "\(expected)")) }
      if entries.count == 1 {
        headers.append(("Nats-Msg-Id", identifier))
      } else {
        headers.append(("Nats-Batch-Id", identifier))
        headers.append(("Nats-Batch-Sequence", "\(index - entries.startIndex + 1)"))
        if index == entries.endIndex - 1 { headers.append(("Nats-Batch-Commit", "1")) }
      }
      return headers
    }
  }

  private static let countLimit = 500
  private static let byteLimit = 4_000_000

  private let entries: [[UInt8]]
  private let expected: UInt64
  let deadline: ContinuousClock.Instant
  /// A text that no other call has.
  let identifier = (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
  private var finishedCount = 0
  private var attemptCount = 0
  /// Whether an earlier attempt at the next part may have succeeded, or may yet.
  var isUncertain = false
  /// The time to the next attempt.
  var pause = Duration.milliseconds(5)

  init(entries: [[UInt8]], expected: UInt64, deadline: ContinuousClock.Instant) {
    (self.entries, self.expected, self.deadline) = (entries, expected, deadline)
  }

  var isFinished: Bool { finishedCount == entries.count }
  /// Whether nothing of it can be in the log.
  var isUntried: Bool { finishedCount == 0 && !isUncertain }

  /// The next entries to append: the same ones until they are finished.
  var nextPart: Part {
    mutating get {
      attemptCount += 1
      var (end, byteCount) = (finishedCount, 0)
      while end < entries.count, end - finishedCount < Self.countLimit {
        byteCount += entries[end].count
        if end > finishedCount, byteCount > Self.byteLimit { break }
        end += 1
      }
      return Part(
        entries: entries[finishedCount..<end], expected: expected + UInt64(finishedCount),
        identifier: "\(identifier)-\(attemptCount)", deadline: deadline, byteCount: byteCount)
    }
  }

  mutating func finishPart(_ part: Part) {
    finishedCount = part.entries.endIndex
    (isUncertain, pause) = (false, .milliseconds(5))
  }
}
