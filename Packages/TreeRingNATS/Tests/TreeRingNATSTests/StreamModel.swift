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

  private enum Answer {
    case acknowledged(UInt64)
    case wrongLastSequence
  }

  private var random: SplitMix
  private(set) var now = ContinuousClock.now
  private var stream: [Entry] = []
  private var late: [Message] = []
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

  private func happens(_ percent: Int) -> Bool {
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
    for message in due { _ = receive(message.part) }
  }

  /// Appends what another writer does, which always succeeds.
  private func appendRival() {
    rivalCount += 1
    let bytes = withUnsafeBytes(of: rivalCount) { [0xFF] + Array($0) }
    stream.append(Entry(bytes: bytes, identifier: "rival"))
  }

  /// The leader's decision about a message or batch.
  private func receive(_ part: AppendPart) -> Answer {
    // The identifier of a batch is not compared with those of earlier ones.
    if part.entries.count == 1, knowsRepetitions, let number = acknowledged[part.identifier] {
      return .acknowledged(number)
    }
    guard part.expected == UInt64(stream.count) else { return .wrongLastSequence }
    for bytes in part.entries { stream.append(Entry(bytes: bytes, identifier: part.identifier)) }
    acknowledged[part.identifier] = UInt64(stream.count)
    return .acknowledged(UInt64(stream.count))
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

  func attempt(_ part: AppendPart) throws(AttemptFailure) {
    advance(by: .milliseconds(1))
    if happens(15) { appendRival() }
    if happens(5) { throw .refused("the stream is full") }
    if happens(5) { throw .answered(APIError(code: 503, number: 10076)) }
    let arrives = !happens(15)
    let arrivesLate = happens(25)
    if arrives, arrivesLate || happens(15) {
      let delay = Duration.milliseconds(Int.random(in: 0...9_000, using: &random))
      late.append(Message(part: part, arrival: now + delay))
    }
    guard arrives, !arrivesLate else {
      advance(by: part.patience)
      throw .passing("no acknowledgement")
    }
    let answer = receive(part)
    if happens(15) { appendRival() }
    if happens(15) {
      advance(by: part.patience)
      throw .passing("no acknowledgement")
    }
    switch answer {
    case .wrongLastSequence:
      throw .answered(APIError(code: 400, number: APIError.Number.wrongLastSequence))
    case .acknowledged(let number):
      // As the adapter does on a connection.
      if number != part.expected + UInt64(part.entries.count) { throw .passing("another number") }
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
