// The way to a server: HTTP requests whose answers arrive in pieces. A transport follows no
// redirects, because credentials must follow too; the layer above does it.

public import Foundation

/// A request of HTTP.
public struct HTTPRequest: Hashable, Sendable {
  /// The method, in capitals.
  public let method: String
  /// The address, which may contain a credential.
  public let url: URL
  /// The headers by name.
  public let headers: [String: String]
  /// The body; nil for none.
  public let body: [UInt8]?
  /// The time without a byte from the server after which the answer fails.
  public let silence: Duration

  /// A request; with a body, the method is usually POST.
  public init(
    method: String = "GET", url: URL, headers: [String: String], body: [UInt8]? = nil,
    silence: Duration
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.silence = silence
  }
}

/// A piece of an answer.
public enum HTTPAnswer: Hashable, Sendable {
  /// The status and the headers, by name in lower case. It comes first, and once.
  case head(status: Int, headers: [String: String])
  /// Bytes of the body, decoded from any transfer encoding.
  case bytes([UInt8])
}

/// The sender of requests. The standard one is Foundation's URL session.
///
/// On Linux, the URL session of Foundation ends the process if a server closes a connection within
/// the head of its answer. So addresses that begin with `http:` are read from plain sockets there.
/// For `https:`, an app on Linux that needs more uses another transport, such as that over
/// AsyncHTTPClient of the package TreeRingHTTPClient (Packages).
public protocol HTTPTransport: Sendable {
  /// Sends a request and returns at once. The stream ends with the answer, or throws if the
  /// connection is lost before. Redirects are answers. When its iteration ends, the connection
  /// closes.
  func send(_ request: HTTPRequest) -> AsyncThrowingStream<HTTPAnswer, any Error>
}

package typealias AnswerStream = AsyncThrowingStream<HTTPAnswer, any Error>

/// The standard transport: of the system's URL session, or of plain sockets.
package final class StandardTransport: HTTPTransport {
  private let session: SessionTransport

  /// - Parameter limit: The most bytes of an answer that wait for its reader. A smaller one than
  ///   that of plain sockets counts as theirs: the session passes on larger pieces than some
  ///   messages.
  package init(limit: Int) { session = SessionTransport(limit: max(limit, AnswerPipe.limit)) }

  package func send(_ request: HTTPRequest) -> AnswerStream {
    #if canImport(FoundationNetworking)
      if request.url.scheme?.lowercased() == "http" { return SocketTransport().send(request) }
    #endif
    return session.send(request)
  }
}
