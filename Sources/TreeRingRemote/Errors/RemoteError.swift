// The error of everything that comes from a TreeRing server or the way to it.

internal import TreeRingHTTP

/// The reason for a failure, and the next step.
///
/// Branch on ``code``; show ``description``. Tokens never occur in an error.
public struct RemoteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure. Later versions may add codes, so keep a default branch.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, such as "tokenRefused".
    public let description: String
    init(_ description: String) { self.description = description }

    /// The server could not be reached, or the connection ended. The window tries again.
    public static let unreachable = Code("unreachable")
    /// The server cannot answer at present (429, 5xx). The window tries again.
    public static let unavailable = Code("unavailable")
    /// The server refuses the token, also after its renewal, or there is no token.
    public static let tokenRefused = Code("tokenRefused")
    /// The token does not allow the index.
    public static let notAllowed = Code("notAllowed")
    /// There is no such index, or it was removed; for a moment: no such commit or tag.
    public static let notFound = Code("notFound")
    /// Compaction has dropped the moment asked for.
    public static let beyondHorizon = Code("beyondHorizon")
    /// The server refuses the request for another reason.
    public static let refused = Code("refused")
    /// The server sent something that is not the protocol. The rows shown stay as they were.
    public static let malformed = Code("malformed")
    /// A message exceeds ``RemoteOptions/largestMessage``, or the window the server's bounds.
    public static let tooLarge = Code("tooLarge")
    /// A part of a base is another one than its server stated, again and again: it changes on the
    /// way, or the server's disk returns different bytes each time.
    public static let damaged = Code("damaged")
    /// An argument is invalid, such as an address that is none.
    public static let invalidInput = Code("invalidInput")
    /// A server cannot evaluate the request, such as groups that a closure chooses.
    public static let notSupported = Code("notSupported")
    /// The window has been closed.
    public static let closed = Code("closed")
  }

  /// The kind of the failure.
  public var code: Code
  /// The failure and the next step, in a sentence or two.
  public var message: String
  /// The HTTP status, if the server answered with one.
  public var status: Int?
  /// The text that the server sent with it, if any.
  public var serverText: String?

  init(_ code: Code, _ message: String, status: Int? = nil, serverText: String? = nil) {
    self.code = code
    self.message = message
    self.status = status
    self.serverText = serverText
  }

  /// The message, and in parentheses the server's text and the status.
  public var description: String {
    FailureText.text(message, serverText: serverText, status: status)
  }

  static func malformed(_ sentence: String) -> RemoteError {
    RemoteError(.malformed, "A message of the server is no live window's: \(sentence)")
  }
}
