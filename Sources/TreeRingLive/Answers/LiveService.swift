// A store as it is served, without a network. A request comes in, an answer goes out; `session` and
// `logReader` make the readers that last.
//
// The server calls it on threads that may block: answers read the store, and writes wait until they
// are durable.

public import TreeRing
public import TreeRingLog
internal import TreeRingMappings

/// A served store.
public final class LiveService: Sendable {
  /// The store.
  public let store: Store
  /// The bounds of answers and sessions.
  public let limits: LiveLimits
  /// Whether clients may write, as far as their roles allow it.
  public let isWritable: Bool
  private let rounds: LiveRounds
  /// The bases that replicas copy.
  let bases: BaseTable

  /// Serves a store.
  ///
  /// - Parameters:
  ///   - store: The store, which stays open as long as it is served.
  ///   - isWritable: Whether clients may write. A store open for reading refuses anyway.
  ///   - limits: The bounds of answers and sessions.
  public init(_ store: Store, isWritable: Bool = false, limits: LiveLimits = LiveLimits()) {
    self.store = store
    self.limits = limits
    self.isWritable = isWritable && store.options.mode != .readOnly
    rounds = LiveRounds(store)
    bases = BaseTable(limits)
  }

  /// The number of bases that clients copy.
  package var baseCount: Int { bases.count }

  /// Releases all bases.
  package func endBases() { bases.removeAll() }

  /// The live windows of a connection.
  public func session(for access: LiveAccess) -> LiveSession {
    LiveSession(rounds, access: access, limits: limits)
  }

  /// Live windows with one window, which the query of `/v1/live` describes.
  ///
  /// - Throws: `invalidInput` for a mistake in the query; `notFound`, `notAllowed` and the other
  ///   errors of opening the window.
  public func session(
    for access: LiveAccess, query: String
  ) throws(TreeRingError) -> LiveSession {
    let session = session(for: access)
    try session.open(try Self.openMessage(query))
    return session
  }

  /// Live windows that the first messages of a client describe, one a line: the body of a request.
  /// So a client that cannot send while it reads opens a window, and changes its ranges in one.
  ///
  /// - Throws: `tooLarge` for more messages than a session takes at once.
  public func session(
    for access: LiveAccess, messages: [UInt8]
  ) throws(TreeRingError) -> LiveSession {
    let session = session(for: access)
    for message in messages.split(separator: UInt8(ascii: "\n")) {
      guard session.acceptsInput, session.windowCount <= limits.windows else {
        throw TreeRingError(.tooLarge, "The request has too many messages. Send fewer of them.")
      }
      session.receive(Array(message))
    }
    return session
  }

  /// The tail of the log from a commit on.
  ///
  /// - Throws: `notAllowed` for a client with limits; `beyondHorizon` if the commit's operations
  ///   are gone.
  public func logReader(
    from first: CommitNumber, for access: LiveAccess
  ) throws(TreeRingError) -> LogReader {
    try access.checkUnlimited()
    if first > 0, first <= store.newestCommit { _ = try store.operations(of: first) }
    return LogReader(store, from: max(1, first), byteLimit: limits.pieceByteCount)
  }

  /// The newest state, for sessions that advance to it together and share the work.
  ///
  /// - Throws: The errors of `Store.snapshot()`.
  public func nextRound() throws(TreeRingError) -> LiveRound {
    let round = try rounds.next()
    return LiveRound(commit: round.round.snapshot.commit, round: round)
  }

  /// The answer to a request, except for `/v1/log` and `/v1/live`, whose readers last.
  ///
  /// Reads or writes the store on the caller's thread. Mistakes and failures become answers with an
  /// error object.
  public func answer(_ request: LiveRequest, for access: LiveAccess) -> LiveAnswer {
    do throws(TreeRingError) {
      let (route, arguments) = try Self.match(request)
      return try AnswerMaker(service: self, access: access, arguments: arguments)
        .answer(route.endpoint, body: request.body)
    } catch {
      return LiveAnswer(error)
    }
  }

  /// The methods of a path; empty for an unknown one.
  public static func methods(of path: String) -> [String] {
    guard let segments = try? Percent.segments(path) else { return [] }
    return Route.all.filter { $0.arguments(of: segments) != nil }.map(\.method)
  }

  /// The description of the interface, an OpenAPI document.
  public static var openAPI: [UInt8] { OpenAPIDocument.json }

  static func match(
    _ request: LiveRequest
  ) throws(TreeRingError) -> (route: Route, arguments: Arguments) {
    let segments = try Percent.segments(request.path)
    for route in Route.all where route.method == request.method {
      guard let path = route.arguments(of: segments) else { continue }
      return (route, try Arguments(path, request.query, route))
    }
    throw TreeRingError(.notFound, "There is nothing at this path. See /v1/openapi.json.")
  }

  /// The arguments of a path with a query.
  static func arguments(
    of path: String, _ query: String
  ) throws(TreeRingError) -> Arguments {
    try match(LiveRequest(path: path, query: query)).arguments
  }

  /// The first commit and the longest wait that the query of `/v1/log` asks for.
  ///
  /// - Throws: `invalidInput` for a mistake in the query.
  public static func logQuery(
    _ query: String
  ) throws(TreeRingError) -> (from: CommitNumber, seconds: Int) {
    let arguments = try arguments(of: "/v1/log", query)
    return (
      CommitNumber(try arguments.integer("from") ?? 1),
      min(try arguments.integer("wait") ?? 30, 600)
    )
  }

  /// The message that opens the window of a query.
  private static func openMessage(_ query: String) throws(TreeRingError) -> [UInt8] {
    let arguments = try arguments(of: "/v1/live", query)
    guard let index = try arguments.text("index") else {
      throw TreeRingError(.invalidInput, "The parameter “index” is missing.")
    }
    var object = JSONObject()
    object.number("open", 1)
    object.text("index", index)
    if let groups = try arguments.text("groups") {
      object.texts("groups", groups.split(separator: ",").map(String.init))
    }
    var ranges: [String] = []
    for text in try arguments.texts("range") {
      let (group, range) = try GroupRangeText.split(text)
      ranges.append(JSONText.quoted(group) + ":" + JSONText.quoted(range))
    }
    object.raw("ranges", "{" + ranges.joined(separator: ",") + "}")
    object.texts("reversed", try arguments.texts("reverse"))
    object.bool("hideEmpty", try arguments.flag("hideEmpty"))
    object.bool("totals", try arguments.flag("totals"))
    if let fields = try arguments.text("fields") {
      object.texts("fields", fields.split(separator: ",").map(String.init))
    }
    if let at = try arguments.text("at") { object.text("at", at) }
    if let from = try arguments.text("resume") {
      if let commit = CommitNumber(from) {
        object.number("from", commit)
      } else {
        object.text("from", from)
      }
    }
    return object.finish()
  }
}
