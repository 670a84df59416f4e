// The options of a remote window: its token, its patience, its limits.

public import TreeRingHTTP

/// The reason for which a token is requested.
public enum RemoteTokenRequest: Hashable, Sendable {
  /// The window has no token yet.
  case first
  /// The server refused the last token: it is wrong, or was withdrawn.
  case refused
}

/// The options of ``RemoteMappings``, all with defaults.
public struct RemoteOptions: Sendable {
  /// Returns a token. Called before the first request, and again when the server refuses the token.
  /// Without it, the token in the address's fragment is sent, as the server prints it.
  public var token: (@Sendable (RemoteTokenRequest) async throws -> String?)?
  /// The wait after a first failed attempt. Each further failure doubles it; a random part of up to
  /// half is subtracted.
  public var firstDelay: Duration
  /// The longest wait between two attempts.
  public var longestDelay: Duration
  /// The failed attempts in a row after which the window closes; nil for none: it waits until the
  /// server can be reached.
  public var attempts: Int?
  /// The time without a byte from the server after which a connection counts as lost. The server
  /// sends a sign of life every fifteen seconds.
  public var silence: Duration
  /// The largest message, in bytes. Over URLSession, also the most bytes that wait for a slow
  /// window; beyond it the window connects again.
  public var largestMessage: Int
  /// The most operations of a change; a larger one is a reset.
  public var changeLimit: Int
  /// The clock that measures the waits between attempts.
  public var clock: any Clock<Duration>
  /// The sender of requests; nil for the system's.
  public var transport: (any HTTPTransport)?

  /// Options; every parameter has a default.
  public init(
    token: (@Sendable (RemoteTokenRequest) async throws -> String?)? = nil,
    firstDelay: Duration = .milliseconds(250), longestDelay: Duration = .seconds(10),
    attempts: Int? = nil, silence: Duration = .seconds(45), largestMessage: Int = 64 << 20,
    changeLimit: Int = 500, clock: any Clock<Duration> = ContinuousClock(),
    transport: (any HTTPTransport)? = nil
  ) {
    self.token = token
    self.firstDelay = firstDelay
    self.longestDelay = longestDelay
    self.attempts = attempts
    self.silence = silence
    self.largestMessage = largestMessage
    self.changeLimit = changeLimit
    self.clock = clock
    self.transport = transport
  }
}
