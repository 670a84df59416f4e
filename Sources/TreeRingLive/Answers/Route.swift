// The routes: one table from which requests are matched and checked, and the OpenAPI document made.

internal import TreeRingLog

/// The action of a request.
enum Endpoint: Sendable {
  case store, commits, commit, write, rows, row, history, count, groups, groupRows, groupCount, rank
  case indexCount, indexSum, groupSum, find, changes, diff
  case stats, metrics, log, live, openAPI
  case beginBase, basePiece, endBase
}

/// A parameter of a query.
struct Parameter: Sendable {
  enum Kind: Sendable {
    case text, integer, point, flag
    /// A number of elements, at least one.
    case limit
    /// A range, and a range with its group.
    case range, groupRange
    /// A bucket and a key.
    case row
    /// One of these texts.
    case choice([String])
  }

  let name: String
  let kind: Kind
  let about: String
  var isRequired = false
  var isRepeated = false
}

/// A method and a pattern of paths.
struct Route: Sendable {
  let endpoint: Endpoint
  let method: String
  /// The segments; one in braces is an argument.
  let segments: [String]
  let about: String
  let parameters: [Parameter]

  var pattern: String { "/" + segments.joined(separator: "/") }

  init(
    _ endpoint: Endpoint, _ pattern: String, method: String = "GET", _ about: String,
    _ parameters: [Parameter] = []
  ) {
    self.endpoint = endpoint
    self.method = method
    segments = pattern.split(separator: "/").map(String.init)
    self.about = about
    self.parameters = parameters
  }

  /// The arguments of a path's segments; nil if the path does not match.
  func arguments(of path: [[UInt8]]) -> [[UInt8]]? {
    guard path.count == segments.count else { return nil }
    var arguments: [[UInt8]] = []
    for (segment, found) in zip(segments, path) {
      if segment.hasPrefix("{") {
        arguments.append(found)
      } else if !found.elementsEqual(segment.utf8) {
        return nil
      }
    }
    return arguments
  }

  private static let at = Parameter(
    name: "at", kind: .point,
    about: "The moment to read: a commit, a date, tag:NAME, or -K. By default now.")
  private static let limit = Parameter(
    name: "limit", kind: .limit, about: "The most elements of the answer.")
  private static let reverse = Parameter(name: "reverse", kind: .flag, about: "Last first.")
  private static let conditions = Parameter(
    name: "where", kind: .text,
    about: "Only rows that fulfil a condition on a field, as FIELD<V; docs/tool.md.",
    isRepeated: true)
  private static let bounds = [
    Parameter(
      name: "lower", kind: .text,
      about: "V,…: only rows at these values of the order and after them; docs/tool.md."),
    Parameter(
      name: "upper", kind: .text, about: "V,…: only rows before these values of the order."),
  ]
  static let mapping = [
    Parameter(
      name: "groups", kind: .text,
      about: "G,…: the groups to show, in order. By default all that have rows."),
    Parameter(
      name: "range", kind: .groupRange, about: "G=R: show only the range R of group G.",
      isRepeated: true),
    Parameter(
      name: "reverse", kind: .text, about: "G: show the rows of group G last to first.",
      isRepeated: true),
    Parameter(name: "hideEmpty", kind: .flag, about: "Hide groups that show no row."),
  ]

  /// All routes.
  static let all: [Route] = [
    Route(
      .store, "/v1/store", "The store: its newest commit, buckets, indexes and tags.", [at]),
    Route(
      .commits, "/v1/commits", "Commits of the log.",
      [
        Parameter(name: "from", kind: .point, about: "The first commit."),
        Parameter(name: "to", kind: .point, about: "The last commit."),
        Parameter(name: "step", kind: .integer, about: "Only every step-th commit."), limit,
        reverse,
      ]),
    Route(
      .write, "/v1/commits", method: "POST",
      "Writes one commit: a line of the import format, with expecting, idempotencyKey and "
        + "durability."),
    Route(.commit, "/v1/commits/{commit}", "One commit with its operations."),
    Route(
      .rows, "/v1/buckets/{bucket}/rows", "Rows of a bucket in key order.",
      [
        Parameter(name: "prefix", kind: .text, about: "Only keys that begin with this."),
        Parameter(name: "from", kind: .text, about: "Only this key and later ones."),
        Parameter(name: "to", kind: .text, about: "Only keys before this one."),
        conditions, limit, reverse, at,
      ]),
    Route(
      .count, "/v1/buckets/{bucket}/count",
      "The number of rows of a bucket. With conditions, of some of its rows, up to “next”.",
      [
        conditions,
        Parameter(name: "from", kind: .text, about: "Only this key and later ones."), at,
      ]),
    Route(.row, "/v1/buckets/{bucket}/rows/{key}", "One row.", [at]),
    Route(
      .history, "/v1/buckets/{bucket}/rows/{key}/history", "Versions of a row, newest first.",
      [
        Parameter(
          name: "from", kind: .point, about: "Only versions of this moment and earlier ones."),
        limit,
      ]),
    Route(
      .groups, "/v1/indexes/{index}/groups", "Groups of an index in name order.",
      [Parameter(name: "from", kind: .text, about: "Only this group and later ones."), limit, at]),
    Route(
      .groupRows, "/v1/indexes/{index}/groups/{group}/rows", "Rows of a group in order.",
      [
        Parameter(name: "range", kind: .range, about: "Only this range of the group's rows."),
        Parameter(name: "from", kind: .integer, about: "Only this position and later ones."),
        limit, at,
      ] + bounds),
    Route(
      .groupCount, "/v1/indexes/{index}/groups/{group}/count",
      "The number of rows of a group, or of a range of its order.", [at] + bounds),
    Route(
      .indexCount, "/v1/indexes/{index}/count", "The number of rows in all groups of an index.",
      [at]),
    Route(
      .indexSum, "/v1/indexes/{index}/sum", "The sum of all rows of an index with sums.", [at]),
    Route(
      .groupSum, "/v1/indexes/{index}/groups/{group}/sum",
      "The sum of a group of an index with sums, or of a range of its order.", [at] + bounds),
    Route(
      .rank, "/v1/indexes/{index}/groups/{group}/rank/{key}", "The position of a row in a group.",
      [
        Parameter(
          name: "bucket", kind: .text, about: "The row's bucket, if the index covers several."),
        at,
      ]),
    Route(
      .find, "/v1/indexes/{index}/find", "The best hits of a search in a text index.",
      [
        Parameter(
          name: "q", kind: .text, about: "Words, phrases and operators; docs/text.md.",
          isRequired: true),
        limit, at,
      ]),
    Route(
      .changes, "/v1/indexes/{index}/changes",
      "The minimal changeset of an index between two moments, in either direction.",
      [
        Parameter(
          name: "from", kind: .point, about: "The moment to start from.", isRequired: true),
        Parameter(name: "to", kind: .point, about: "The moment to end at.", isRequired: true),
        Parameter(
          name: "form", kind: .choice(ChangeForm.allCases.map(\.rawValue)),
          about: "batch (the default), steps, placements or yap."),
        Parameter(name: "limit", kind: .integer, about: "The most operations of the answer."),
      ] + mapping),
    Route(
      .diff, "/v1/diff", "The rows that differ between two moments.",
      [
        Parameter(
          name: "from", kind: .point, about: "The moment to start from.", isRequired: true),
        Parameter(name: "to", kind: .point, about: "The moment to end at.", isRequired: true),
        Parameter(name: "bucket", kind: .text, about: "Only rows of this bucket."),
        Parameter(
          name: "start", kind: .row, about: "BUCKET/KEY: the row to begin at, “next” of a page."),
        limit,
      ]),
    Route(.stats, "/v1/stats", "Sizes and counts of the store."),
    Route(.metrics, "/metrics", "Figures of the store and the server for Prometheus."),
    Route(
      .log, "/v1/log",
      "The commits from one on, as lines or as Server-Sent Events. Waits for the first one.",
      [
        Parameter(name: "from", kind: .integer, about: "The first commit.", isRequired: true),
        Parameter(
          name: "wait", kind: .integer, about: "The longest wait in seconds. By default 30."),
      ]),
    Route(
      .live, "/v1/live",
      "Live windows: a WebSocket, or one window as Server-Sent Events.",
      [
        Parameter(name: "index", kind: .text, about: "The index."),
        Parameter(name: "at", kind: .point, about: "The moment to show. By default now."),
        Parameter(
          name: "resume", kind: .text, about: "The commit or position that the client shows."),
        Parameter(name: "fields", kind: .text, about: "PATH,…: the fields to send."),
        Parameter(
          name: "totals", kind: .flag, about: "Send the position of each section in its group."),
      ] + mapping),
    Route(
      .live, "/v1/live", method: "POST",
      "Live windows as Server-Sent Events. The body has the client's messages, one a line."),
    Route(
      .beginBase, "/v1/bases", method: "POST",
      "Pins the store's log as it is now, for a replica to copy: its files and the checksums of "
        + "their pieces. Reads the log once."),
    Route(
      .basePiece, "/v1/bases/{base}/{file}", "One piece of a file of a base.",
      [
        Parameter(
          name: "piece", kind: .integer, about: "The number of the piece, from 0.",
          isRequired: true)
      ]),
    Route(.endBase, "/v1/bases/{base}", method: "DELETE", "Releases a base."),
    Route(.openAPI, "/v1/openapi.json", "This description."),
  ]
}
