// The options of a server. The defaults are safe: loopback, a random token, no writes.

/// The options of a server.
public struct ServerOptions: Sendable {
  /// The address to listen at.
  public var address = "127.0.0.1"
  /// The port; 0 for a free one.
  public var port = 8700
  /// The tokens of clients.
  public var tokens = TokenTable()
  /// The file that the tokens are read from again on SIGHUP; nil for none.
  public var tokenFile: String?
  /// The certificate chain and the private key, PEM files; nil serves without TLS.
  public var certificate: (chain: String, key: String)?
  /// The names of this server in Host headers, besides its address; with a port if it is not the
  /// server's own.
  public var hosts: [String] = []
  /// The origins of other pages that may use this server from a browser.
  public var origins: [String] = []
  /// The databases with the protocol of the Firebase Realtime Database; nil serves none.
  public var databases: DatabaseOptions?
  /// Bounds of what clients send.
  public var limits = ServerLimits()
  /// Threads that read and write the store.
  public var threadCount = 4

  /// The usual options.
  public init() {}

  /// Whether only this machine can connect.
  public var isLoopback: Bool {
    // A name such as 127.example.org may have any address.
    address == "localhost" || address == "::1"
      || address.hasPrefix("127.") && address.allSatisfy { $0 == "." || $0.isASCII && $0.isNumber }
  }

  /// Throws unless the options are safe: any address but loopback needs TLS and tokens of a file.
  public func check() throws(ServerError) {
    if !isLoopback, certificate == nil || tokenFile == nil {
      throw ServerError(
        "The address \(address) can be reached from other machines. Give --certificate, --key and "
          + "--tokens, or listen at 127.0.0.1 behind a proxy.")
    }
    if databases?.isEmulator == true, !isLoopback {
      throw ServerError(
        "The emulator of Firebase trusts every client, so it is for 127.0.0.1 alone. Leave out "
          + "--rtdb-emulator.")
    }
    if tokens.isEmpty { throw ServerError("There is no token, so nobody could read anything.") }
  }
}

/// The options of the databases.
public struct DatabaseOptions: Sendable {
  /// Whether the server behaves as Firebase's emulator: the token `owner` is an administrator's,
  /// tokens without signature count, and a database without rules is open. On loopback only.
  public var isEmulator = false
  /// The seconds after which a silent stream gets an event that shows life.
  public var keepAliveSeconds: Int64 = 30
  /// The bytes of a request's body.
  public var bodyByteCount = 16 << 20

  /// The usual options.
  public init() {}
}

/// Bounds of what clients send, and of their connections.
public struct ServerLimits: Sendable {
  /// The bytes of a request's target.
  public var targetByteCount = 8 << 10
  /// The bytes of all names and values of headers.
  public var headerByteCount = 16 << 10
  /// The bytes of a request's body.
  public var bodyByteCount = 8 << 20
  /// The bytes of a message on a WebSocket.
  public var messageByteCount = 64 << 10
  /// The connections of one address.
  public var connectionsPerAddress = 256
  /// All connections.
  public var connections = 20_000
  /// The seconds for the head of a request, from the connection or the last answer on, and for its
  /// body.
  public var requestSeconds: Int64 = 20
  /// The seconds without a message after which a WebSocket must answer a ping, and again before it
  /// is closed.
  public var idleSeconds: Int64 = 30
  /// The seconds that an ending server waits for answers under way.
  public var drainSeconds: Int64 = 5

  /// The usual bounds.
  public init() {}
}

/// A reason why the server does not start.
public struct ServerError: Error, CustomStringConvertible {
  /// A sentence for the person who starts it.
  public let description: String
  init(_ description: String) { self.description = description }
}
