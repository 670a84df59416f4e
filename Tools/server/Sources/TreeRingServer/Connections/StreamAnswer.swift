// Answers that last: live windows and the log as Server-Sent Events, and a log that is waited for.

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import TreeRing
internal import TreeRingLive

/// The pump of an answer, with its timers.
final class StreamAnswer {
  private let hub: Hub
  private let server: ServerCore
  private let pump: Pump
  /// Whether the head of the answer has been sent.
  let hasBegun: Bool
  /// Whether the reader notices itself that its token was withdrawn, and names that as the reason
  /// in its last event.
  let checksToken: Bool
  private var timer: RepeatedTask?
  private var timeout: Scheduled<Void>?

  init(
    _ server: ServerCore, _ pump: Pump, hasBegun: Bool, checksToken: Bool = false,
    timer: RepeatedTask? = nil, timeout: Scheduled<Void>? = nil
  ) {
    self.hasBegun = hasBegun
    self.checksToken = checksToken
    hub = server.hub
    self.server = server
    self.pump = pump
    self.timer = timer
    self.timeout = timeout
  }

  func poke() { pump.poke(server.pool) }

  /// Has a timer that ends with the answer.
  func keep(_ timer: RepeatedTask) { self.timer = timer }

  /// Ends the reader at once.
  func stop() {
    hub.remove(pump)
    timer?.cancel()
    timeout?.cancel()
  }
}

extension HTTPHandler {
  /// Begins an answer that lasts.
  func startStream(
    _ path: String, _ request: LiveRequest, _ access: LiveAccess, _ head: HTTPRequestHead,
    _ context: ChannelHandlerContext
  ) {
    let isEvents = head.headers[canonicalForm: "accept"].contains {
      $0.hasPrefix("text/event-stream")
    }
    if path == "/v1/live", !isEvents {
      return send(
        LiveAnswer(
          status: 426, code: "upgradeRequired",
          message: "Connect with a WebSocket, or accept text/event-stream."),
        context, [("Upgrade", "websocket")])
    }
    let server = server
    let lastID = head.headers.first(name: "last-event-id").flatMap { UInt64($0) }
    let loop = context.eventLoop
    let bound = NIOLoopBound(context, eventLoop: loop)
    let handler = NIOLoopBound(self, eventLoop: loop)
    server.pool.runIfActive(eventLoop: loop) {
      if path == "/v1/live" {
        let reader: any LiveReader =
          request.method == "POST"
          ? try server.service.session(for: access, messages: request.body)
          : try server.service.session(for: access, query: request.query)
        return (reader, 0)
      }
      let (from, seconds) = try LiveService.logQuery(request.query)
      // An event stream that reconnects names the last event it got.
      let reader: any LiveReader = try server.service.logReader(
        from: isEvents ? lastID.map { $0 + 1 } ?? from : from, for: access)
      return (reader, seconds)
    }.whenComplete { (result: Result<(any LiveReader, Int), any Error>) in
      switch result {
      case .success(let (reader, seconds)):
        if isEvents {
          handler.value.sendEvents(of: reader, bound.value)
        } else {
          handler.value.sendOnce(reader, seconds: seconds, bound.value)
        }
      case .failure(let error as TreeRingError):
        handler.value.send(LiveAnswer(error), bound.value)
      case .failure:
        handler.value.send(
          LiveAnswer(status: 503, code: "closed", message: "The server is ending."), bound.value)
      }
    }
  }

  /// Sends every message as an event, with a comment from time to time so that proxies see life.
  private func sendEvents(of reader: any LiveReader, _ context: ChannelHandlerContext) {
    server.figures.answered(200)
    var headers = headers("text/event-stream")
    headers.add(name: "X-Accel-Buffering", value: "no")
    let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
    context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    let channel = context.channel
    let isLog = reader is LogReader
    let pump = Pump(reader, channel, server.figures, revisit: server.hub.revisit) {
      messages, promise in
      let events = Events.encode(
        Array(messages.joined(separator: [UInt8(ascii: "\n")])), isLog: isLog)
      channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(events)), promise: promise)
    }
    let timer = context.eventLoop.scheduleRepeatedTask(
      initialDelay: .seconds(15), delay: .seconds(15)
    ) { _ in
      if channel.isWritable {
        channel.writeAndFlush(
          HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: ":\n\n"))), promise: nil)
      }
    }
    stream = StreamAnswer(server, pump, hasBegun: true, timer: timer)
    // The tokens may have changed since the request was checked.
    if !hasRights { return endStream(context) }
    server.hub.add(pump)
  }

  /// Sends the first message as the whole answer, or an empty one after some seconds.
  private func sendOnce(
    _ reader: any LiveReader, seconds: Int, _ context: ChannelHandlerContext
  ) {
    let loop = context.eventLoop
    let bound = NIOLoopBound(context, eventLoop: loop)
    let handler = NIOLoopBound(self, eventLoop: loop)
    let pump = Pump(reader, context.channel, server.figures, revisit: server.hub.revisit) {
      messages, promise in
      loop.execute {
        promise.succeed()
        guard handler.value.stream != nil else { return }
        handler.value.stream?.stop()
        handler.value.stream = nil
        handler.value.send(
          LiveAnswer(contentType: "application/x-ndjson", body: Array(messages.joined())),
          bound.value)
      }
    }
    let timeout = loop.assumeIsolated().scheduleTask(in: .seconds(Int64(seconds))) {
      guard handler.value.stream != nil else { return }
      handler.value.stream?.stop()
      handler.value.stream = nil
      handler.value.send(LiveAnswer(contentType: "application/x-ndjson", body: []), bound.value)
    }
    stream = StreamAnswer(server, pump, hasBegun: false, timeout: timeout)
    if !hasRights { return endStream(context) }
    server.hub.add(pump)
  }
}

/// The format of Server-Sent Events.
enum Events {
  /// The event of a message. The log's lines become an event each, with the commit as its id.
  static func encode(_ message: [UInt8], isLog: Bool) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.reserveCapacity(message.count + 64)
    for line in message.split(separator: UInt8(ascii: "\n")) {
      let prefix = Array("{\"commit\":".utf8)
      if isLog, line.starts(with: prefix) {
        let digits = line.dropFirst(prefix.count).prefix { (0x30...0x39).contains($0) }
        buffer.writeString("id: ")
        buffer.writeBytes(digits)
        buffer.writeString("\n")
      }
      buffer.writeString("data: ")
      buffer.writeBytes(line)
      buffer.writeString("\n\n")
    }
    return buffer
  }
}
