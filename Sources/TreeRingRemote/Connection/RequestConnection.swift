// Requests that each have one answer: each is repeated until it succeeds, or no attempt can.

internal import Foundation
internal import TreeRingHTTP

/// The requests to a server, one after the other.
struct RequestConnection: Sendable {
  private let address: LiveAddress
  private let options: RemoteOptions
  private let transport: any HTTPTransport
  private var token: String?
  private var needsToken: Bool

  /// The most bytes of an answer: those of a piece, or a manifest of some terabytes.
  private static let answerLimit = 64 << 20

  /// The time for the beginning of a base: the server reads its whole log before it answers.
  private static let beginning = Duration.seconds(600)

  /// - Parameter path: The path below which all requests are.
  init(_ server: URL, path: String, _ options: RemoteOptions) throws(RemoteError) {
    address = try LiveAddress(server, path: path)
    self.options = options
    transport = options.transport ?? StandardTransport(limit: Self.answerLimit)
    token = address.token
    needsToken = options.token != nil
  }

  /// The checked body of an answer.
  ///
  /// - Parameters:
  ///   - path: The path below that of the connection, with its query and its escapes.
  ///   - attempts: The attempts in a row; nil for as many as the options allow.
  ///   - check: Makes the result of the body; a `RemoteError` it throws counts as a failed attempt.
  mutating func ask<Value: Sendable>(
    _ method: String, _ path: String = "", attempts: Int? = nil,
    check: ([UInt8]) throws(RemoteError) -> Value
  ) async throws -> Value {
    let backoff = Backoff(first: options.firstDelay, longest: options.longestDelay)
    var (failures, damages, renewals) = (0, 0, 0)
    while true {
      try Task.checkCancellation()
      if needsToken {
        do {
          token = try await options.token?(renewals == 0 ? .first : .refused)
        } catch {
          throw RemoteError(.tokenRefused, "There is no token for the server: \(error)")
        }
        needsToken = false
      }
      do {
        let body = try await send(method, path)
        do throws(RemoteError) {
          return try check(body)
        } catch {
          damages += 1
          if damages > 3 { throw FailedRequest(error: error, remedy: .none) }
          throw FailedRequest(error: error, remedy: .wait)
        }
      } catch let failure as FailedRequest {
        try Task.checkCancellation()
        switch failure.remedy {
        case .none: throw failure.error
        case .renewToken:
          renewals += 1
          if options.token == nil || renewals > 1 { throw failure.error }
          needsToken = true
        case .wait:
          failures += 1
          if let most = attempts ?? options.attempts, failures >= most { throw failure.error }
          try await options.clock.sleep(
            for: backoff.delay(afterFailures: failures, jitter: .random(in: 0...1)))
        }
      }
    }
  }

  private func send(_ method: String, _ path: String) async throws -> [UInt8] {
    guard let url = URL(string: address.url.absoluteString + path) else {
      throw RemoteError(.invalidInput, "The address has no path \(path).")
    }
    var headers = ["Content-Type": "application/json"]
    if let token { headers["Authorization"] = "Bearer \(token)" }
    let begins = method == "POST"
    let request = HTTPRequest(
      method: method, url: url, headers: headers, body: begins ? Array("{}".utf8) : nil,
      silence: begins ? max(options.silence, Self.beginning) : options.silence)
    var status: Int?
    var length: Int?
    var body: [UInt8] = []
    do {
      for try await piece in transport.send(request) {
        switch piece {
        case .head(let found, let headers):
          status = found
          length = headers["content-length"].flatMap { Int($0) }
        case .bytes(let bytes):
          body += bytes
          if body.count > Self.answerLimit { throw Self.tooLarge }
        }
      }
    } catch let error as FailedRequest {
      throw error
    } catch {
      throw FailedRequest.lost(
        "The connection to the server was lost: \(FailureText.reason(error)). Check the network.")
    }
    guard let status, length == nil || length == body.count else {
      throw FailedRequest.lost("The server closed the connection within its answer.")
    }
    guard status == 200 else { throw FailedRequest.refused(status, Array(body.prefix(1 << 16))) }
    return body
  }

  private static var tooLarge: FailedRequest {
    FailedRequest(
      error: RemoteError(.tooLarge, "The server's answer has more than \(answerLimit) bytes."),
      remedy: .none)
  }
}
