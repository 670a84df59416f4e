// The parts that the errors of all servers share: their text, the reason of a lost connection, and
// the meaning of a refusing status.

internal import Foundation

/// The kinds of refusal that a client treats differently.
package enum Refusal: Hashable, Sendable {
  /// 401: the token is missing, wrong or no longer valid.
  case token
  /// 403: what is asked for is forbidden.
  case forbidden
  /// 404: there is no such thing.
  case missing
  /// 408, 429 and 5xx: a later attempt may succeed.
  case unavailable
  /// Every other status: no attempt can succeed.
  case other

  /// The kind of a status that is not 200.
  package init(status: Int) {
    self =
      switch status {
      case 401: .token
      case 403: .forbidden
      case 404: .missing
      case 408, 429, 500...: .unavailable
      default: .other
      }
  }
}

/// The text of errors.
package enum FailureText {
  /// The message, and in parentheses the server's text, the status and the location.
  package static func text(
    _ message: String, serverText: String?, status: Int?, location: String? = nil
  ) -> String {
    var parts: [String] = []
    if let serverText, !serverText.isEmpty { parts.append("the server says “\(serverText)”") }
    if let status { parts.append("status \(status)") }
    if let location { parts.append(location) }
    return parts.isEmpty ? message : "\(message) (\(parts.joined(separator: ", ")))"
  }

  /// The reason of a lost connection. The description of a system's error may contain the address,
  /// and that a credential.
  package static func reason(_ error: any Error) -> String {
    if let error = error as? ConnectionLost { return error.reason }
    let error = error as NSError
    let code = "\(error.domain) \(error.code)"
    guard let text = error.userInfo[NSLocalizedDescriptionKey] as? String else { return code }
    return "\(text), \(code)"
  }
}
