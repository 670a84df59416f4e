// Requests for databases, with the protocol of the Firebase Realtime Database: plain answers, and
// streams of events.

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import TreeRing
internal import TreeRingLive
internal import TreeRingRealtime

extension HTTPHandler {
  /// A refusal in the protocol's form.
  static func databaseRefusal(_ status: Int, _ message: String) -> LiveAnswer {
    liveAnswer(RealtimeAnswer(status: status, refusal: message))
  }

  private static func liveAnswer(_ answer: RealtimeAnswer) -> LiveAnswer {
    LiveAnswer(status: answer.status, contentType: answer.contentType, body: answer.body)
  }

  /// Answers a request for a database, or begins its stream.
  func answerDatabase(
    _ head: HTTPRequestHead, _ method: HTTPMethod, _ body: [UInt8], _ context: ChannelHandlerContext
  ) {
    guard let databases = server.databases else { return }
    if Self.path(of: head) == ServerCore.databaseSocketPath {
      return send(
        Self.databaseRefusal(400, "Connect with a WebSocket: /.ws?v=5&ns=NAME."), context)
    }
    let request = RealtimeRequest(
      method: method.rawValue, target: head.uri,
      headers: head.headers.map { (name: $0.name, value: $0.value) }, body: body)
    let isStream = head.headers[canonicalForm: "accept"].contains {
      $0.hasPrefix("text/event-stream")
    }
    let loop = context.eventLoop
    let bound = NIOLoopBound(context, eventLoop: loop)
    let handler = NIOLoopBound(self, eventLoop: loop)
    guard isStream, method == .GET else {
      server.pool.runIfActive(eventLoop: loop) {
        databases.answer(request)
      }.whenComplete { handler.value.send($0, bound.value) }
      return
    }
    server.pool.runIfActive(eventLoop: loop) {
      try databases.stream(request)
    }.whenComplete { (result: Result<EventReader, any Error>) in
      switch result {
      case .success(let reader): handler.value.sendEvents(of: reader, bound.value)
      case .failure(let refusal as RealtimeRefusal):
        handler.value.send(.success(refusal.answer), bound.value)
      case .failure(let error): handler.value.send(.failure(error), bound.value)
      }
    }
  }

  private func send(_ result: Result<RealtimeAnswer, any Error>, _ context: ChannelHandlerContext) {
    switch result {
    case .success(let answer):
      send(Self.liveAnswer(answer), context, answer.headers.map { ($0.name, $0.value) })
    case .failure:
      send(Self.databaseRefusal(503, "The server is ending."), context)
    }
  }

  /// Sends every event as it becomes due, and a sign of life from time to time.
  private func sendEvents(of reader: EventReader, _ context: ChannelHandlerContext) {
    server.figures.answered(200)
    var headers = headers("text/event-stream; charset=utf-8")
    headers.replaceOrAdd(name: "Cache-Control", value: "no-cache")
    headers.add(name: "Connection", value: "close")
    headers.add(name: "X-Accel-Buffering", value: "no")
    let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
    context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    let channel = context.channel
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    let pump = Pump(reader, channel, server.figures, revisit: server.hub.revisit) {
      messages, promise in
      var buffer = ByteBuffer()
      for message in messages { buffer.writeBytes(message) }
      channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(buffer)), promise: promise)
      guard reader.isOver else { return }
      // The last event said why the stream ends.
      promise.futureResult.whenComplete { _ in
        if handler.value.stream != nil { handler.value.finish(bound.value, keepsAlive: false) }
      }
    }
    let answer = StreamAnswer(server, pump, hasBegun: true, checksToken: true)
    stream = answer
    let time = TimeAmount.seconds(server.options.databases?.keepAliveSeconds ?? 30)
    answer.keep(
      context.eventLoop.scheduleRepeatedTask(initialDelay: time, delay: time) { _ in
        reader.requestKeepAlive()
        if channel.isWritable { handler.value.stream?.poke() }
      })
    server.hub.add(pump)
  }
}
