// The rights of a request: those of a token of the server, which stand above the rules, or those
// that the rules give.

internal import Foundation
internal import TreeRingFirebase
public import TreeRingLive

/// The options of a database service.
public struct RealtimeOptions: Sendable {
  /// Whether the service behaves as Firebase's emulator: the token `owner` is an administrator's,
  /// tokens without signature count, and a database without rules is open. Only for loopback.
  public var isEmulator = false
  /// The rights of a server's token; nil for an unknown one.
  public var tokens: @Sendable (String) -> LiveAccess? = { _ in nil }
  /// The most bytes of a request's body.
  public var bodyByteCount = 16 << 20
  /// The most bytes of values that an answer or an event reads.
  public var responseByteCount = 256 << 20

  /// The usual options.
  public init() {}
}

/// A client, as far as rights are concerned.
enum Principal: Sendable {
  /// A token of the server: the rules do not concern it.
  case service(LiveAccess.Role)
  /// The rules decide, with this value of `auth`; null without a token.
  case user(JSONValue)

  var isAdministrator: Bool {
    if case .service(.admin) = self { true } else { false }
  }
}

/// Reads credentials.
struct Authority: Sendable {
  let options: RealtimeOptions

  /// The client of a credential.
  ///
  /// - Parameter now: Milliseconds since 1970.
  /// - Throws: a refusal for an unknown or expired token, and for an override by anybody but an
  ///   administrator.
  func principal(
    _ credential: String?, override: JSONValue?, bucket: String, now: Double
  ) throws -> Principal {
    let principal = try self.principal(credential, bucket: bucket, now: now)
    guard let override else { return principal }
    guard principal.isAdministrator else { throw RealtimeError.permissionDenied }
    switch override {
    case .null, .object: return .user(override)
    default: throw RealtimeError(400, "auth_variable_override must be an object or null")
    }
  }

  private func principal(_ credential: String?, bucket: String, now: Double) throws -> Principal {
    guard let credential else { return .user(.null) }
    if options.isEmulator, credential == "owner" { return .service(.admin) }
    if let access = options.tokens(credential) {
      guard access.allows(bucket: bucket) else { throw RealtimeError.permissionDenied }
      return .service(access.role)
    }
    guard options.isEmulator else { throw RealtimeError.badToken }
    return .user(try unsigned(credential, now: now))
  }

  /// The rules' variable `auth` of a token without signature.
  private func unsigned(_ token: String, now: Double) throws -> JSONValue {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let claims = Self.object(parts[1]), let members = claims.members,
      Self.object(parts[0])?.members?["alg"]?.string == "none",
      let user = (members["sub"] ?? members["user_id"])?.string
    else { throw RealtimeError.badToken }
    if case .number(let text)? = members["exp"], let expiry = Double(text), expiry * 1000 < now {
      throw RealtimeError.expiredToken
    }
    let provider = members["firebase"]?.members?["sign_in_provider"]?.string ?? "custom"
    return .object([
      JSONValue.Member(name: "uid", value: .text(user)),
      JSONValue.Member(name: "provider", value: .text(provider)),
      JSONValue.Member(name: "token", value: claims),
    ])
  }

  private static func object(_ part: Substring) -> JSONValue? {
    var text = part.replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    guard let data = Data(base64Encoded: String(text)) else { return nil }
    return try? JSONValue(Array(data))
  }
}
