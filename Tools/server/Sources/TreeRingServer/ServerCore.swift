// The parts of a server that all its connections use.

internal import NIOCore
internal import NIOPosix
internal import TreeRingLive

/// The shared parts.
final class ServerCore: Sendable {
  let service: LiveService
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
