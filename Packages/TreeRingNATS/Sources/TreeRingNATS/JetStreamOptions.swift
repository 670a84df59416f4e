// The options of a log over JetStream.

public import Logging

/// The options of a `JetStreamLog`.
public struct JetStreamOptions: Sendable {
  /// The proof of identity that a client shows to the servers.
  public enum Credentials: Sendable {
    /// None, or those in the URLs.
    case none
    case password(user: String, password: String)
    case token(String)
    /// A file with a user's JWT and seed.
    case file(String)
  }

  /// The addresses of all servers for clients, such as `nats://a.example:4222`, or `tls://…`.
  public var urls: [String]
  /// The name of the stream, which is also its subject: letters, digits, `_` and `-`.
  public var stream: String
  /// The addresses of all servers for monitoring, such as `http://a.example:8222`, over plain HTTP.
  /// The log asks there for the servers' configuration, before its first call and every minute.
  public var monitorURLs: [String]
  /// The number of servers that keep each entry: 3 or 5.
  public var replicaCount = 3
  /// The proof of identity.
  public var credentials = Credentials.none
  /// The file with the authorities that signed the servers' certificates, as PEM; nil for those of
  /// the system. With a file, or an address `tls://…`, all connections use TLS.
  public var authorityFile: String?
  /// The files with the client's certificate chain and its key, as PEM.
  public var certificateFiles: (chain: String, key: String)?
  /// The maximum size of an entry in bytes. The servers' `max_payload` must exceed it by 1,024.
  public var entryByteLimit = 1_000_000
  /// The maximum size of a new stream in bytes; nil for that of the servers' disks. Appends to a
  /// full one are refused until a trim makes room.
  public var logByteLimit: Int?
  /// Whether configurations that can lose acknowledged entries are allowed: fewer than three
  /// replicas, servers that acknowledge before they sync, no addresses for monitoring. For tests.
  public var allowsUnsafeConfiguration = false
  /// The logger for changes of the connection and for warnings.
  public var logger = Logger(label: "treering.nats")

  /// Creates options.
  public init(urls: [String], stream: String, monitorURLs: [String]) {
    (self.urls, self.stream, self.monitorURLs) = (urls, stream, monitorURLs)
  }
}
