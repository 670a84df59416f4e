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

  private static let components =
    "{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
    + "\"schemas\":{\"Error\":{\"type\":\"object\",\"required\":[\"error\"],\"properties\":"
    + "{\"error\":{\"type\":\"object\",\"required\":[\"code\",\"message\"],\"properties\":"
    + "{\"code\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},"
    + "\"current\":{\"type\":\"integer\"}}}}}}}"

  private static func operation(_ route: Route) -> String {
    var object = JSONObject()
    object.text("summary", route.about)
    var parameters = route.segments.filter { $0.hasPrefix("{") }.map { segment in
      let name = String(segment.dropFirst().dropLast())
      return "{\"name\":\(JSONText.quoted(name)),\"in\":\"path\",\"required\":true,"
        + "\"schema\":{\"type\":\"string\"}}"
    }
    parameters += route.parameters.map { parameter in
      "{\"name\":\(JSONText.quoted(parameter.name)),\"in\":\"query\","
        + "\"required\":\(parameter.isRequired),\"description\":"
        + JSONText.quoted(parameter.about) + ",\"schema\":\(schema(parameter))}"
    }
    object.raw("parameters", JSONText.array(parameters))
    if route.method == "POST" {
      object.raw(
        "requestBody",
        "{\"required\":true,\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\"}}}}")
    }
    if route.endpoint == .openAPI { object.raw("security", "[]") }
    object.raw("responses", responses(route))
    return String(decoding: object.finish(), as: UTF8.self)
  }

  private static func schema(_ parameter: Parameter) -> String {
    let type =
      switch parameter.kind {
      case .text, .point: "{\"type\":\"string\"}"
      case .integer: "{\"type\":\"integer\",\"minimum\":0}"
      case .flag: "{\"type\":\"boolean\"}"
      }
    return parameter.isRepeated ? "{\"type\":\"array\",\"items\":\(type)}" : type
  }

  private static func responses(_ route: Route) -> String {
    let type =
      switch route.endpoint {
      case .metrics: "text/plain"
      case .log: "application/x-ndjson"
      case .live: "text/event-stream"
      default: "application/json"
      }
    let answer = "{\"description\":\"The answer.\",\"content\":{\"\(type)\":{}}}"
    let error =
      "{\"description\":\"A refusal or a failure.\",\"content\":{\"application/json\":"
      + "{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}}"
    let statuses = route.method == "POST" ? ["200", "201"] : ["200"]
    let answers = statuses.map { "\"\($0)\":\(answer)" }.joined(separator: ",")
    return "{\(answers),\"default\":\(error)}"
  }
}
