// The checks of every request before anything else: the Host header, against pages that give their
// own name this machine's address (DNS rebinding); the Origin header, against other pages; and the
// token.

internal import NIOConcurrencyHelpers
internal import NIOHTTP1
internal import TreeRingLive

/// The checks of requests.
final class Gate: Sendable {
  private let hosts: Set<String>
  private let origins: Set<String>
  private let scheme: String
  private let tokens: NIOLockedValueBox<TokenTable>

  /// A refusal, as an answer.
  struct Refusal: Error {
    var status: Int
    var code: String
    var message: String

    var answer: LiveAnswer { LiveAnswer(status: status, code: code, message: message) }
  }

  init(_ options: ServerOptions, port: Int) {
    let isTLS = options.certificate != nil
    scheme = isTLS ? "https" : "http"
    var names = options.hosts
    if options.isLoopback { names += ["localhost", "127.0.0.1", "[::1]"] }
    if options.address != "0.0.0.0", options.address != "::" {
      names.append(options.address.contains(":") ? "[\(options.address)]" : options.address)
    }
    var hosts: Set<String> = []
    for name in names.map({ $0.lowercased() }) {
      let hasPort = name.hasPrefix("[") ? name.contains("]:") : name.contains(":")
      if hasPort {
        hosts.insert(name)
      } else {
        hosts.insert("\(name):\(port)")
        // A name that was given may stand before a proxy, which has the usual port.
        if port == (isTLS ? 443 : 80) || options.hosts.contains(name) { hosts.insert(name) }
      }
    }
    self.hosts = hosts
    origins = Set(options.origins.map { $0.lowercased() })
    tokens = NIOLockedValueBox(options.tokens)
  }

  /// Uses other tokens from now on.
  func replaceTokens(_ table: TokenTable) { tokens.withLockedValue { $0 = table } }

  /// Checks the Host and Origin headers.
  ///
  /// - Returns: The origin to name in the answer, if a page of another one may use the server.
  func checkSource(_ headers: HTTPHeaders) throws(Refusal) -> String? {
    let named = headers["host"]
    guard named.count == 1, let host = named.first?.lowercased(), hosts.contains(host) else {
      throw Refusal(
        status: 421, code: "hostRefused", message: "The Host header does not name this server.")
    }
    guard let origin = headers.first(name: "origin")?.lowercased() else { return nil }
    if origins.contains(origin) { return origin }
    // Behind a proxy the page's scheme may differ from this server's.
    guard origin == "\(scheme)://\(host)" || origin == "https://\(host)" else {
      throw Refusal(
        status: 403, code: "originRefused", message: "Pages of this origin may not use the server.")
    }
    return nil
  }

  /// Whether the Host and Origin headers are permitted.
  func permitsSource(_ headers: HTTPHeaders) -> Bool {
    do throws(Refusal) {
      _ = try checkSource(headers)
      return true
    } catch {
      return false
    }
  }

  /// Whether all checks pass.
  func permits(_ headers: HTTPHeaders) -> Bool {
    do throws(Refusal) {
      _ = try checkSource(headers)
      _ = try access(headers)
      return true
    } catch {
      return false
    }
  }

  /// The rights of the request's token.
  func access(_ headers: HTTPHeaders) throws(Refusal) -> LiveAccess {
    if let token = Self.token(headers), let access = access(of: token) { return access }
    throw Refusal(
      status: 401, code: "unauthorized",
      message: "Send a token: Authorization: Bearer TOKEN, or the WebSocket protocol token.TOKEN.")
  }

  /// The rights of a token; nil for an unknown one.
  func access(of token: some StringProtocol) -> LiveAccess? {
    tokens.withLockedValue { $0.access(of: token) }
  }

  /// The token of a request, for a later check; nil if it has none.
  static func credentials(_ headers: HTTPHeaders) -> String? { token(headers).map(String.init) }

  /// Whether a token still has these rights.
  func holds(_ access: LiveAccess, _ token: String?) -> Bool {
    guard let token else { return false }
    return tokens.withLockedValue { $0.access(of: token) } == access
  }

  /// The token of a header. A page cannot set headers of a WebSocket, only its protocols.
  private static func token(_ headers: HTTPHeaders) -> Substring? {
    if let value = headers.first(name: "authorization") {
      let parts = value.split(separator: " ", maxSplits: 1)
      return parts.count == 2 && parts[0].lowercased() == "bearer" ? parts[1] : nil
    }
    for name in headers[canonicalForm: "sec-websocket-protocol"] where name.hasPrefix("token.") {
      return name.dropFirst(6)
    }
    return nil
  }
}
