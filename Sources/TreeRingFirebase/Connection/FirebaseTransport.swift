// The way to a server: HTTP requests whose answers arrive in pieces. A transport follows no
// redirects, because credentials must follow too; the layer above does it.

public import Foundation

/// A request with the method GET.
public struct FirebaseRequest: Hashable, Sendable {
  /// The address, which may contain a credential.
  public let url: URL
  /// The headers by name.
  public let headers: [String: String]
  /// The time without a byte from the server after which the answer fails.
  public let silence: Duration

  /// A request, as a source would send it.
  public init(url: URL, headers: [String: String], silence: Duration) {
    self.url = url
    self.headers = headers
    self.silence = silence
  }
}

/// A piece of an answer.
public enum FirebaseAnswer: Hashable, Sendable {
  /// The status and the headers, by name in lower case. It comes first, and once.
  case head(status: Int, headers: [String: String])
  /// Bytes of the body, decoded from any transfer encoding.
  case bytes([UInt8])
}

/// The sender of requests. The standard one is Foundation's URL session.
///
/// On Linux, the URL session of Foundation ends the process if a server closes a connection within
/// the head of its answer. So addresses that begin with `http:` are read from plain sockets there.
/// For `https:`, an app on Linux that needs more can set ``FirebaseOptions/transport`` to one over
/// another HTTP client.
public protocol FirebaseTransport: Sendable {
  /// Sends a request and returns at once. The stream ends with the answer, or throws if the
  /// connection is lost before. Redirects are answers. When its iteration ends, the connection
  /// closes.
  func send(_ request: FirebaseRequest) -> AsyncThrowingStream<FirebaseAnswer, any Error>
}

typealias Answer = AsyncThrowingStream<FirebaseAnswer, any Error>

/// The standard transport: of the system's URL session, or of plain sockets.
final class StandardTransport: FirebaseTransport {
  private let session = SessionTransport()

  func send(_ request: FirebaseRequest) -> Answer {
    #if canImport(FoundationNetworking)
      if request.url.scheme?.lowercased() == "http" { return SocketTransport().send(request) }
    #endif
    return session.send(request)
  }
}
