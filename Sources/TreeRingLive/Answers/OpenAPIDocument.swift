// The description of the interface, made from the table of routes.

internal import TreeRingLog

/// An OpenAPI 3.1 document.
enum OpenAPIDocument {
  /// The document as JSON.
  static let json: [UInt8] = {
    var root = JSONObject()
    root.text("openapi", "3.1.0")
    root.raw(
      "info",
      "{\"title\":\"TreeRing\",\"version\":\"1\",\"description\":"
        + JSONText.quoted("A store's rows, indexes and log, now and at any earlier commit.") + "}")
    var paths: [String] = []
    var seen: Set<String> = []
    for route in Route.all where seen.insert(route.pattern).inserted {
      let methods = Route.all.filter { $0.pattern == route.pattern }.map {
        JSONText.quoted($0.method.lowercased()) + ":" + operation($0)
      }
      paths.append(JSONText.quoted(route.pattern) + ":{" + methods.joined(separator: ",") + "}")
    }
    root.raw("paths", "{" + paths.joined(separator: ",") + "}")
    root.raw("components", components)
    root.raw("security", "[{\"token\":[]}]")
    return root.finish()
  }()

  /// A commit, a number of commits back, a tag, or a date.
  private static let point =
    "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0,\"maximum\":\(UInt64.max)},"
    + [pattern("^-[0-9]{1,18}$"), pattern("^tag:.*$")].joined(separator: ",")
    + ",{\"type\":\"string\",\"format\":\"date-time\"},{\"type\":\"string\",\"format\":\"date\"}]}"

  /// A commit to write. docs/tool.md lists all operations.
  private static let commit: String = {
    let name = "{\"type\":\"string\",\"minLength\":1,\"maxLength\":255}"
    let key = "{\"type\":\"string\",\"maxLength\":1024}"
    func operation(_ kinds: String, _ parts: [String]) -> String {
      let items = ["{\"enum\":[\(kinds)]}"] + parts
      return "{\"type\":\"array\",\"minItems\":\(items.count),\"prefixItems\":"
        + JSONText.array(items) + "}"
    }
    let operations = [
      operation("\"put\"", [name, key, "{}"]), operation("\"delete\",\"touch\"", [name, key]),
      operation("\"object\",\"metadata\",\"index\",\"tag\",\"place\",\"unplace\"", [name]),
    ]
    return "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
      + "\"ops\":{\"type\":\"array\",\"items\":{\"anyOf\":\(JSONText.array(operations))}},"
      + "\"note\":{\"type\":\"string\"},\"tags\":{\"type\":\"array\",\"items\":\(name)},"
      + "\"at\":{\"type\":\"string\",\"format\":\"date-time\"},"
      + "\"expecting\":{\"type\":\"integer\",\"minimum\":0},"
      + "\"idempotencyKey\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":255},"
      + "\"durability\":{\"enum\":[\"full\",\"barrier\",\"relaxed\",\"unsynced\"]}}}"
  }()

  private static let components =
    "{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
    + "\"schemas\":{\"Point\":\(point),\"Commit\":\(commit),"
    + "\"Error\":{\"type\":\"object\",\"required\":[\"error\"],\"properties\":"
    + "{\"error\":{\"type\":\"object\",\"required\":[\"code\",\"message\"],\"properties\":"
    + "{\"code\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},"
    + "\"current\":{\"type\":\"integer\"}}}}}}}"

  private static func operation(_ route: Route) -> String {
    var object = JSONObject()
    object.text("summary", route.about)
    var parameters = route.segments.filter { $0.hasPrefix("{") }.map { segment in
      let name = String(segment.dropFirst().dropLast())
      return "{\"name\":\(JSONText.quoted(name)),\"in\":\"path\",\"required\":true,"
        + "\"schema\":\(schema(name == "commit" ? .point : .text))}"
    }
    parameters += route.parameters.map { parameter in
      "{\"name\":\(JSONText.quoted(parameter.name)),\"in\":\"query\","
        + "\"required\":\(parameter.isRequired),\"description\":"
        + JSONText.quoted(parameter.about) + ",\"schema\":"
        + (parameter.isRepeated
          ? "{\"type\":\"array\",\"items\":\(schema(parameter.kind))}" : schema(parameter.kind))
        + "}"
    }
    object.raw("parameters", JSONText.array(parameters))
    if route.method == "POST" {
      let schema = route.endpoint == .write ? "{\"$ref\":\"#/components/schemas/Commit\"}" : "{}"
      object.raw(
        "requestBody",
        "{\"required\":true,\"content\":{\"application/json\":{\"schema\":\(schema)}}}")
    }
    if route.endpoint == .openAPI { object.raw("security", "[]") }
    object.raw("responses", responses(route))
    return String(decoding: object.finish(), as: UTF8.self)
  }

  private static func schema(_ kind: Parameter.Kind) -> String {
    switch kind {
    case .text: "{\"type\":\"string\"}"
    case .integer: "{\"type\":\"integer\",\"minimum\":0,\"maximum\":\(Int.max)}"
    case .limit: "{\"type\":\"integer\",\"minimum\":1,\"maximum\":\(LiveLimits().rows)}"
    case .flag: "{\"type\":\"boolean\"}"
    case .point: "{\"$ref\":\"#/components/schemas/Point\"}"
    case .range: pattern("^\(range)$")
    case .groupRange: pattern("^[^=]*=\(range)$")
    case .row: pattern(RowPlaceText.pattern)
    case .choice(let texts):
      "{\"type\":\"string\",\"enum\":\(JSONText.array(texts.map { JSONText.quoted($0) }))}"
    }
  }

  private static func pattern(_ text: String) -> String {
    "{\"type\":\"string\",\"pattern\":\(JSONText.quoted(text))}"
  }

  private static let range =
    "(fixed:[0-9]{1,18}(:[0-9]{1,18}(:(begin|end))?)?"
    + "|flexible:[0-9]{1,18}(:[0-9]{1,18}(:(begin|end))?)?"
    + "(:min=[0-9]{1,18})?(:max=[0-9]{1,18})?(:grow=(pin|nonpin|both|none))?)"

  private static func responses(_ route: Route) -> String {
    let type =
      switch route.endpoint {
      case .metrics: "text/plain"
      case .log: "application/x-ndjson"
      case .live: "text/event-stream"
      case .basePiece: "application/octet-stream"
      default: "application/json"
      }
    let answer = "{\"description\":\"The answer.\",\"content\":{\"\(type)\":{}}}"
    let error =
      "{\"description\":\"A refusal or a failure.\",\"content\":{\"application/json\":"
      + "{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}}"
    let statuses = route.endpoint == .write ? ["200", "201"] : ["200"]
    let answers = statuses.map { "\"\($0)\":\(answer)" }.joined(separator: ",")
    return "{\(answers),\"default\":\(error)}"
  }
}
