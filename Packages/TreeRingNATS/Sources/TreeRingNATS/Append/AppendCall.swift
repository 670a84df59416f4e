// One append: which messages are sent, and what an answer, or none, says about them.
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
//    If it has none yet, another entry is on its way there, and the attempt is repeated; so it is
//    if the leader lacks entries after an earlier attempt that may have succeeded.
// 3. It is refused.
// 4. Anything else. The attempt is repeated: with the same expected number, it succeeds once.
// Each attempt has a subject of its own for its answer. Answers to earlier ones tell nothing about
// it.

internal import TreeRingReplication

/// The servers as an append sees them. Simulations have others.
protocol AppendServers {
  var now: ContinuousClock.Instant { get }
  func sleep(_ duration: Duration)

  /// Makes sure that there is a connection, to servers whose configuration is right.
  func prepare(by deadline: ContinuousClock.Instant) throws(SharedLogError)

  /// Sends a part, and runs a closure that waits for the answer to it.
  func send(
    _ part: AppendPart, _ wait: (any AppendAnswers) throws(AttemptFailure) -> Void
  ) throws(AttemptFailure)

  /// The number of the stream's newest entry, as its leader knows it.
  func last(by deadline: ContinuousClock.Instant) throws(AttemptFailure) -> UInt64

  /// The headers of an entry, as the stream's leader has them.
  func headers(
    of number: UInt64, by deadline: ContinuousClock.Instant
  ) throws(AttemptFailure) -> String
}

/// The answers that come to the inbox of an append, among them late and repeated ones.
protocol AppendAnswers {
  /// The subject of the answer to the attempt.
  var subject: String { get }

  /// The next answer; nil if there is none in that time.
  func next(within limit: Duration) throws(AttemptFailure) -> (subject: String, bytes: [UInt8])?

  /// Throws if no answer can come any more.
  func check() throws(AttemptFailure)
}

/// Entries that are appended together, or not at all.
struct AppendPart {
  var entries: ArraySlice<[UInt8]>
  /// The number before the first of them.
  var expected: UInt64
  /// The identifier of this attempt, which contains that of its call.
  var identifier: String
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

/// An append on its way.
struct AppendCall {
  private let entries: [[UInt8]]
  private let expected: UInt64
  private let deadline: ContinuousClock.Instant
  private let countLimit: Int
  private let byteLimit: Int
  /// A text that no other call has.
  private let identifier: String
  private var finishedCount = 0
  private var attemptCount = 0
  /// Whether an earlier attempt at the next part may have succeeded, or may yet.
  private var isUncertain = false
  /// The time to the next attempt.
  private var pause = Duration.milliseconds(5)

  /// - Parameters:
  ///   - entries: The entries.
  ///   - expected: The number before the first of them.
  ///   - deadline: The moment after which the call gives up.
  ///   - identifier: A text that no other call has.
  ///   - countLimit: The maximum number of entries of a part.
  ///   - byteLimit: Their maximum size in bytes, unless the part is one entry.
  init(
    _ entries: [[UInt8]], after expected: UInt64, by deadline: ContinuousClock.Instant,
    identifier: String, countLimit: Int = 500, byteLimit: Int = 4_000_000
  ) {
    (self.entries, self.expected, self.deadline) = (entries, expected, deadline)
    (self.identifier, self.countLimit, self.byteLimit) = (identifier, countLimit, byteLimit)
  }

  /// A text that no other call has.
  static func newIdentifier() -> String {
    (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
  }

  /// Makes attempts until the outcome is certain, or the deadline has passed.
  mutating func run(over servers: some AppendServers) throws(SharedLogError) -> AppendOutcome {
    while true {
      do throws(SharedLogError) {
        try servers.prepare(by: deadline)
        if let outcome = try advance(over: servers) { return outcome }
      } catch {
        // An earlier part or attempt may be in the log.
        switch error {
        case .refused where finishedCount == 0 && !isUncertain: throw error
        case .refused(let text), .unavailable(let text): return .unknown(text)
        case .trimmed: return .unknown(error.description)
        }
      }
    }
  }

  /// Makes one attempt at the next part.
  /// - Returns: The outcome of the whole append, if it is certain.
  private mutating func advance(
    over servers: some AppendServers
  ) throws(SharedLogError) -> AppendOutcome? {
    let part = nextPart()
    let reason: String
    do throws(AttemptFailure) {
      try attempt(part, over: servers)
      return finish(part)
    } catch {
      if case .answered(let answer) = error, answer.number == APIError.Number.wrongLastSequence {
        do throws(AttemptFailure) {
          return try isFinished(part, over: servers) ? finish(part) : .conflict
        } catch {
          reason = try error.passingReason()
        }
      } else {
        reason = try error.passingReason()
        isUncertain = true
      }
    }
    guard servers.now < deadline else { return .unknown(reason) }
    servers.sleep(min(pause, max(.zero, deadline - servers.now)))
    pause = min(pause * 2, .milliseconds(200))
    return nil
  }

  private struct Acknowledgement: Decodable {
    var seq: UInt64
  }

  /// Sends a part, and returns after its acknowledgement.
  private func attempt(
    _ part: AppendPart, over servers: some AppendServers
  ) throws(AttemptFailure) {
    try servers.send(part) { answers throws(AttemptFailure) in
      let end = min(deadline, servers.now + part.patience)
      while true {
        let rest = max(.zero, end - servers.now)
        if let answer = try answers.next(within: min(rest, .milliseconds(250))) {
          guard answer.subject == answers.subject else { continue }
          let acknowledgement: Acknowledgement = try StreamCalls.decode(answer.bytes)
          let last = part.expected + UInt64(part.entries.count)
          guard acknowledgement.seq == last else {
            throw .passing("the entries up to \(last) became those up to \(acknowledgement.seq)")
          }
          return
        }
        try answers.check()
        if servers.now >= end { throw .passing("no acknowledgement") }
      }
    }
  }

  /// Finds out why the leader expects another number than a part.
  /// - Returns: Whether an earlier attempt at the part succeeded; if not, it is a conflict.
  private func isFinished(
    _ part: AppendPart, over servers: some AppendServers
  ) throws(AttemptFailure) -> Bool {
    let last = try servers.last(by: deadline)
    if last == part.expected {
      throw .passing("another entry after \(last) is on its way, and has no majority yet")
    }
    guard isUncertain else { return false }
    if last < part.expected {
      throw .passing("the stream ends with entry \(last), before entry \(part.expected)")
    }
    return try servers.headers(of: part.expected + 1, by: deadline).contains(identifier)
  }

  /// The next entries to append: the same ones until they are finished.
  private mutating func nextPart() -> AppendPart {
    attemptCount += 1
    var (end, byteCount) = (finishedCount, 0)
    while end < entries.count, end - finishedCount < countLimit {
      byteCount += entries[end].count
      if end > finishedCount, byteCount > byteLimit { break }
      end += 1
    }
    return AppendPart(
      entries: entries[finishedCount..<end], expected: expected + UInt64(finishedCount),
      identifier: "\(identifier)-\(attemptCount)", byteCount: byteCount)
  }

  private mutating func finish(_ part: AppendPart) -> AppendOutcome? {
    finishedCount = part.entries.endIndex
    (isUncertain, pause) = (false, .milliseconds(5))
    return finishedCount == entries.count ? .appended : nil
  }
}
