// A model of a stream of JetStream with a network that loses, delays, repeats and reorders messages
// and answers. Time passes only as its callers let it. What the stream has is never in doubt, only
// what a writer learns of it.

import TreeRingReplication

@testable import TreeRingNATS

/// A stream, and the network before it. One thread uses it.
final class StreamModel {
  private struct Entry {
    var bytes: [UInt8]
    var identifier: String
  }

  private struct Message {
    var part: AppendPart
    var arrival: ContinuousClock.Instant
  }

  /// A message to the inbox of an append.
  private struct Answer {
    var subject: String
    var text: String
    var arrival: ContinuousClock.Instant
  }

  private static let wrongLastSequence =
    #"{"error": {"code": 400, "err_code": \#(APIError.Number.wrongLastSequence)}}"#

  private var random: SplitMix
  private(set) var now = ContinuousClock.now
  private var stream: [Entry] = []
  private var late: [Message] = []
  private var answers: [Answer] = []
  private var acknowledged: [String: UInt64] = [:]
  private var rivalCount: UInt32 = 0
  /// Whether the stream answers a message that it has already with its number, as a cluster does.
  /// A server alone answers that it expects another number.
  private let knowsRepetitions: Bool
  /// Faults in percent of the calls: none in a history without faults.
  private let faults: Int

  init(seed: UInt64, faults: Int) {
    random = SplitMix(state: seed)
    self.faults = faults
    knowsRepetitions = Bool.random(using: &random)
  }

  var entries: [[UInt8]] { stream.map(\.bytes) }

  fileprivate func happens(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &random) < percent * faults / 100
  }

  func advance(by duration: Duration) {
    now += duration
    deliverDue()
  }

  /// Delivers everything that is on its way.
  func settle() { while !late.isEmpty { advance(by: .seconds(1)) } }

  /// Delivers the late messages whose time has come, in any order.
  private func deliverDue() {
    var due = late.filter { $0.arrival <= now }
    late.removeAll { $0.arrival <= now }
    due.shuffle(using: &random)
    for message in due { receive(message.part) }
  }

  /// Appends what another writer does, which always succeeds.
  private func appendRival() {
    rivalCount += 1
    let bytes = withUnsafeBytes(of: rivalCount) { [0xFF] + Array($0) }
    stream.append(Entry(bytes: bytes, identifier: "rival"))
  }

  /// The leader's decision about a message or batch, and its answer, which comes soon, late, twice
  /// or never.
  private func receive(_ part: AppendPart) {
    let text = decide(about: part)
    if happens(15) { return }
    for _ in 0..<(happens(15) ? 2 : 1) {
      let delay = happens(15) ? Int.random(in: 0...9_000, using: &random) : 1
      answers.append(
        Answer(subject: part.identifier, text: text, arrival: now + .milliseconds(delay)))
    }
  }

  private func decide(about part: AppendPart) -> String {
    // The identifier of a batch is not compared with those of earlier ones.
    if part.entries.count == 1, knowsRepetitions, let number = acknowledged[part.identifier] {
      return #"{"stream": "log", "seq": \#(number), "duplicate": true}"#
    }
    guard part.expected == UInt64(stream.count) else { return Self.wrongLastSequence }
    for bytes in part.entries { stream.append(Entry(bytes: bytes, identifier: part.identifier)) }
    acknowledged[part.identifier] = UInt64(stream.count)
    return #"{"stream": "log", "seq": \#(stream.count)}"#
  }

  /// The next answer in the inbox, of those that have come in any order. Moves the time on to it.
  fileprivate func nextAnswer(
    within limit: Duration
  ) -> (subject: String, bytes: [UInt8])? {
    let end = now + limit
    while true {
      let present = answers.indices.filter { answers[$0].arrival <= now }
      if let index = present.randomElement(using: &random) {
        let answer = answers.remove(at: index)
        return (answer.subject, Array(answer.text.utf8))
      }
      if now >= end { return nil }
      let next = (answers.map(\.arrival) + late.map(\.arrival)).min() ?? end
      advance(by: min(next, end) - now)
    }
  }
}

extension StreamModel: AppendServers {
  func sleep(_ duration: Duration) { advance(by: max(duration, .milliseconds(1))) }

  func prepare(by deadline: ContinuousClock.Instant) throws(SharedLogError) {
    guard happens(5) else { return }
    advance(by: .milliseconds(Int.random(in: 1...3_000, using: &random)))
    if now > deadline { throw .unavailable("no connection") }
    if happens(10) { throw .refused("a server does not sync") }
  }

  func send(
    _ part: AppendPart, _ wait: (any AppendAnswers) throws(AttemptFailure) -> Void
  ) throws(AttemptFailure) {
    advance(by: .milliseconds(1))
    if happens(15) { appendRival() }
    if happens(5) { throw .refused("the stream is full") }
    if happens(5) { throw .answered(APIError(code: 503, number: 10076)) }
    let arrives = !happens(15)
    let arrivesLate = happens(25)
    // Only what a cluster recognises arrives twice: NATS itself repeats no message.
    let mayArriveTwice = knowsRepetitions && part.entries.count == 1
    if arrives, arrivesLate || (mayArriveTwice && happens(15)) {
      let delay = Duration.milliseconds(Int.random(in: 0...9_000, using: &random))
      late.append(Message(part: part, arrival: now + delay))
    }
    if arrives, !arrivesLate { receive(part) }
    if happens(15) { appendRival() }
    try wait(Inbox(subject: part.identifier, model: self))
  }

  private struct Inbox: AppendAnswers {
    let subject: String
    let model: StreamModel

    func next(
      within limit: Duration
    ) throws(AttemptFailure) -> (subject: String, bytes: [UInt8])? {
      model.nextAnswer(within: limit)
    }

    func check() throws(AttemptFailure) {
      if model.happens(1) { throw .passing("the connection was lost") }
    }
  }

  func last(by deadline: ContinuousClock.Instant) throws(AttemptFailure) -> UInt64 {
    advance(by: .milliseconds(1))
    if happens(10) { throw .passing("no answer") }
    // A leader that was cut off from the others does not know the newest entries.
    let missing = happens(10) ? Int.random(in: 0...3, using: &random) : 0
    return UInt64(max(0, stream.count - missing))
  }

  func headers(
    of number: UInt64, by deadline: ContinuousClock.Instant
  ) throws(AttemptFailure) -> String {
    advance(by: .milliseconds(1))
    if happens(10) { throw .passing("no answer") }
    guard number <= stream.count else {
      throw .answered(APIError(code: 404, number: APIError.Number.messageNotFound))
    }
    return "NATS/1.0\r\nNats-Msg-Id: \(stream[Int(number) - 1].identifier)\r\n\r\n"
  }
}
