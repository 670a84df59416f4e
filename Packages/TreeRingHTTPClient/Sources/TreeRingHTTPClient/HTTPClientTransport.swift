// A transport over AsyncHTTPClient, which needs no URLSession.

internal import AsyncHTTPClient
internal import NIOCore
public import NIOSSL
internal import Synchronization
public import TreeRingRemote

/// Sends the requests of remote windows and of Firebase sources through AsyncHTTPClient. It is a
/// value for `RemoteOptions.transport` and `FirebaseOptions.transport`.
///
/// Unlike Foundation's URL session on Linux, it survives servers that end a connection at any byte,
/// trusts further authorities if a TLS configuration names them, and lets a server wait for a slow
/// reader: of each answer, little more than one read of the socket is in memory.
///
/// One transport serves any number of windows and sources. A request has a connection of its own
/// while its answer lasts. Connections close some time after their last use.
public final class HTTPClientTransport: HTTPTransport {
  private let tls: TLSConfiguration?
  /// The clients by the longest silence of their requests, which is a setting of a client.
  private let clients = Mutex<[Duration: HTTPClient]>([:])

  /// A transport.
  /// - Parameter tls: The authorities to trust, the client's certificate and further settings of
  ///   TLS; nil for those of the system.
  public init(tls: TLSConfiguration? = nil) { self.tls = tls }

  deinit {
    // Answers that last keep the transport alive. Nothing depends on how idle connections end.
    for client in clients.withLock({ Array($0.values) }) { client.shutdown { _ in } }
  }

  /// Sends a request when the reader asks for the first piece of its answer.
  ///
  /// The stream throws AsyncHTTPClient's errors: a connection that is lost, an authority that is
  /// not trusted, a silence that is too long. A reader that takes nothing for that long is silence
  /// too.
  public func send(_ request: HTTPRequest) -> AsyncThrowingStream<HTTPAnswer, any Error> {
    let answer = Answer(of: request, by: client(for: request.silence), of: self)
    return AsyncThrowingStream { try await answer.next() }
  }

  private func client(for silence: Duration) -> HTTPClient {
    clients.withLock { clients in
      if let client = clients[silence] { return client }
      let client = HTTPClient(
        eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration(silence))
      clients[silence] = client
      return client
    }
  }

  private func configuration(_ silence: Duration) -> HTTPClient.Configuration {
    let limit = TimeAmount(silence)
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: .init(connect: limit, read: limit))
    configuration.httpVersion = .http1Only
    // Answers last as long as a window; no request may wait for the end of another one.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = .max
    // Windows and sources try again themselves.
    configuration.connectionPool.retryConnectionEstablishment = false
    return configuration
  }
}
