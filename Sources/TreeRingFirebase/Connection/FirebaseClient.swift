// One request to a location: its token, its redirects, and the meaning of its status.

internal import Foundation
internal import TreeRingHTTP

/// A failed attempt, and the remedy.
struct FailedAttempt: Error {
  enum Remedy {
    /// A later attempt may succeed.
    case wait
    /// An attempt with another token may succeed; the number of the refused token.
    case renewToken(Int, FirebaseTokenRequest)
    /// No attempt can succeed.
    case none
  }
  let error: any Error
  let remedy: Remedy
}

/// The start of an answer with the status 200; the rest is still to be read.
struct OpenAnswer {
  var pieces: Answer.Iterator
  /// The number of the token that the request had.
  let token: Int
}

/// The sender of requests to one location.
struct FirebaseClient: Sendable {
  let address: FirebaseAddress
  let options: FirebaseOptions
  let transport: any FirebaseTransport
  let tokens: TokenKeeper

  private static let mostRedirects = 5
  /// The most bytes of an error's text that are read.
  private static let longestErrorText = 1 << 16

  init(_ address: FirebaseAddress, _ options: FirebaseOptions) {
    self.address = address
    self.options = options
    transport = options.transport ?? StandardTransport(limit: options.largestMessage)
    tokens = TokenKeeper(options.token)
  }

  /// Sends a request and returns its answer once the status is 200.
  /// - Throws: A `FailedAttempt`, or the error of the token's provider in one.
  func open(_ parameters: [RequestParameter], accept: String) async throws -> OpenAnswer {
    let token: TokenKeeper.Numbered
    do {
      token = try await tokens.token()
    } catch {
      throw FailedAttempt(error: error, remedy: .none)
    }
    var credential: [RequestParameter] = []
    if case .idToken(let text) = token.token {
      credential = [RequestParameter(name: "auth", value: text)]
    }
    guard var url = address.url(parameters + credential) else {
      throw failure(.none, .invalidInput, "The query cannot be part of an address.")
    }
    for _ in 0...Self.mostRedirects {
      var fields = ["Accept": accept]
      if case .accessToken(let text) = token.token { fields["Authorization"] = "Bearer \(text)" }
      let request = FirebaseRequest(url: url, headers: fields, silence: options.silence)
      var pieces = transport.send(request).makeAsyncIterator()
      guard case .head(let status, let headers) = try await next(&pieces) else {
        throw failure(.wait, .unreachable, "The server closed the connection without an answer.")
      }
      switch status {
      case 200:
        try check(headers["content-type"], accept)
        return OpenAnswer(pieces: pieces, token: token.number)
      case 301, 302, 307, 308:
        do {
          url = try address.redirect(from: url, to: headers["location"], credential)
        } catch {
          throw FailedAttempt(error: error.at(address.location), remedy: .none)
        }
      default:
        let text = try await errorText(&pieces)
        throw refusal(status, text, token: token.number)
      }
    }
    throw failure(
      .none, .badRedirect, "The server redirected more than \(Self.mostRedirects) times in a row.")
  }

  /// The next piece of an answer; nil at its end.
  /// - Throws: A `FailedAttempt` if the connection is lost.
  func next(_ pieces: inout Answer.Iterator) async throws -> FirebaseAnswer? {
    do {
      return try await pieces.next()
    } catch {
      throw failure(
        .wait, .unreachable,
        "The connection to the server was lost: \(FailureText.reason(error)). Check the network.")
    }
  }

  /// Reads the node of an answer to its end.
  func node(_ answer: OpenAnswer) async throws -> FirebaseNode {
    var answer = answer
    var bytes: [UInt8] = []
    while let piece = try await next(&answer.pieces) {
      guard case .bytes(let more) = piece else { continue }
      bytes += more
      if bytes.count > options.largestMessage {
        throw failure(
          .none, .tooLarge,
          "The answer is larger than \(options.largestMessage) bytes. Read smaller pages, or "
            + "raise FirebaseOptions.largestMessage.")
      }
    }
    do {
      return try FirebaseNode(json: bytes)
    } catch {
      throw FailedAttempt(error: error.at(address.location), remedy: .none)
    }
  }

  private func check(_ contentType: String?, _ accept: String) throws {
    let type = contentType?.split(separator: ";").first.map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    if type?.lowercased() == accept { return }
    throw failure(
      .none, .malformed,
      "The server answers with \(contentType ?? "no content type") instead of \(accept). Check "
        + "that the address is one of a Firebase database.")
  }

  /// The text of an error's body: of its member “error”, or all of it.
  private func errorText(_ pieces: inout Answer.Iterator) async throws -> String {
    var bytes: [UInt8] = []
    while bytes.count < Self.longestErrorText, let piece = try await next(&pieces) {
      if case .bytes(let more) = piece { bytes += more }
    }
    if let node = try? FirebaseNode(json: bytes), let text = node["error"].text { return text }
    return String(decoding: bytes.prefix(1000), as: UTF8.self)
  }

  private func refusal(_ status: Int, _ text: String, token: Int) -> FailedAttempt {
    let (remedy, code, message): (FailedAttempt.Remedy, FirebaseError.Code, String)
    switch Refusal(status: status) {
    case .token:
      (remedy, code, message) = (
        tokens.canRenew ? .renewToken(token, .rejected) : .none, .permissionDenied,
        "The server forbids the read. Check the rules and the token."
      )
    case .forbidden:
      (remedy, code, message) = (
        .none, .permissionDenied, "The server forbids the read. Check the address and the rules."
      )
    case .missing:
      (remedy, code, message) = (.none, .refused, "There is no such database. Check the address.")
    case .unavailable:
      (remedy, code, message) = (
        .wait, .unavailable, "The server cannot answer at present. Try again later."
      )
    case .other:
      (remedy, code, message) = (
        .none, .refused, "The server refuses the request. Check the query and the rules' indexes."
      )
    }
    return FailedAttempt(
      error: FirebaseError(
        code, message, location: address.location, status: status, serverText: text),
      remedy: remedy)
  }

  /// A failed attempt at this location.
  func failure(
    _ remedy: FailedAttempt.Remedy, _ code: FirebaseError.Code, _ message: String
  ) -> FailedAttempt {
    FailedAttempt(
      error: FirebaseError(code, message, location: address.location), remedy: remedy)
  }
}
