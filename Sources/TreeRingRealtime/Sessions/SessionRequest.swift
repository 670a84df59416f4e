// The messages of a client, read and checked, and the texts of the server's messages.
//
//   {"t":"d","d":{"r":NUMBER,"a":ACTION,"b":BODY}}    a request
//   {"t":"c","d":{"t":"p","d":{}}}                    control: a ping

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLive
internal import TreeRingLog

/// The fields of a JSON object, as the texts of their values.
struct RawObject {
  private let fields: [String: [UInt8]]

  /// Reads an object.
  ///
  /// - Parameter isChecked: Whether the text is known to be one JSON value.
  init(_ text: [UInt8], isChecked: Bool = false) throws(FirebaseError) {
    let result = text.withUnsafeBytes { bytes in
      Result { () throws(FirebaseError) -> [String: [UInt8]] in
        let reader = NodeReader(bytes)
        if !isChecked { try reader.validate() }
        var fields: [String: [UInt8]] = [:]
        for member in try reader.members(0..<bytes.count) {
          fields[member.name] = Array(bytes[member.value])
        }
        return fields
      }
    }
    fields = try result.get()
  }

  subscript(_ name: String) -> [UInt8]? { fields[name] }

  /// The value of a field in memory; nil without the field. Only for shallow values.
  func value(_ name: String) throws -> JSONValue? { try fields[name].map { try JSONValue($0) } }

  func text(_ name: String) throws -> String? {
    guard let value = try value(name) else { return nil }
    guard let text = value.string else { throw RealtimeError(400, "The field \(name) is no text.") }
    return text
  }
}

/// A message of a client.
enum SessionMessage {
  case ping
  /// Control messages without effect here.
  case ignored
  case request(number: Int64, action: String, body: [UInt8])

  /// Reads a message.
  ///
  /// - Throws: an error if no answer could name the request.
  init(_ text: [UInt8]) throws {
    let envelope = try RawObject(text)
    guard let data = envelope["d"] else { throw RealtimeError(400, "The message has no data.") }
    switch try envelope.text("t") {
    case "c":
      self = try RawObject(data, isChecked: true).text("t") == "p" ? .ping : .ignored
    case "d":
      let request = try RawObject(data, isChecked: true)
      guard case .number(let digits)? = try request.value("r"), let number = Int64(digits) else {
        throw RealtimeError(400, "The request has no number.")
      }
      let action = try? request.text("a")
      self = .request(number: number, action: action ?? "", body: request["b"] ?? [])
    default: throw RealtimeError(400, "The message is neither of control nor of data.")
    }
  }
}

extension RawObject {
  /// The path that a request names.
  func path() throws -> FirebasePath {
    guard let text = try text("p") else { throw RealtimeError(400, "The request has no path.") }
    let path = try FirebasePath(text)
    guard path.keys.count <= FirebaseNode.largestDepth else {
      throw RealtimeError(
        400, "Invalid path: it has more than \(FirebaseNode.largestDepth) levels.")
    }
    return path
  }

  /// The location and the query of a listen or a get.
  func query() throws -> (path: [FirebaseKey], query: ChildQuery?) {
    let path = try path()
    guard path.part == .node else { throw RealtimeError(400, "This location has no events.") }
    return (path.keys, try value("q").flatMap { try ChildQuery(session: $0) })
  }
}

extension ChildQuery {
  /// Reads the query of an SDK; nil for one that selects everything.
  init?(session value: JSONValue) throws {
    guard case .object = value, let fields = value.members else {
      throw RealtimeError(400, "The query is no object.")
    }
    var values: [String: String] = [:]
    switch fields["i"]?.string ?? ".priority" {
    case ".key": values["orderBy"] = "\"$key\""
    case ".value": values["orderBy"] = "\"$value\""
    case ".priority": values["orderBy"] = "\"$priority\""
    case let path: values["orderBy"] = JSONText.quoted(path)
    }
    func bound(_ name: String, _ keyName: String, _ outermost: String) throws -> (String, Bool)? {
      guard let value = fields[name] else { return nil }
      guard let scalar = Self.scalar(value) else {
        throw RealtimeError(400, "Constraint index field must be a JSON primitive")
      }
      guard let key = fields[keyName]?.string else { return (scalar.json, false) }
      // The SDKs' names before and after all keys.
      if key == "[MIN_NAME]" || key == "[MAX_NAME]" { return (scalar.json, key != outermost) }
      return (scalar.json + "," + JSONText.quoted(key), false)
    }
    if let (text, isBeyond) = try bound("sp", "sn", "[MIN_NAME]") {
      values[isBeyond || fields["sin"] == .bool(false) ? "startAfter" : "startAt"] = text
    }
    if let (text, isBeyond) = try bound("ep", "en", "[MAX_NAME]") {
      values[isBeyond || fields["ein"] == .bool(false) ? "endBefore" : "endAt"] = text
    }
    if case .number(let count)? = fields["l"] {
      let isFirst = fields["vf"].map { $0.string == "l" } ?? (fields["sp"] != nil)
      values[isFirst ? "limitToFirst" : "limitToLast"] = count
    }
    try self.init(values)
    if !isFiltering { return nil }
  }
}

/// The server's messages.
enum SessionReply {
  static func control(_ type: String, _ data: String) -> [UInt8] {
    Array("{\"t\":\"c\",\"d\":{\"t\":\"\(type)\",\"d\":\(data)}}".utf8)
  }

  static func hello(host: String, session: String, now: Double) -> [UInt8] {
    control(
      "h",
      "{\"ts\":\(Int64(now)),\"v\":\"5\",\"h\":\(JSONText.quoted(host)),\"s\":\"\(session)\"}")
  }

  /// The answer to a request.
  static func answer(_ number: Int64, _ status: String = "ok", _ data: [UInt8]) -> [UInt8] {
    let head = "{\"t\":\"d\",\"d\":{\"r\":\(number),\"b\":{\"s\":\"\(status)\",\"d\":"
    return Array(head.utf8) + data + Array("}}}".utf8)
  }

  static func failure(_ number: Int64, _ error: RealtimeError) -> [UInt8] {
    answer(number, error.sessionStatus, Array(JSONText.quoted(error.text).utf8))
  }

  /// A message without a request.
  static func push(_ action: String, _ body: [UInt8]) -> [UInt8] {
    Array("{\"t\":\"d\",\"d\":{\"a\":\"\(action)\",\"b\":".utf8) + body + Array("}}".utf8)
  }
}

extension RealtimeError {
  /// The word of the SDKs' protocol.
  var sessionStatus: String {
    switch self {
    case .permissionDenied: "permission_denied"
    case .badToken: "invalid_token"
    case .expiredToken: "expired_token"
    case .responseTooLarge, .writeTooLarge: "too_big"
    default: status == 503 ? "unavailable" : status == 403 ? "permission_denied" : "failure"
    }
  }
}

extension StreamEvent {
  /// The message of the event for a listen.
  func push(at location: [FirebaseKey], tag: Int64?) -> [UInt8] {
    func body(_ path: [FirebaseKey], _ data: [UInt8]) -> [UInt8] {
      let text = JSONText.quoted((location + path).map(\.text).joined(separator: "/"))
      let end = tag.map { ",\"t\":\($0)}" } ?? "}"
      return Array("{\"p\":\(text),\"d\":".utf8) + data + Array(end.utf8)
    }
    switch self {
    case .put(let path, let node): return SessionReply.push("d", body(path, node.exportedJSON))
    case .patch(let base, let nodes):
      var object = JSONObject()
      for (path, node) in nodes {
        object.raw(
          path.map(\.text).joined(separator: "/"),
          String(decoding: node.exportedJSON, as: UTF8.self))
      }
      return SessionReply.push("m", body(base, object.finish()))
    case .cancel, .authRevoked: return []
    }
  }
}
