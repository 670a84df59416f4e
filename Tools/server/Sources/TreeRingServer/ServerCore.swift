// The parts of a server that all its connections use.

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import TreeRingLive
internal import TreeRingRealtime

/// The shared parts.
final class ServerCore: Sendable {
  let service: LiveService
  /// The databases; nil without them.
  let databases: RealtimeService?
  let options: ServerOptions
  let gate: Gate
  let pool: NIOThreadPool
  let hub: Hub
  let connections: ConnectionTable
  let figures = ServerFigures()

  init(_ service: LiveService, _ options: ServerOptions, port: Int, _ pool: NIOThreadPool) {
    self.service = service
    self.options = options
    self.pool = pool
    gate = Gate(options, port: port)
    hub = Hub(service, pool, threadCount: options.threadCount, figures)
    connections = ConnectionTable(options.limits)
    databases = options.databases.map { [gate] databases in
      var options = RealtimeOptions()
      options.isEmulator = databases.isEmulator
      options.bodyByteCount = databases.bodyByteCount
      options.tokens = { gate.access(of: $0) }
      return RealtimeService(service.store, isWritable: service.isWritable, options: options)
    }
    databases?.observeWrites { [hub] in hub.nudge() }
  }

  /// The path of WebSockets of Firebase's SDKs.
  static let databaseSocketPath = "/.ws"

  /// Whether a path belongs to a database: any that is no path of the server. One that does not end
  /// in `.json` is refused with the advice to append it.
  func isDatabase(_ path: String) -> Bool {
    if databases == nil || StaticFile.all[path] != nil { return false }
    return path.hasSuffix(".json") || !path.hasPrefix("/v1/")
      ? LiveService.methods(of: path).isEmpty : false
  }

  /// The session of an SDK that connects.
  func databaseSession(_ head: HTTPRequestHead) throws -> RealtimeSession {
    guard let databases else { throw ServerError("The server serves no databases.") }
    return try databases.session(
      target: head.uri, host: head.headers.first(name: "host") ?? "")
  }

  /// The answer to a request, with the server's own figures after those of the store.
  func answer(_ request: LiveRequest, for access: LiveAccess) -> LiveAnswer {
    var answer = service.answer(request, for: access)
    if request.path == "/metrics", answer.status == 200 {
      answer.body += figures.text(connections: connections.count, readers: hub.count)
    }
    return answer
  }
}
