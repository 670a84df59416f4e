// The failures of the client library and of JetStream, and the decision which of them pass.

internal import CNATS
internal import TreeRingReplication

/// A failure of one attempt at a call.
enum AttemptFailure: Error {
  /// It may pass: a lost connection, an election, silence.
  case passing(String)
  /// It does not pass by itself.
  case refused(String)
  /// JetStream answered with an error of a kind that its caller knows.
  case answered(APIError)

  /// The reason of a failure that may pass.
  /// - Throws: `refused` for others.
  func passingReason() throws(SharedLogError) -> String {
    switch self {
    case .passing(let text): return text
    case .refused(let text): throw .refused(text)
    case .answered(let error): return try error.failure.passingReason()
    }
  }
}

/// An error in an answer of JetStream.
struct APIError: Decodable, Sendable {
  /// A code like those of HTTP.
  var code: Int
  /// The exact code.
  var number: Int?
  var description: String?

  enum CodingKeys: String, CodingKey {
    case code
    case number = "err_code"
    case description
  }

  /// The codes that a caller treats by itself.
  enum Number {
    static let messageNotFound = 10037
    static let streamNotFound = 10059
    static let wrongLastSequence = 10071
  }

  /// Full disks and limits, which the server reports as passing failures.
  private static let full: Set<Int> = [10002, 10023, 10028, 10047, 10077, 10122]
  /// JetStream off for the account, a configuration that cannot be, more replicas than servers.
  private static let lasting: Set<Int> = [10039, 10052, 10074]
  /// Too few servers, a stream that a server does not know yet, a batch that lost a message, too
  /// many batches, an identifier in process.
  private static let passing: Set<Int> = [10005, 10037, 10058, 10059, 10158, 10176, 10210, 10211]

  var text: String { "\(description ?? "error \(code)") (\(number ?? code))" }

  /// The error as a failure of a call that does not know its number.
  var failure: AttemptFailure {
    let number = number ?? 0
    if Self.full.contains(number) {
      return .refused("\(text). Trim the log, or give JetStream or the stream more room.")
    }
    let isPassing = code >= 500 || [408, 429].contains(code) || Self.passing.contains(number)
    return isPassing && !Self.lasting.contains(number) ? .passing(text) : .refused(text)
  }
}

extension natsStatus {
  var text: String { String(cString: natsStatus_GetText(self)) }

  /// The last error of the library on this thread, which has more details.
  var details: String {
    let details = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
    return details.isEmpty ? text : "\(text): \(details)"
  }
}

extension Duration {
  /// Milliseconds for the library: none if negative, at least one if positive.
  var milliseconds: Int64 {
    guard self > .zero else { return 0 }
    return Int64(min(self, .seconds(1 << 20)) / .milliseconds(1)) + 1
  }
}

extension ContinuousClock.Instant {
  /// The time until this instant; none after it.
  var rest: Duration { max(.zero, self - .now) }
}
