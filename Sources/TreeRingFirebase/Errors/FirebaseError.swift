// The error of everything that comes from a Firebase server or the way to it: a code to branch on,
// a message for people, the location, and the server's own words.

internal import TreeRingHTTP

/// The reason for a failure, its location, and the next step.
///
/// Branch on ``code``; show ``description``. Credentials never occur in an error.
public struct FirebaseError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure. Later versions may add codes, so keep a default branch.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, such as "permissionDenied".
    public let description: String
    init(_ description: String) { self.description = description }

    /// The server could not be reached, or the connection ended early, too often in a row.
    public static let unreachable = Code("unreachable")
    /// The server reports a fault or an overload (429 and 5xx), too often in a row.
    public static let unavailable = Code("unavailable")
    /// The rules forbid the read, or the server refuses the token, also after its renewal.
    public static let permissionDenied = Code("permissionDenied")
    /// The server refuses the request: a missing index, a missing database, a bad query.
    public static let refused = Code("refused")
    /// The server ended the stream, for instance because the rules now forbid the read.
    public static let cancelled = Code("cancelled")
    /// The server sent something that is not the protocol. The children shown stay as they were
    /// before it.
    public static let malformed = Code("malformed")
    /// A redirect cannot be followed: too many of them, no address, or one without encryption.
    public static let badRedirect = Code("badRedirect")
    /// An event or an answer exceeds ``FirebaseOptions/largestMessage``.
    public static let tooLarge = Code("tooLarge")
    /// The REST protocol cannot express the request.
    public static let notSupported = Code("notSupported")
    /// An argument is invalid, such as a key with a slash.
    public static let invalidInput = Code("invalidInput")
  }

  /// The kind of the failure.
  public var code: Code
  /// The failure and the next step, in a sentence or two.
  public var message: String
  /// The location's address, without credentials; nil if there is none.
  public var location: String?
  /// The HTTP status, if the server answered.
  public var status: Int?
  /// The text that the server sent with it, if any.
  public var serverText: String?

  package init(
    _ code: Code, _ message: String, location: String? = nil, status: Int? = nil,
    serverText: String? = nil
  ) {
    self.code = code
    self.message = message
    self.location = location
    self.status = status
    self.serverText = serverText
  }

  /// The message, and in parentheses the server's text, the status and the location.
  public var description: String {
    FailureText.text(message, serverText: serverText, status: status, location: location)
  }

  /// The same error with a location.
  func at(_ location: String) -> FirebaseError {
    var error = self
    error.location = location
    return error
  }
}
