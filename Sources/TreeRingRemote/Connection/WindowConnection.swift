// One request to a server: the meaning of its status, and the messages of its answer.

internal import Foundation
internal import TreeRingHTTP
internal import TreeRingLog

/// A failed request, and whether a later one may succeed.
struct FailedRequest: Error {
  enum Remedy { case none, wait, renewToken }
  let error: RemoteError
  let remedy: Remedy
}

/// The requests of a window to its server.
struct WindowConnection: Sendable {
  let url: URL
  let options: RemoteOptions
  let transport: any HTTPTransport

  /// The most bytes of an error's text that are read.
  private static let longestErrorText = 1 << 16

  /// Sends a request and passes its messages on, until `receive` returns false, the task is
  /// cancelled or the connection ends.
  ///
  /// - Throws: A `FailedRequest`, or the error of `receive`.
  func run(
    _ body: [UInt8], token: String?, _ receive: ([UInt8]) throws -> Bool
  ) async throws {
    var headers = ["Accept": "text/event-stream", "Content-Type": "application/json"]
    if let token { headers["Authorization"] = "Bearer \(token)" }
    let request = HTTPRequest(
      method: "POST", url: url, headers: headers, body: body, silence: options.silence)
    var pieces = transport.send(request).makeAsyncIterator()
    guard case .head(let status, let answered)? = try await next(&pieces) else {
      throw lost("The server closed the connection without an answer.")
    }
    guard status == 200 else { throw await refusal(status, &pieces) }
    let type = answered["content-type"]?.prefix { $0 != ";" }
    guard type?.lowercased() == "text/event-stream" else {
      throw FailedRequest(
        error: RemoteError(
          .malformed,
          "The server answers with \(answered["content-type"] ?? "no type") instead of a stream of "
            + "events. Check that the address is one of a TreeRing server."),
        remedy: .none)
    }
    var parser = EventStreamParser(limit: options.largestMessage)
    while let piece = try await next(&pieces) {
      guard case .bytes(let bytes) = piece else { continue }
      for event in try events(&parser, bytes) {
        if Task.isCancelled { return }
        guard try receive(event.data) else { return }
      }
    }
    if !Task.isCancelled { throw lost("The server closed the connection.") }
  }

  private func next(_ pieces: inout AnswerStream.Iterator) async throws -> HTTPAnswer? {
    do {
      return try await pieces.next()
    } catch {
      throw lost(
        "The connection to the server was lost: \(FailureText.reason(error)). Check the network.")
    }
  }

  private func lost(_ sentence: String) -> FailedRequest { .lost(sentence) }

  private func events(
    _ parser: inout EventStreamParser, _ bytes: [UInt8]
  ) throws -> [ServerEvent] {
    do throws(EventStreamFlaw) {
      return try parser.take(bytes)
    } catch {
      let found: RemoteError =
        switch error {
        case .malformed(let sentence): .malformed(sentence)
        case .tooLarge(let limit):
          RemoteError(
            .tooLarge,
            "A message is larger than \(limit) bytes. Show fewer fields, or raise "
              + "RemoteOptions.largestMessage.")
        }
      throw FailedRequest(error: found, remedy: .none)
    }
  }

  private func refusal(
    _ status: Int, _ pieces: inout AnswerStream.Iterator
  ) async -> FailedRequest {
    var bytes: [UInt8] = []
    while bytes.count < Self.longestErrorText, let piece = try? await pieces.next() {
      if case .bytes(let more) = piece { bytes += more }
    }
    return .refused(status, bytes)
  }
}

extension FailedRequest {
  /// The failure of a connection.
  static func lost(_ sentence: String) -> FailedRequest {
    FailedRequest(error: RemoteError(.unreachable, sentence), remedy: .wait)
  }

  /// A refusal with its body.
  static func refused(_ status: Int, _ bytes: [UInt8]) -> FailedRequest {
    let text = message(of: bytes)
    let (remedy, code, sentence): (FailedRequest.Remedy, RemoteError.Code, String) =
      switch Refusal(status: status) {
      case .token: (.renewToken, .tokenRefused, "The server refuses the token.")
      case .forbidden: (.none, .notAllowed, "The server forbids the request.")
      case .unavailable: (.wait, .unavailable, "The server cannot answer at present.")
      case .missing, .other:
        (
          .none, .refused,
          "The server refuses the request. Check that the address is one of a TreeRing server."
        )
      }
    return FailedRequest(
      error: RemoteError(code, sentence, status: status, serverText: text), remedy: remedy)
  }

  /// The message of an error object, or the text itself.
  private static func message(of bytes: [UInt8]) -> String {
    let found = bytes.withUnsafeBytes { bytes in
      try? JSONPart(bytes).members()["error"]?.members()["message"]?.string()
    }
    return found ?? String(decoding: bytes.prefix(200), as: UTF8.self)
  }
}
