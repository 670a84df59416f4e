// The parameters of a request's query.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLive
internal import TreeRingLog

/// The parameters of a request.
struct RequestParameters {
  enum Print { case compact, pretty, silent }

  var query: ChildQuery?
  var isShallow = false
  var print = Print.compact
  var isExport = false
  var isStrict = false
  var credential: String?
  /// The JSON that replaces the rules' variable `auth`.
  var authOverride: JSONValue?
  var timeout: Duration?
  var writeByteLimit = 256 << 20
  var callback: String?
  var download: String?
  /// The name of the database; empty for the usual one.
  var namespace = ""
  var methodOverride: String?
  var at: Point?

  private static let names: Set<String> = [
    "orderBy", "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst",
    "limitToLast", "shallow", "print", "format", "auth", "access_token",
    "auth_variable_override", "timeout", "writeSizeLimit", "callback", "download", "ns",
    "x-http-method-override", "at",
  ]

  init(namespace: String) { self.namespace = namespace }

  /// Reads the query of a target. A plus sign stands for a space.
  init(_ text: Substring) throws {
    var values: [String: String] = [:]
    for item in text.split(separator: "&") {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = try Self.decode(pair[0])
      guard Self.names.contains(name) else {
        throw RealtimeError(
          400, "The request does not support one of the query parameters: \(name)")
      }
      guard values.updateValue(pair.count > 1 ? try Self.decode(pair[1]) : "", forKey: name) == nil
      else { throw RealtimeError(400, "\(name) may only be specified once") }
    }
    query = try ChildQuery(values)
    isShallow = try Self.flag(values["shallow"], "shallow")
    if isShallow, query != nil {
      throw RealtimeError(400, "shallow cannot be mixed with filtering parameters")
    }
    credential = values["auth"] ?? values["access_token"]
    if let text = values["auth_variable_override"] {
      authOverride = try JSONValue(Array(text.utf8))
    }
    callback = values["callback"]
    download = values["download"]
    methodOverride = values["x-http-method-override"]
    at = try values["at"].map { try Point($0) }
    try readFormats(values)
    try readLimits(values)
    if let name = values["ns"] { namespace = try Self.namespace(name) }
  }

  static func decode(_ text: Substring) throws -> String {
    let spaced = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    guard let text = String(validating: try Percent.decode(spaced), as: UTF8.self) else {
      throw RealtimeError(400, "A query parameter is not valid UTF-8.")
    }
    return text
  }

  private static func flag(_ text: String?, _ name: String) throws -> Bool {
    switch text {
    case nil, "false"?: return false
    case "true"?: return true
    default: throw RealtimeError(400, "\(name) must be true or false")
    }
  }

  private mutating func readFormats(_ values: [String: String]) throws {
    switch values["print"] {
    case nil: print = .compact
    case "pretty"?: print = .pretty
    case "silent"?: print = .silent
    default: throw RealtimeError(400, "print must be pretty or silent")
    }
    switch values["format"] {
    case nil: break
    case "export"?: isExport = true
    case "strict"?: isStrict = true
    default: throw RealtimeError(400, "format must be export")
    }
    if let callback {
      let isName = callback.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || "_$.".utf8.contains($0)
      }
      guard isName, !callback.isEmpty, callback.utf8.count <= 200 else {
        throw RealtimeError(400, "callback must be the name of a function")
      }
    }
  }

  private mutating func readLimits(_ values: [String: String]) throws {
    if let text = values["timeout"] {
      let units: [(name: String, seconds: Double)] = [("ms", 0.001), ("min", 60), ("s", 1)]
      guard let unit = units.first(where: { text.hasSuffix($0.name) }),
        let number = Double(text.dropLast(unit.name.count)), number > 0,
        number * unit.seconds <= 900
      else {
        throw RealtimeError(400, "timeout must be more than 0 and at most 15min, such as 3s")
      }
      timeout = .seconds(number * unit.seconds)
    }
    switch values["writeSizeLimit"] {
    case nil, "unlimited"?: break
    case "tiny"?: writeByteLimit = 1 << 20
    case "small"?: writeByteLimit = 10 << 20
    case "medium"?: writeByteLimit = 30 << 20
    case "large"?: writeByteLimit = 60 << 20
    default:
      throw RealtimeError(400, "writeSizeLimit must be tiny, small, medium, large or unlimited")
    }
  }

  static func namespace(_ name: String) throws -> String {
    let isName = name.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || "_-.".utf8.contains($0)
    }
    guard isName, !name.isEmpty, name.utf8.count <= 200 else {
      throw RealtimeError(
        400, "ns must be a name of letters, digits, hyphens, dots and underscores")
    }
    return name
  }
}
