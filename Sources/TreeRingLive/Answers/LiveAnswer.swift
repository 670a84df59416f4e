// Requests and answers without a network: the server translates HTTP into these.

internal import TreeRing
public import TreeRingLog

/// A request of a client.
public struct LiveRequest: Sendable {
  /// The method, in capitals.
  public var method: String
  /// The path of the target, as sent, with its escapes.
  public var path: String
  /// The query of the target, as sent, without the question mark.
  public var query: String
  /// The body.
  public var body: [UInt8]

  /// A request.
  public init(method: String = "GET", path: String, query: String = "", body: [UInt8] = []) {
    self.method = method
    self.path = path
    self.query = query
    self.body = body
  }

  /// A request with the target of a request line.
  public init(method: String, target: String, body: [UInt8] = []) {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(
      method: method, path: String(parts.first ?? ""),
      query: parts.count > 1 ? String(parts[1]) : "", body: body)
  }
}

/// An answer to a request.
public struct LiveAnswer: Sendable {
  /// The status of HTTP.
  public var status: Int
  /// The media type of the body.
  public var contentType: String
  /// The body.
  public var body: [UInt8]

  /// An answer.
  public init(status: Int = 200, contentType: String = "application/json", body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }

  /// A refusal with its error object.
  public init(status: Int, code: String, message: String) {
    self.init(
      status: status,
      body: Array("{\"error\":\(ErrorObject.value(code: code, message: message))}\n".utf8))
  }

  /// The answer for an error of the store.
  public init(_ error: TreeRingError) {
    var value = ErrorObject.value(error)
    if let current = error.current { value = value.dropLast() + ",\"current\":\(current)}" }
    self.init(status: Self.status(of: error.code), body: Array("{\"error\":\(value)}\n".utf8))
  }

  init(status: Int = 200, _ build: (inout JSONObject) throws -> Void) rethrows {
    var object = JSONObject()
    try build(&object)
    var body = object.finish()
    JSONText.escapeControls(in: &body, from: 0)
    body.append(UInt8(ascii: "\n"))
    self.init(status: status, body: body)
  }

  /// The status of HTTP for an error of the store.
  static func status(of code: TreeRingError.Code) -> Int {
    switch code {
    case .invalidInput, .dateRefused: 400
    case .notAllowed: 403
    case .notFound: 404
    case .conflict, .alreadyExists, .notUnique, .referenceMissing, .restricted, .notSummable: 409
    case .beyondHorizon: 410
    case .tooLarge: 413
    case .indexDefinedInCode: 422
    case .notSupported: 501
    case .closed, .locked, .poisoned, .snapshotExpired, .storeRewound, .cancelled, .notLeader,
      .unavailable:
      503
    case .noSpace: 507
    default: 500
    }
  }
}
