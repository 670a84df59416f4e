// The options of a source: its token, its patience, its limits.

public import TreeRingHTTP

/// A credential.
public enum FirebaseToken: Hashable, Sendable, CustomStringConvertible {
  /// An ID token of Firebase Authentication, or a database secret: sent as the parameter `auth`.
  case idToken(String)
  /// An OAuth 2.0 access token: sent in the header `Authorization`. The emulator takes "owner".
  case accessToken(String)

  /// The kind of the token, without the token.
  public var description: String {
    switch self {
    case .idToken: "an ID token"
    case .accessToken: "an access token"
    }
  }
}

/// The reason for which a token is requested.
public enum FirebaseTokenRequest: Hashable, Sendable {
  /// The source has no token yet.
  case first
  /// The server refused the last token with the status 401: it is expired or wrong.
  case rejected
  /// The server ended a stream because its token is no longer valid.
  case revoked
}

/// The options of a ``FirebaseSource``, all with defaults.
public struct FirebaseOptions: Sendable {
  /// Returns a token; nil reads without one. Called before the first request, and again when the
  /// server refuses the token. An error that it throws ends the page or listener.
  public var token: (@Sendable (FirebaseTokenRequest) async throws -> FirebaseToken?)?
  /// The wait after a first failed attempt. Each further failure doubles it; a random part of up to
  /// half is subtracted.
  public var firstDelay: Duration
  /// The longest wait between two attempts.
  public var longestDelay: Duration
  /// The failed attempts in a row after which a listener ends; nil for none: it waits until the
  /// server can be reached.
  public var listenAttempts: Int?
  /// The failed attempts in a row after which a page ends.
  public var pageAttempts: Int
  /// The time without a byte from the server after which a connection counts as lost. The server
  /// sends a sign of life every thirty seconds or so.
  public var silence: Duration
  /// The largest event or answer, in bytes. Over URLSession, also the most bytes that wait for a
  /// slow listener; beyond it the listener connects again.
  public var largestMessage: Int
  /// The clock that measures the waits between attempts.
  public var clock: any Clock<Duration>
  /// The sender of requests; nil for the system's.
  public var transport: (any FirebaseTransport)?

  /// Options; every parameter has a default.
  public init(
    token: (@Sendable (FirebaseTokenRequest) async throws -> FirebaseToken?)? = nil,
    firstDelay: Duration = .milliseconds(500), longestDelay: Duration = .seconds(60),
    listenAttempts: Int? = nil, pageAttempts: Int = 4, silence: Duration = .seconds(90),
    largestMessage: Int = 256 << 20, clock: any Clock<Duration> = ContinuousClock(),
    transport: (any FirebaseTransport)? = nil
  ) {
    precondition(pageAttempts > 0, "a page needs at least one attempt")
    self.token = token
    self.firstDelay = firstDelay
    self.longestDelay = longestDelay
    self.listenAttempts = listenAttempts
    self.pageAttempts = pageAttempts
    self.silence = silence
    self.largestMessage = largestMessage
    self.clock = clock
    self.transport = transport
  }

  /// The wait after some failed attempts in a row.
  ///
  /// - Parameter jitter: A random number from 0 to 1.
  func delay(afterFailures count: Int, jitter: Double) -> Duration {
    Backoff(first: firstDelay, longest: longestDelay).delay(afterFailures: count, jitter: jitter)
  }
}
