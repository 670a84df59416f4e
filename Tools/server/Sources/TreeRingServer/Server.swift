// The server: it listens, builds the pipeline of each connection, and ends gracefully.

internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import NIOWebSocket
public import TreeRingLive

/// A running server.
public final class Server: Sendable {
  private let core: ServerCore
  private let group: MultiThreadedEventLoopGroup
  private let listener: any Channel
  private let tls: NIOLockedValueBox<NIOSSLContext?>
  /// The port that it listens at.
  public let port: Int

  /// Starts a server.
  ///
  /// - Throws: `ServerError` if the options are unsafe or the certificate cannot be read; an error
  ///   of the system if the address cannot be used.
  public static func start(_ service: LiveService, _ options: ServerOptions) async throws -> Server
  {
    try options.check()
    let tls = NIOLockedValueBox(try context(options))
    // At most half of the processors send, so that a writer finds one free.
    let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, System.coreCount / 2))
    let pool = NIOThreadPool(numberOfThreads: options.threadCount)
    pool.start()
    let box = NIOLockedValueBox<ServerCore?>(nil)
    do {
      let listener = try await ServerBootstrap(group: group)
        .serverChannelOption(.backlog, value: 1024)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelOption(.maxMessagesPerRead, value: 4)
        .childChannelOption(
          .writeBufferWaterMark, value: .init(low: 32 << 10, high: 128 << 10)
        )
        .childChannelInitializer { channel in
          guard let core = box.withLockedValue({ $0 }), core.connections.add(channel) else {
            box.withLockedValue { $0 }?.figures.refusedConnection()
            return channel.close()
          }
          return channel.eventLoop.makeCompletedFuture {
            if let context = tls.withLockedValue({ $0 }) {
              try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            }
            try configure(channel, core)
          }
        }
        .bind(host: options.address, port: options.port).get()
      let port = listener.localAddress?.port ?? options.port
      let core = ServerCore(service, options, port: port, pool)
      box.withLockedValue { $0 = core }
      return Server(core, group, listener, tls, port)
    } catch {
      try? await pool.shutdownGracefully()
      try? await group.shutdownGracefully()
      throw error
    }
  }

  private init(
    _ core: ServerCore, _ group: MultiThreadedEventLoopGroup, _ listener: any Channel,
    _ tls: NIOLockedValueBox<NIOSSLContext?>, _ port: Int
  ) {
    self.core = core
    self.group = group
    self.listener = listener
    self.tls = tls
    self.port = port
  }

  /// Wakes readers after commits, until the task is cancelled.
  ///
  /// - Throws: the error that ended the following of a writer: the store must be opened again.
  public func run() async throws { try await core.hub.run() }

  /// Reads tokens and certificate again. After an error the former ones stay. Connections whose
  /// tokens were withdrawn, or have other rights now, end.
  public func reload() throws {
    let tokens = try core.options.tokenFile.map { file throws(ServerError) in
      try TokenTable(file: file)
    }
    let context = try Self.context(core.options)
    if let tokens {
      core.gate.replaceTokens(tokens)
      core.connections.checkTokens()
    }
    if let context { tls.withLockedValue { $0 = context } }
  }

  /// Ends gracefully: no further connections; answers under way are sent, for some seconds at most;
  /// readers that last are told that the server goes away.
  public func stop() async throws {
    try? await listener.close()
    core.connections.drain()
    let end = ContinuousClock.now + .seconds(core.options.limits.drainSeconds)
    while core.connections.count > 0, ContinuousClock.now < end {
      try? await Task.sleep(for: .milliseconds(20))
    }
    core.connections.closeAll()
    try await core.pool.shutdownGracefully()
    try await group.shutdownGracefully()
  }

  // MARK: - Pipelines

  private static func configure(_ channel: any Channel, _ core: ServerCore) throws {
    let handler = HTTPHandler(core)
    let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    let upgrader = NIOWebSocketServerUpgrader(
      maxFrameSize: core.options.limits.messageByteCount,
      shouldUpgrade: { channel, head in
        channel.eventLoop.makeSucceededFuture(upgradeHeaders(head, core))
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          let handler = try webSocketHandler(head, core)
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64,
              maxAccumulatedFrameSize: core.options.limits.messageByteCount))
          try pipeline.addHandler(handler)
        }
      })
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
      withPipeliningAssistance: true,
      withServerUpgrade: (
        upgraders: [upgrader],
        completionHandler: { context in
          context.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
        }
      ),
      withErrorHandling: false)
    try channel.pipeline.syncOperations.addHandler(handler)
  }

  /// The headers of a permitted upgrade; nil lets the handler of requests refuse it.
  private static func upgradeHeaders(
    _ head: HTTPRequestHead, _ core: ServerCore
  ) -> HTTPHeaders? {
    let limits = core.options.limits
    let size = head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    guard head.method == .GET, head.uri.utf8.count <= limits.targetByteCount,
      size <= limits.headerByteCount
    else { return nil }
    let path = HTTPHandler.path(of: head)
    if path == ServerCore.databaseSocketPath {
      guard core.gate.permitsSource(head.headers),
        (try? core.databaseSession(head)) != nil
      else { return nil }
      core.figures.answered(101)
      return HTTPHeaders()
    }
    guard path == "/v1/live", core.gate.permits(head.headers) else { return nil }
    core.figures.answered(101)
    // A browser requires one of the protocols that it offered, and the token must not come back.
    let offered = head.headers[canonicalForm: "sec-websocket-protocol"].contains("treering.v1")
    return offered ? ["Sec-WebSocket-Protocol": "treering.v1"] : HTTPHeaders()
  }

  /// The handler of a permitted upgrade.
  private static func webSocketHandler(
    _ head: HTTPRequestHead, _ core: ServerCore
  ) throws -> WebSocketHandler {
    if HTTPHandler.path(of: head) == ServerCore.databaseSocketPath {
      return WebSocketHandler(core, try core.databaseSession(head))
    }
    guard let access = try? core.gate.access(head.headers) else {
      throw ServerError("The token was withdrawn.")
    }
    return WebSocketHandler(core, access, head.headers)
  }

  private static func context(_ options: ServerOptions) throws -> NIOSSLContext? {
    guard let certificate = options.certificate else { return nil }
    do {
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: try NIOSSLCertificate.fromPEMFile(certificate.chain)
          .map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: certificate.key, format: .pem)))
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["http/1.1"]
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw ServerError("The certificate or its key cannot be used: \(error).")
    }
  }
}
