// Requests and answers without a network: the server translates HTTP into these.

internal import TreeRingLive

/// A request of a client.
public struct RealtimeRequest: Sendable {
  /// The method, in capitals.
  public var method: String
  /// The path and the query of the target, as sent.
  public var target: String
  /// The headers.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]

  /// A request.
  public init(
    method: String = "GET", target: String, headers: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
  }

  /// The values of a header.
  func values(_ name: String) -> [String] {
    headers.filter { $0.name.lowercased() == name }.map(\.value)
  }
}

/// An answer to a request.
public struct RealtimeAnswer: Sendable {
  /// The status of HTTP.
  public var status: Int
  /// The media type of the body.
  public var contentType: String
  /// Headers of the protocol.
  public var headers: [(name: String, value: String)]
  /// The body; empty for the statuses 204 and 304.
  public var body: [UInt8]

  static let json = "application/json; charset=utf-8"

  init(status: Int = 200, _ body: [UInt8], headers: [(name: String, value: String)] = []) {
    self.status = status
    self.body = body
    self.headers = headers
    contentType = Self.json
  }

  init(_ error: RealtimeError) { self.init(status: error.status, refusal: error.text) }

  /// A refusal with its text.
  public init(status: Int, refusal: String) {
    var object = JSONObject()
    object.text("error", refusal)
    self.init(status: status, object.finish() + [0x0A])
  }
}
