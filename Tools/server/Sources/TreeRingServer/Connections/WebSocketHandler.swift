// A session over a WebSocket. The client's messages go to the session one at a time; while one
// is handled, or answers wait, nothing is read from the network. So a client that sends without
// reading stops itself.

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOWebSocket
internal import TreeRingLive
internal import TreeRingRealtime

/// The handler of one WebSocket.
final class WebSocketHandler: ChannelDuplexHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let server: ServerCore
  private let session: any SocketSession
  private var pump: Pump?
  /// Messages that came in one read from the network.
  private var waiting: [[UInt8]] = []
  private var isHandling = false
  private var holdsRead = false
  private var isClosing = false
  /// Whether anything came since the last look.
  private var isAlive = true
  private var timer: RepeatedTask?

  /// Whether the token of the request still has the rights that the session has.
  private let hasRights: () -> Bool

  init(_ server: ServerCore, _ access: LiveAccess, _ headers: HTTPHeaders) {
    self.server = server
    let credentials = Gate.credentials(headers)
    hasRights = { server.gate.holds(access, credentials) }
    session = server.service.session(for: access)
  }

  /// The handler of a session that reads its credentials from its own messages.
  init(_ server: ServerCore, _ session: RealtimeSession) {
    self.server = server
    self.session = session
    hasRights = { true }
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    let pump = Pump(session, channel, server.figures, revisit: server.hub.revisit) {
      messages, promise in
      for (index, message) in messages.enumerated() {
        let frame = WebSocketFrame(
          fin: true, opcode: .text, data: channel.allocator.buffer(bytes: message))
        channel.write(frame, promise: index == messages.count - 1 ? promise : nil)
      }
      channel.flush()
      // Answers have gone, so the session may take a message again.
      promise.futureResult.whenComplete { _ in handler.value.sent(bound.value) }
    }
    self.pump = pump
    server.hub.add(pump)
    let idle = TimeAmount.seconds(server.options.limits.idleSeconds)
    timer = context.eventLoop.scheduleRepeatedTask(initialDelay: idle, delay: idle) { _ in
      handler.value.checkLife(bound.value)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { stop() }

  func channelInactive(context: ChannelHandlerContext) {
    stop()
    context.fireChannelInactive()
  }

  private func stop() {
    timer?.cancel()
    timer = nil
    if let pump {
      server.hub.remove(pump)
      // The end of the pool does not leave the session's last writes out.
      server.pool.submit { [session] _ in session.end() }
    }
    pump = nil
    waiting = []
  }

  /// Sends a ping if nothing came for a while, and closes the connection if nothing came even then.
  private func checkLife(_ context: ChannelHandlerContext) {
    guard isAlive else { return context.close(promise: nil) }
    isAlive = false
    // A token may have expired.
    checkSession()
    guard context.channel.isWritable else { return }
    context.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())), promise: nil)
  }

  private func checkSession() {
    session.requestCheck()
    pump?.poke(server.pool)
  }

  /// Goes on after messages have gone to the network.
  private func sent(_ context: ChannelHandlerContext) {
    if session.isOver { close(context, .normalClosure) } else { handleNext(context) }
  }

  // MARK: - Reading

  func read(context: ChannelHandlerContext) {
    if isHandling || !waiting.isEmpty || !session.acceptsInput {
      holdsRead = true
    } else {
      context.read()
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    isAlive = true
    if isClosing { return }
    switch frame.opcode {
    case .text, .binary:
      waiting.append(Array(frame.unmaskedData.readableBytesView))
      handleNext(context)
    case .ping:
      guard context.channel.isWritable else { return }
      context.writeAndFlush(
        wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)),
        promise: nil)
    case .connectionClose: close(context, .normalClosure)
    default: break
    }
  }

  private func handleNext(_ context: ChannelHandlerContext) {
    // The pump is nil once the connection has ended.
    if isHandling || pump == nil { return }
    guard session.acceptsInput, !waiting.isEmpty else { return resumeReading(context) }
    isHandling = true
    let message = waiting.removeFirst()
    let (session, pump) = (session, pump)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    server.pool.runIfActive(eventLoop: context.eventLoop) {
      session.receive(message)
      pump?.run()
    }.whenComplete { _ in
      handler.value.isHandling = false
      handler.value.handleNext(bound.value)
    }
  }

  private func resumeReading(_ context: ChannelHandlerContext) {
    guard holdsRead, waiting.isEmpty, session.acceptsInput else { return }
    holdsRead = false
    context.read()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable, let pump {
      let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
      let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
      server.pool.runIfActive(eventLoop: context.eventLoop) { pump.run() }.whenComplete { _ in
        handler.value.handleNext(bound.value)
      }
    }
    context.fireChannelWritabilityChanged()
  }

  // MARK: - Ending

  private func close(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
    if isClosing { return }
    isClosing = true
    var data = context.channel.allocator.buffer(capacity: 2)
    data.write(webSocketErrorCode: code)
    let channel = context.channel
    context.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
    ).whenComplete { _ in channel.close(promise: nil) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is DrainEvent { close(context, .goingAway) }
    if event is TokensEvent {
      if hasRights() { checkSession() } else { close(context, .policyViolation) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? NIOWebSocketError else { return context.close(promise: nil) }
    close(context, error == .invalidFrameLength ? .messageTooLarge : .protocolError)
  }
}
