// A request with everything that is known before the tree is read.

internal import Foundation
internal import TreeRingFirebase
internal import TreeRingLive

/// A database in a store: a bucket of rows, and a row with the rules.
struct Database: Hashable, Sendable {
  /// The name; empty for the usual one.
  let name: String

  var bucket: String { name.isEmpty ? "rtdb" : "rtdb/\(name)" }
  var rulesKey: String { name.isEmpty ? "rules.json" : "\(name)/rules.json" }
  var indexName: String { name.isEmpty ? "rtdb.index" : "rtdb.index/\(name)" }
  static let rulesBucket = "rtdb.rules"

  /// The database of a row with rules; nil if the row is none.
  init?(rulesKey: String) {
    guard rulesKey.hasSuffix("rules.json") else { return nil }
    let name = rulesKey.dropLast("rules.json".count)
    guard name.isEmpty || name.hasSuffix("/") && name != "/" else { return nil }
    self.init(name: String(name.dropLast()))
  }

  init(name: String) { self.name = name }
}

/// A request, read and checked.
struct RequestContext {
  enum Target {
    case node(FirebasePath)
    case rules
    /// `.info` and the names below it.
    case info([String])
  }

  let request: RealtimeRequest
  let method: String
  let target: Target
  let parameters: RequestParameters
  let database: Database
  let principal: Principal
  let credential: String?
  /// Milliseconds since 1970.
  let now: Double
  let ifMatch: String?
  let ifNoneMatch: String?
  let wantsTag: Bool

  init(_ request: RealtimeRequest, _ authority: Authority, now: Double) throws {
    self.request = request
    self.now = now
    let parts = request.target.split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    target = try Self.target(parts.first ?? "")
    parameters = try RequestParameters(parts.count > 1 ? parts[1] : "")
    database = Database(name: parameters.namespace)
    let override =
      request.values("x-http-method-override").first ?? parameters.methodOverride
    method = request.method == "POST" ? override?.uppercased() ?? "POST" : request.method
    ifMatch = try Self.tag(request, "if-match")
    ifNoneMatch = try Self.tag(request, "if-none-match")
    wantsTag = request.values("x-firebase-etag").first?.lowercased() == "true"
    credential = parameters.credential ?? Self.bearer(request)
    principal = try authority.principal(
      credential, override: parameters.authOverride, bucket: database.bucket, now: now)
  }

  /// The context of a write that is no request of HTTP.
  init(
    _ method: String, _ path: FirebasePath, body: [UInt8] = [], in database: Database,
    _ principal: Principal, ifMatch: String? = nil
  ) {
    request = RealtimeRequest(method: method, target: "", body: body)
    self.method = method
    target = .node(path)
    parameters = RequestParameters(namespace: database.name)
    self.database = database
    self.principal = principal
    credential = nil
    now = Self.now
    self.ifMatch = ifMatch
    ifNoneMatch = nil
    wantsTag = false
  }

  /// Milliseconds since 1970.
  static var now: Double { (Date().timeIntervalSince1970 * 1000).rounded(.down) }

  private static func target(_ path: Substring) throws -> Target {
    guard path.hasPrefix("/"), path.hasSuffix(".json") else {
      throw RealtimeError(404, "Append .json to your request URL to use the REST API.")
    }
    var names: [String] = []
    for segment in try Percent.segments(String(path.dropLast(5))) where !segment.isEmpty {
      guard let name = String(validating: segment, as: UTF8.self) else {
        throw RealtimeError(400, "Invalid path: it is not valid UTF-8.")
      }
      names.append(name)
    }
    if names == [".settings", "rules"] { return .rules }
    if names.first == ".info" { return .info(Array(names.dropFirst())) }
    var part = FirebasePath.Part.node
    switch names.last {
    case ".priority": part = .priority
    case ".value": part = .value
    default: break
    }
    if part != .node { names.removeLast() }
    var keys: [FirebaseKey] = []
    for name in names { keys.append(try FirebaseKey(name)) }
    if keys.count > FirebaseNode.largestDepth {
      throw RealtimeError(
        400, "Invalid path: it has more than \(FirebaseNode.largestDepth) levels.")
    }
    return .node(FirebasePath(keys: keys, part: part))
  }

  private static func bearer(_ request: RealtimeRequest) -> String? {
    guard let value = request.values("authorization").first else { return nil }
    let parts = value.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }

  private static func tag(_ request: RealtimeRequest, _ name: String) throws -> String? {
    let values = request.values(name)
    guard values.count <= 1, values.first?.contains(",") != true else {
      throw RealtimeError(400, "\(name) takes one entity tag.")
    }
    return values.first?.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
  }
}
