// A listen of a session: a location with a query, and the position of its events.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLive
internal import TreeRingLog

/// A listen of a session.
struct SessionListen {
  let id: UInt64
  let path: [FirebaseKey]
  let query: ChildQuery?
  /// The number that the client gave to the query; nil for the whole location.
  let tag: Int64?
  /// The query's text, by which the client knows it.
  let queryText: [UInt8]?
  /// The hash of the client's copy; empty for none.
  let hash: String
  var events: LocationEvents

  init(_ id: UInt64, _ request: RawObject, _ service: RealtimeService, _ database: Database) throws
  {
    self.id = id
    (path, query) = try request.query()
    tag = try request.tag()
    queryText = request["q"]
    hash = try request.text("h") ?? ""
    events = LocationEvents(service, database, path, query: query)
  }

  /// Whether it has begun and its client lacks commits up to this one.
  func isBehind(_ commit: CommitNumber) -> Bool { events.hasBegun && events.position < commit }

  /// Whether a request of the client means this listen.
  func isNamed(by path: [FirebaseKey], tag: Int64?) -> Bool {
    self.tag == tag && self.path == path
  }

  /// The message that the client may no longer listen.
  var revocation: [UInt8] {
    var body = JSONObject()
    body.text("p", path.map(\.text).joined(separator: "/"))
    if let queryText { body.raw("q", "[\(String(decoding: queryText, as: UTF8.self))]") }
    return SessionReply.push("c", body.finish())
  }
}

extension RawObject {
  /// The number of a query; nil without one.
  func tag() throws -> Int64? {
    guard let value = try value("t") else { return nil }
    guard case .number(let digits) = value, let tag = Int64(digits) else {
      throw RealtimeError(400, "The tag is no integer.")
    }
    return tag
  }
}
