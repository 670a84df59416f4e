// Requests over plain sockets, without encryption: one thread and one connection for each.

internal import Foundation
internal import TreeRingPlatform

/// Plain sockets, for addresses that begin with `http:`.
package struct SocketTransport: HTTPTransport {
  package init() {}

  package func send(_ request: HTTPRequest) -> AnswerStream {
    let connection = SocketConnection()
    let pipe = AnswerPipe(whenClosed: { connection.cancel() })
    let number = Platform.startThread {
      let result = Result { () throws(ConnectionLost) in
        try connection.run(request) { pipe.put($0) }
      }
      connection.close()
      switch result {
      case .success: pipe.finish()
      case .failure(let error): pipe.finish(throwing: error)
      }
    }
    if number != 0 {
      pipe.finish(throwing: ConnectionLost(reason: "the system starts no more threads"))
    }
    return pipe.stream
  }
}

/// One connection. The thread that runs it closes the socket; others only shut it.
private final class SocketConnection: Sendable {
  private struct State {
    var descriptor: Int32 = -1
    var isCancelled = false
  }
  private let state = Mutex(State())

  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      if state.descriptor >= 0 { Platform.shut(state.descriptor) }
    }
  }

  func close() {
    let descriptor = state.withLock { state in
      defer { state.descriptor = -1 }
      return state.descriptor
    }
    if descriptor >= 0 { _ = TreeRingPlatform.close(descriptor) }
  }

  private func hold(_ descriptor: Int32) {
    state.withLock { state in
      state.descriptor = descriptor
      // A socket that is shut before it connects fails there or at its first write.
      if state.isCancelled, descriptor >= 0 { Platform.shut(descriptor) }
    }
  }

  private func checkCancellation() throws(ConnectionLost) {
    if state.withLock(\.isCancelled) { throw ConnectionLost(reason: "cancelled") }
  }

  /// Sends a request and passes on the pieces of its answer.
  func run(
    _ request: HTTPRequest, _ receive: (HTTPAnswer) -> Void
  ) throws(ConnectionLost) {
    try checkCancellation()
    let (host, port, head) = try Self.head(request)
    let descriptor: Int32
    switch Platform.connect(to: host, port: port, timeout: request.silence, hold: hold) {
    case .success(let opened): descriptor = opened
    case .failure(let failure): throw ConnectionLost(reason: failure.reason)
    }
    try checkCancellation()
    if let failure = Platform.send(descriptor, head) {
      throw ConnectionLost(reason: failure.reason)
    }
    var parser = AnswerParser()
    while !parser.isComplete {
      switch Platform.receive(descriptor) {
      case .failure(let failure): throw ConnectionLost(reason: failure.reason)
      case .success(let bytes) where bytes.isEmpty: try parser.end()
      case .success(let bytes): for piece in try parser.take(bytes) { receive(piece) }
      }
      try checkCancellation()
    }
  }

  private static func head(
    _ request: HTTPRequest
  ) throws(ConnectionLost) -> (host: String, port: UInt16, bytes: [UInt8]) {
    guard let components = URLComponents(url: request.url, resolvingAgainstBaseURL: true),
      let encodedHost = components.percentEncodedHost, !encodedHost.isEmpty,
      let port = UInt16(exactly: components.port ?? 80)
    else { throw ConnectionLost(reason: "the address has no host") }
    // The literal form of an IPv6 address has brackets.
    let host = encodedHost.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    let path = components.percentEncodedPath.isEmpty ? "/" : components.percentEncodedPath
    let query = components.percentEncodedQuery.map { "?\($0)" } ?? ""
    let literal = host.contains(":") ? "[\(host)]" : host
    let name = components.port.map { "\(literal):\($0)" } ?? literal
    var lines = [
      "\(request.method) \(path)\(query) HTTP/1.1", "Host: \(name)", "Connection: close",
    ]
    for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) {
      lines.append("\(name): \(value)")
    }
    if let body = request.body { lines.append("Content-Length: \(body.count)") }
    // A line feed in a token would begin another header.
    if lines.contains(where: { $0.utf8.contains { $0 < 0x20 || $0 == 0x7F } }) {
      throw ConnectionLost(reason: "a header contains a control character")
    }
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
    return (host, port, Array(text.utf8) + (request.body ?? []))
  }
}
