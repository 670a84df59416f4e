// Requests of one connection, one after the other. Checks come first, in a fixed order: sizes, Host
// and Origin, method, token, type of the body. Then a thread of the pool makes the answer.

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOWebSocket
internal import TreeRing
internal import TreeRingLive

/// The handler of a connection's requests.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// A request under way.
  private struct Request {
    var head: HTTPRequestHead
    var body: ByteBuffer
    /// The answer that is certain before the body has come.
    var refusal: LiveAnswer?
    var origin: String?
    var access: LiveAccess?
    /// Whether the request is for a database.
    var isForDatabase = false
  }

  let server: ServerCore
  private var request: Request?
  private var isAnswering = false
  private var isEnding = false
  private var timeout: Scheduled<Void>?
  /// The reader of an answer that lasts.
  var stream: StreamAnswer?

  init(_ server: ServerCore) { self.server = server }

  func handlerAdded(context: ChannelHandlerContext) { expectRequest(context) }

  func handlerRemoved(context: ChannelHandlerContext) { stop() }

  func channelInactive(context: ChannelHandlerContext) {
    stop()
    context.fireChannelInactive()
  }

  private func stop() {
    timeout?.cancel()
    timeout = nil
    stream?.stop()
    stream = nil
  }

  /// Closes the connection unless the next request is complete in time.
  private func expectRequest(_ context: ChannelHandlerContext) {
    timeout?.cancel()
    let loop = context.eventLoop.assumeIsolated()
    let channel = context.channel
    timeout = loop.scheduleTask(in: .seconds(server.options.limits.requestSeconds)) {
      channel.close(promise: nil)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      request = Request(
        head: head, body: ByteBuffer(), isForDatabase: server.isDatabase(Self.path(of: head)))
      check(head)
    case .body(let part):
      guard request != nil, request?.refusal == nil else { return }
      var part = part
      request?.body.writeBuffer(&part)
      if request?.body.readableBytes ?? 0 > bodyLimit {
        refuse(413, "tooLarge", "The body is too large.")
        request?.body.clear()
        // The rest is not read: the answer goes out now, and the connection ends.
        answerRefusal(context)
      }
    case .end:
      timeout?.cancel()
      if isAnswering { return }
      if request?.refusal != nil { return answerRefusal(context) }
      answer(context)
    }
  }

  /// The most bytes of the request's body.
  private var bodyLimit: Int {
    guard request?.isForDatabase == true, let databases = server.options.databases else {
      return server.options.limits.bodyByteCount
    }
    return databases.bodyByteCount
  }

  private func refuse(_ status: Int, _ code: String, _ message: String) {
    let isForDatabase = request?.isForDatabase == true
    request?.refusal =
      isForDatabase
      ? Self.databaseRefusal(status, message)
      : LiveAnswer(status: status, code: code, message: message)
  }

  private func check(_ head: HTTPRequestHead) {
    let limits = server.options.limits
    if head.uri.utf8.count > limits.targetByteCount {
      return refuse(414, "tooLarge", "The URL is too long.")
    }
    let size = head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    if size > limits.headerByteCount {
      return refuse(431, "tooLarge", "The headers are too large.")
    }
    if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }),
      length > bodyLimit
    {
      return refuse(413, "tooLarge", "The body is too large.")
    }
    do throws(Gate.Refusal) {
      request?.origin = try server.gate.checkSource(head.headers)
      // Databases read credentials by themselves, because their rules decide without one.
      if head.method == .OPTIONS || request?.isForDatabase == true { return }
      if StaticFile.all[Self.path(of: head)] == nil {
        request?.access = try server.gate.access(head.headers)
      }
    } catch {
      refuse(error.status, error.code, error.message)
    }
  }

  static func path(of head: HTTPRequestHead) -> String {
    String(head.uri.prefix { $0 != "?" })
  }

  private func answerRefusal(_ context: ChannelHandlerContext) {
    guard !isAnswering, let refusal = request?.refusal else { return }
    isAnswering = true
    send(refusal, context, closing: refusal.status != 404)
  }

  private func answer(_ context: ChannelHandlerContext) {
    guard let request else { return }
    isAnswering = true
    let path = Self.path(of: request.head)
    let method = request.head.method == .HEAD ? HTTPMethod.GET : request.head.method
    if method == .OPTIONS { return send(LiveAnswer(status: 204, body: []), context) }
    if request.isForDatabase {
      return answerDatabase(
        request.head, method, Array(request.body.readableBytesView), context)
    }
    if let file = StaticFile.all[path], method == .GET { return send(file.answer, context) }
    let methods = LiveService.methods(of: path)
    if methods.isEmpty {
      return send(
        LiveAnswer(status: 404, code: "notFound", message: "There is nothing here."), context)
    }
    let allowed = methods.sorted().joined(separator: ", ")
    guard methods.contains(method.rawValue), let access = request.access else {
      return send(
        LiveAnswer(
          status: 405, code: "notAllowed", message: "This path takes \(allowed)."),
        context, [("Allow", allowed)])
    }
    if method == .POST, !Self.isJSON(request.head.headers) {
      return send(
        LiveAnswer(
          status: 415, code: "invalidInput", message: "The body's type is application/json."),
        context)
    }
    let live = LiveRequest(
      method: method.rawValue, target: request.head.uri, body: Array(request.body.readableBytesView)
    )
    if path == "/v1/live" || path == "/v1/log" {
      return startStream(path, live, access, request.head, context)
    }
    let server = server
    let loop = context.eventLoop
    let context = NIOLoopBound(context, eventLoop: loop)
    let handler = NIOLoopBound(self, eventLoop: loop)
    server.pool.runIfActive(eventLoop: loop) {
      server.answer(live, for: access)
    }.whenComplete { result in
      let answer =
        (try? result.get())
        ?? LiveAnswer(status: 503, code: "closed", message: "The server is ending.")
      handler.value.send(answer, context.value)
    }
  }

  private static func isJSON(_ headers: HTTPHeaders) -> Bool {
    let type = headers.first(name: "content-type")?.lowercased().prefix { $0 != ";" }
    return type == "application/json"
  }

  // MARK: - Answers

  /// The server's own modules, style sheets and pictures, connections to itself, and nothing else.
  /// A page can make no script or HTML from text.
  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    + "require-trusted-types-for 'script'; trusted-types 'none'"

  /// The headers of every answer.
  func headers(_ type: String) -> HTTPHeaders {
    var headers = HTTPHeaders([
      ("Content-Type", type), ("Cache-Control", "no-store"),
      ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
      ("Content-Security-Policy", Self.contentSecurityPolicy),
      ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Embedder-Policy", "require-corp"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
    ])
    if let origin = request?.origin {
      let isForDatabase = request?.isForDatabase == true
      headers.add(name: "Access-Control-Allow-Origin", value: origin)
      headers.add(
        name: "Access-Control-Allow-Headers",
        value: "authorization, content-type"
          + (isForDatabase ? ", if-match, if-none-match, x-firebase-etag" : ""))
      headers.add(
        name: "Access-Control-Allow-Methods",
        value: isForDatabase ? "GET, PUT, POST, PATCH, DELETE" : "GET, POST")
      if isForDatabase { headers.add(name: "Access-Control-Expose-Headers", value: "etag") }
      headers.add(name: "Vary", value: "Origin")
    }
    return headers
  }

  func send(
    _ answer: LiveAnswer, _ context: ChannelHandlerContext, closing: Bool = false,
    _ extra: [(String, String)] = []
  ) {
    server.figures.answered(answer.status)
    var headers = headers(answer.contentType)
    headers.add(contentsOf: HTTPHeaders(extra))
    if answer.status == 401 { headers.add(name: "WWW-Authenticate", value: "Bearer") }
    if answer.status != 204, answer.status != 304 {
      headers.add(name: "Content-Length", value: "\(answer.body.count)")
    }
    let keepsAlive = !closing && !isEnding && request?.head.isKeepAlive == true
    if !keepsAlive { headers.add(name: "Connection", value: "close") }
    let head = HTTPResponseHead(
      version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if request?.head.method != .HEAD {
      context.write(
        wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
    }
    finish(context, keepsAlive: keepsAlive)
  }

  /// Ends an answer, and with it the connection unless a further request may come.
  func finish(_ context: ChannelHandlerContext, keepsAlive: Bool) {
    request = nil
    isAnswering = false
    stream?.stop()
    stream = nil
    let end = context.writeAndFlush(wrapOutboundOut(.end(nil)))
    // The time also bounds the sending of this answer: a client may not read it.
    expectRequest(context)
    if !keepsAlive || isEnding {
      let channel = context.channel
      end.whenComplete { _ in channel.close(promise: nil) }
    }
  }

  var origin: String? { request?.origin }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { stream?.poke() }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is DrainEvent {
      isEnding = true
      if let stream {
        if stream.hasBegun {
          finish(context, keepsAlive: false)
        } else {
          send(
            LiveAnswer(status: 503, code: "closed", message: "The server is ending."), context)
        }
      } else if !isAnswering {
        context.close(promise: nil)
      }
    }
    if event is TokensEvent, let stream {
      if stream.checksToken { stream.poke() } else if !hasRights { endStream(context) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Whether the token of the request under way still has the rights that it was checked for.
  var hasRights: Bool {
    guard let request, let access = request.access else { return false }
    return server.gate.holds(access, Gate.credentials(request.head.headers))
  }

  /// Ends an answer that lasts.
  func endStream(_ context: ChannelHandlerContext) {
    guard let stream, !stream.hasBegun else { return finish(context, keepsAlive: false) }
    send(
      LiveAnswer(
        status: 401, code: "unauthorized", message: "The token was withdrawn or has other rights."),
      context, closing: true)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A refused upgrade: the request itself comes next, and gets its answer.
    if error is NIOWebSocketUpgradeError { return }
    // A request that is no HTTP gets an answer if none has begun.
    guard error is HTTPParserError, !isAnswering else { return context.close(promise: nil) }
    isAnswering = true
    send(
      LiveAnswer(status: 400, code: "invalidInput", message: "The request is no HTTP/1.1."),
      context, closing: true)
  }
}
