import Foundation
import NIOCore
import NIOSSL
import Synchronization
import Testing
import TreeRingHTTPClient
import TreeRingRemote

@Suite("Answers over TLS")
struct TransportTests {
  private let certificate: Certificate
  init() throws { certificate = try Certificate() }

  /// Runs a test with a server, and removes what it used.
  private func with(
    _ script: @escaping ScriptedServer.Script,
    _ body: (ScriptedServer, HTTPClientTransport) async throws -> Void
  ) async throws {
    defer { certificate.remove() }
    let server = try await ScriptedServer(certificate, script)
    try await body(server, HTTPClientTransport(tls: certificate.client))
    try await eventually { server.connectionCount == 0 }
    await server.stop()
  }

  private func eventually(_ condition: () -> Bool) async throws {
    for _ in 0..<20_000 where !condition() { try await Task.sleep(for: .milliseconds(1)) }
    #expect(condition())
  }

  private func request(
    _ server: ScriptedServer, silence: Duration = .seconds(20)
  ) throws -> HTTPRequest {
    HTTPRequest(url: try server.url("x"), headers: ["Accept": "text/plain"], silence: silence)
  }

  /// The status and the text of a whole answer.
  private func whole(
    _ answer: AsyncThrowingStream<HTTPAnswer, any Error>
  ) async throws -> (status: Int?, text: String) {
    var (status, bytes): (Int?, [UInt8]) = (nil, [])
    for try await piece in answer {
      switch piece {
      case .head(let found, _): status = found
      case .bytes(let more): bytes += more
      }
    }
    return (status, String(decoding: bytes, as: UTF8.self))
  }

  @Test(
    "An answer that ends at any byte before its last is an error, and the next one is whole",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n123456",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n12\r\n4\r\n3456\r\n0\r\n\r\n",
    ])
  func cuts(answer: String) async throws {
    let bytes = Array(answer.utf8)
    try await with { number, connection in
      let prefix = String(decoding: bytes.prefix(number), as: UTF8.self)
      connection.send(prefix, closes: true)
    } _: { server, transport in
      for length in 0..<bytes.count {
        await #expect(throws: (any Error).self, "after \(length) bytes") {
          try await whole(transport.send(request(server)))
        }
      }
      let (status, text) = try await whole(transport.send(request(server)))
      #expect(status == 200 && text == "123456")
      #expect(server.requests.count == bytes.count + 1)
    }
  }

  @Test("Bytes that are no answer are an error")
  func garbage() async throws {
    let answers = [
      "nonsense\r\n\r\n", "HTTP/1.1 99999 No\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nA: " + String(repeating: "x", count: 1 << 20),
    ]
    try await with { number, connection in
      connection.send(answers[number], closes: true)
    } _: { server, transport in
      for answer in answers {
        await #expect(throws: (any Error).self, "\(answer.prefix(60))") {
          try await whole(transport.send(request(server)))
        }
      }
      #expect(server.requests.count == answers.count)
    }
  }

  @Test("A redirect is an answer; headers have lower case; the request has method and body")
  func redirect() async throws {
    try await with { _, connection in
      connection.send(
        "HTTP/1.1 307 Moved\r\nLocation: /y\r\nVary: a\r\nVary: b\r\nContent-Length: 0\r\n\r\n")
    } _: { server, transport in
      var sent = try request(server)
      sent = HTTPRequest(
        method: "POST", url: sent.url, headers: ["X-One": "1"], body: Array("{}".utf8),
        silence: sent.silence)
      var answer = transport.send(sent).makeAsyncIterator()
      guard case .head(307, let headers)? = try await answer.next() else {
        Issue.record("no redirect")
        return
      }
      #expect(headers["location"] == "/y" && headers["vary"] == "a, b")
      for _ in 0..<2 { #expect(try await answer.next() == nil) }
      let head = try #require(server.requests.first)
      #expect(server.requests.count == 1 && head.hasPrefix("POST /x HTTP/1.1\r\n"))
      #expect(head.contains("X-One: 1") && head.lowercased().contains("content-length: 2"))
    }
  }

  @Test("Pieces come as they are sent; the end of the iteration closes the connection")
  func streaming() async throws {
    try await with { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
      connection.eventLoop.scheduleTask(in: .milliseconds(50)) {
        connection.send("3\r\ntwo\r\n")
      }
    } _: { server, transport in
      var texts: [String] = []
      for try await piece in transport.send(try request(server)) {
        guard case .bytes(let bytes) = piece else { continue }
        texts.append(String(decoding: bytes, as: UTF8.self))
        if texts.count == 2 { break }
      }
      #expect(texts == ["one", "two"])
    }
  }

  @Test("Cancelling ends the answer without an error, before its head and within its body")
  func cancelling() async throws {
    try await with { number, connection in
      if number == 1 { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1") }
    } _: { server, transport in
      for number in 0..<2 {
        let sent = try request(server)
        let task = Task { try await whole(transport.send(sent)) }
        try await eventually { server.requests.count > number }
        if number == 1 { try await Task.sleep(for: .milliseconds(20)) }
        task.cancel()
        _ = try await task.value
        try await eventually { server.connectionCount == 0 }
      }
    }
  }

  @Test("A silent server counts as lost, before the head and within the body")
  func silence() async throws {
    try await with { number, connection in
      if number == 1 { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1") }
    } _: { server, transport in
      // A machine under load may need longer to connect than the first silences last.
      for attempt in 0..<8 where server.requests.count < 2 {
        let sent = try request(server, silence: .milliseconds(200 << attempt))
        await #expect(throws: (any Error).self) { try await whole(transport.send(sent)) }
      }
      #expect(server.requests.count == 2)
    }
  }

  @Test("A server waits for a slow reader, which loses nothing")
  func backpressure() async throws {
    let total = 1 << 26
    let sent = Mutex(0)
    // Writes the next piece when the system has taken the last one.
    @Sendable func write(_ connection: any Channel) {
      let piece = ByteBuffer(repeating: 0x78, count: 1 << 14)
      connection.writeAndFlush(piece).whenSuccess {
        let count = sent.withLock { count in
          count += 1 << 14
          return count
        }
        if count < total { write(connection) }
      }
    }
    try await with { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
      write(connection)
    } _: { server, transport in
      var answer = transport.send(try request(server)).makeAsyncIterator()
      guard case .head(200, _)? = try await answer.next() else {
        Issue.record("no head")
        return
      }
      var last = -1
      while sent.withLock(\.self) != last {
        last = sent.withLock(\.self)
        try await Task.sleep(for: .milliseconds(200))
      }
      // The buffers of both sockets hold some megabytes.
      #expect(last < total / 2, "\(last) bytes were sent to a reader that takes none")
      var (count, largest) = (0, 0)
      while case .bytes(let bytes)? = try await answer.next() {
        count += bytes.count
        largest = max(largest, bytes.count)
      }
      #expect(count == total && largest <= 1 << 20, "\(largest)")
    }
  }

  @Test("Many answers last at once, and outlive the last use of their transport")
  func many() async throws {
    let connections = Mutex<[any Channel]>([])
    defer { certificate.remove() }
    let server = try await ScriptedServer(certificate) { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
      connections.withLock { $0.append(connection) }
    }
    weak var released: HTTPClientTransport?
    do {
      var tasks: [Task<(status: Int?, text: String), any Error>] = []
      do {
        let transport = HTTPClientTransport(tls: certificate.client)
        released = transport
        for _ in 0..<50 {
          let answer = transport.send(try request(server))
          tasks.append(Task { try await whole(answer) })
        }
      }
      try await eventually { connections.withLock(\.count) == 50 }
      #expect(released != nil)
      for connection in connections.withLock(\.self) { connection.send("0\r\n\r\n") }
      for task in tasks { #expect(try await task.value.text == "one") }
    }
    try await eventually { released == nil && server.connectionCount == 0 }
    await server.stop()
  }

  @Test("A server whose authority is unknown gets no request")
  func stranger() async throws {
    try await with { _, connection in
      connection.send("HTTP/1.1 204 No Content\r\n\r\n")
    } _: { server, transport in
      await #expect(throws: (any Error).self) {
        try await whole(HTTPClientTransport().send(request(server)))
      }
      #expect(server.requests.isEmpty)
      let (status, text) = try await whole(transport.send(request(server)))
      #expect(status == 204 && text.isEmpty)
    }
  }

  @Test("A port without a server is an error at once")
  func refused() async throws {
    try await with { _, _ in
    } _: { server, transport in
      let request = try request(server)
      await server.stop()
      await #expect(throws: (any Error).self) { try await whole(transport.send(request)) }
    }
  }
}
