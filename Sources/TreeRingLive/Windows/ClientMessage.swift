// The messages of a client that shows live windows.
//
//     {"open":ID,"index":I,"groups":[G…]|null,"ranges":{G:R},"range":R,"reversed":[G],
//      "hideEmpty":BOOL,"fields":[PATH…]|null,"totals":BOOL,"at":X|null,"from":N|POSITION|null}
//     {"id":ID,"seek":X}   {"id":ID,"live":true}   {"id":ID,"close":true}
//     {"id":ID,"grow":{G:ROWS}}   {"id":ID,"ranges":{G:R|null}}
//     {"ping":ANY}
//
// Unknown and repeated fields are errors. ID is a text or a whole number.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

/// A message of a client.
enum ClientMessage: Sendable {
  case open(WindowRequest)
  case seek(WindowID, Point)
  case live(WindowID)
  case change(WindowID, [RangeChange])
  case close(WindowID)
  /// Asks for an answer with this JSON.
  case ping(JSONValue)

  /// Reads a message.
  ///
  /// - Throws: `invalidInput` with the mistake.
  init(_ bytes: [UInt8]) throws(TreeRingError) {
    guard let members = try JSONValue(bytes).members else {
      throw Self.refusal("A message is one JSON object.")
    }
    if members["open"] != nil {
      self = .open(try WindowRequest(members))
      return
    }
    if members.count == 1, let value = members["ping"] {
      self = .ping(value)
      return
    }
    guard let value = members["id"], members.count == 2 else {
      throw Self.refusal("A message has “open”, “ping”, or “id” and one more field.")
    }
    let id = try WindowID(value)
    switch members.first(where: { $0.key != "id" }) {
    case ("seek", .text(let text))?, ("seek", .number(let text))?:
      self = .seek(id, try Point(text))
    case ("live", .bool(true))?: self = .live(id)
    case ("close", .bool(true))?: self = .close(id)
    case ("grow", let value)?:
      self = .change(
        id,
        try Self.groups(value, "grow") { (rows) throws(TreeRingError) in
          guard let rows = rows.integer else { throw Self.refusal("“grow” gives whole numbers.") }
          return .extend(by: rows)
        })
    case ("ranges", let value)?:
      self = .change(
        id,
        try Self.groups(value, "ranges") { (range) throws(TreeRingError) in
          if range == .null { return .set(nil) }
          return .set(try WindowRequest.range(range).options)
        })
    default: throw Self.refusal("The message's second field is unknown, or has another form.")
    }
  }

  /// Edits of groups: an object whose names are groups.
  private static func groups(
    _ value: JSONValue, _ name: String, _ edit: (JSONValue) throws(TreeRingError) -> RangeEdit
  ) throws(TreeRingError) -> [RangeChange] {
    guard case .object(let members) = value, !members.isEmpty else {
      throw refusal("“\(name)” is an object with groups as its names.")
    }
    var changes: [RangeChange] = []
    for member in members {
      changes.append(
        RangeChange(
          try edit(member.value), of: GroupName(bytes: try KeyText.bytes(member.name))))
    }
    return changes
  }

  static func refusal(_ sentence: String) -> TreeRingError {
    TreeRingError(.invalidInput, sentence)
  }
}

/// A window's name, which the client chooses: JSON, as it is sent back.
struct WindowID: Hashable, Sendable {
  let json: [UInt8]
  private static let byteLimit = 200

  init(_ value: JSONValue) throws(TreeRingError) {
    var json: [UInt8] = []
    value.append(to: &json)
    guard value.string != nil || value.integer != nil, json.count <= Self.byteLimit else {
      throw ClientMessage.refusal(
        "A window's name is a text of at most \(Self.byteLimit) bytes, or a whole number.")
    }
    self.json = json
  }
}

/// The request for a window.
struct WindowRequest: Sendable {
  /// The state that the client shows already.
  enum Origin: Sendable {
    case commit(CommitNumber)
    case position(WindowPosition)
  }

  let id: WindowID
  let index: String
  /// The groups shown; nil for all that have rows, in name order.
  private(set) var groups: [GroupName]?
  private(set) var ranges: [(group: GroupName, range: RangeSpecification?)] = []
  /// The range of groups without one of their own; nil shows them whole.
  private(set) var range: RangeSpecification?
  private(set) var reversed: [GroupName] = []
  private(set) var hidesEmpty = false
  /// The paths of the fields to send of each object; nil sends whole objects.
  private(set) var fields: [JSONPath]?
  /// Whether messages give the position of each section's rows in its group.
  private(set) var givesTotals = false
  /// The moment shown; nil follows the newest commit.
  private(set) var at: Point?
  private(set) var from: Origin?

  init(_ members: [String: JSONValue]) throws(TreeRingError) {
    id = try WindowID(members["open"] ?? .null)
    guard let index = members["index"]?.string else {
      throw ClientMessage.refusal("“index” is the name of a group index.")
    }
    self.index = index
    for (name, value) in members {
      guard let value = value.present else { continue }
      switch name {
      case "open", "index": break
      case "groups": groups = try Self.names(value, name)
      case "reversed": reversed = try Self.names(value, name)
      case "range": range = try Self.range(value)
      case "ranges":
        guard case .object(let members) = value else {
          throw ClientMessage.refusal("“ranges” is an object with groups as its names.")
        }
        for member in members {
          ranges.append(
            (
              GroupName(bytes: try KeyText.bytes(member.name)),
              try member.value.present.map(Self.range)
            ))
        }
      case "hideEmpty": hidesEmpty = try Self.flag(value, name)
      case "totals": givesTotals = try Self.flag(value, name)
      case "fields": fields = try Self.paths(value)
      case "at":
        switch value {
        case .text(let text), .number(let text): at = try Point(text)
        default: throw ClientMessage.refusal("“at” is a point in history.")
        }
      case "from":
        switch value {
        case .number(let text):
          guard let commit = CommitNumber(text) else {
            throw ClientMessage.refusal("“from” is a commit, or a position that was sent.")
          }
          from = .commit(commit)
        case .text(let text): from = .position(try WindowPosition(text))
        default: throw ClientMessage.refusal("“from” is a commit, or a position that was sent.")
        }
      default: throw ClientMessage.refusal("The request has an unknown field “\(name)”.")
      }
    }
  }

  /// The mappings of the window.
  var mappings: Mappings {
    var mappings: Mappings
    if let groups {
      mappings = Mappings(of: index, groups: groups).hidingEmptySections(hidesEmpty)
    } else {
      mappings = Mappings(of: index, groupsWhere: { _ in true }).hidingEmptySections()
    }
    mappings = mappings.range(range?.options)
    for (group, range) in ranges { mappings = mappings.range(range?.options, of: group) }
    for group in reversed { mappings = mappings.reversed(group) }
    return mappings
  }

  static func range(_ value: JSONValue) throws(TreeRingError) -> RangeSpecification {
    guard let text = value.string else {
      throw ClientMessage.refusal("A range is a text, such as “fixed:20”.")
    }
    return try RangeSpecification(text)
  }

  static func paths(_ value: JSONValue) throws(TreeRingError) -> [JSONPath] {
    guard case .array(let elements) = value else {
      throw ClientMessage.refusal("“fields” is an array of dotted paths.")
    }
    var paths: [JSONPath] = []
    for element in elements {
      guard let text = element.string else {
        throw ClientMessage.refusal("“fields” is an array of dotted paths.")
      }
      paths.append(try JSONPath(text))
    }
    return paths
  }

  private static func flag(_ value: JSONValue, _ field: String) throws(TreeRingError) -> Bool {
    guard case .bool(let flag) = value else {
      throw ClientMessage.refusal("“\(field)” is true or false.")
    }
    return flag
  }

  private static func names(
    _ value: JSONValue, _ field: String
  ) throws(TreeRingError) -> [GroupName] {
    guard case .array(let elements) = value else {
      throw ClientMessage.refusal("“\(field)” is an array of groups.")
    }
    var names: [GroupName] = []
    for element in elements {
      guard let bytes = element.keyBytes else {
        throw ClientMessage.refusal("A group is a text, or {\"$base64\":TEXT}.")
      }
      names.append(GroupName(bytes: bytes))
    }
    return names
  }
}
