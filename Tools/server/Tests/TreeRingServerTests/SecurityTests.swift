import Foundation
import Testing
import TreeRing
import TreeRingLive

@testable import TreeRingServer

@Suite("Security of the server", .serialized)
struct SecurityTests {
  @Test("Without a token nothing of the store is read; the module and the description are open")
  func tokens() async throws {
    let test = try await TestServer()
    for target in [
      "/v1/store", "/v1/commits", "/v1/commits/1", "/v1/buckets/rows/rows",
      "/v1/indexes/board/groups", "/v1/stats", "/metrics", "/v1/log?from=1", "/v1/live",
      "/v1/nothing",
    ] {
      #expect(try test.ask(target, token: nil).status == 401, "\(target)")
      for wrong in ["", "x", TestServer.token + "x", String(TestServer.token.dropLast())] {
        #expect(try test.ask(target, token: wrong).status == 401, "\(target)")
      }
    }
    for target in ["/", "/inspector/main.js", "/treering.js", "/v1/openapi.json"] {
      #expect(try test.ask(target, token: nil).status == 200)
    }
    #expect(try test.ask("/v1/store").status == 200)
    // A token in the URL would stand in the logs of proxies.
    #expect(try test.ask("/v1/store?token=\(TestServer.token)", token: nil).status == 401)
    let refused = try TestConnection(test.port).upgrade(token: "wrong-token-0000", port: test.port)
    #expect(refused.hasPrefix("HTTP/1.1 401"))
    try await test.stop()
  }

  @Test("The inspector's files are those of a table; no path leads to another file")
  func files() async throws {
    let test = try await TestServer()
    let page = try test.ask("/", token: nil)
    #expect(page.head.contains("Content-Type: text/html; charset=utf-8"))
    // Every file that the page and its modules name is served, and nothing of another host.
    var names = ["/"]
    var seen: Set<String> = []
    while let name = names.popLast() {
      guard seen.insert(name).inserted else { continue }
      let answer = try test.ask(name, token: nil)
      #expect(answer.status == 200, "\(name)")
      #expect(!answer.body.contains("https://"), "\(name)")
      for match in answer.body.matches(of: /(?:src=|href=|from )"([.\/][^"#]+)"/) {
        names.append(String(match.1).replacing("./", with: "/inspector/"))
      }
    }
    #expect(seen.count > 30)
    #expect(!page.body.contains("<style"))
    #expect(!page.body.contains(" style="))
    #expect(!page.body.contains(/<script(?![^>]* src=)/))
    for target in [
      "/inspector/", "/inspector", "/inspector/../treering.js", "/inspector/%2e%2e/treering.js",
      "/inspector/..%2fPackage.swift", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
      "//etc/passwd", "/inspector//main.js", "/inspector/main.js%00", "/inspector/MAIN.js",
      "/page.html", "/inspector/page.html",
    ] {
      #expect([400, 401, 404].contains(try test.ask(target, token: nil).status), "\(target)")
      #expect([400, 404].contains(try test.ask(target).status), "\(target)")
    }
    #expect(try test.ask("/", method: "POST", token: nil).status == 404)
    #expect(try test.ask("/", host: "evil.example").status == 421)
    try await test.stop()
  }

  @Test("A Host header that does not name the server is refused")
  func hosts() async throws {
    let test = try await TestServer { $0.hosts = ["store.example"] }
    for host in ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:\(test.port)", ""] {
      #expect(try test.ask("/v1/store", host: host).status == 421, "\(host)")
      #expect(try test.ask("/treering.js", host: host).status == 421, "\(host)")
    }
    for host in ["localhost:\(test.port)", "[::1]:\(test.port)", "STORE.example"] {
      #expect(try test.ask("/v1/store", host: host).status == 200, "\(host)")
    }
    let twice = try test.ask("/v1/store", headers: ["Host: evil.example"])
    #expect([400, 421].contains(twice.status))
    try await test.stop()
  }

  @Test("Pages of other origins are refused, on WebSockets too, unless they are named")
  func origins() async throws {
    let test = try await TestServer(isWritable: true) { $0.origins = ["https://app.example"] }
    let own = "http://127.0.0.1:\(test.port)"
    for (origin, status) in [
      ("https://evil.example", 403), ("null", 403), ("http://127.0.0.1", 403), (own, 200),
      ("https://app.example", 200),
    ] {
      let answer = try test.ask("/v1/store", headers: ["Origin: \(origin)"])
      #expect(answer.status == status, "\(origin)")
      let allows = answer.head.contains("Access-Control-Allow-Origin: https://app.example")
      #expect(allows == (origin == "https://app.example"))
      #expect(!answer.head.contains("Access-Control-Allow-Origin: *"))
    }
    let evil = ["Origin: https://evil.example"]
    let socket = try TestConnection(test.port)
    let head = try socket.upgrade(token: TestServer.token, port: test.port, headers: evil)
    #expect(head.hasPrefix("HTTP/1.1 403"))
    let write = try test.ask(
      "/v1/commits", method: "POST", headers: evil + ["Content-Type: application/json"],
      body: "{\"ops\":[[\"delete\",\"rows\",\"k1\"]]}")
    #expect(write.status == 403)
    // A form of another page cannot send JSON.
    let form = try test.ask(
      "/v1/commits", method: "POST", headers: ["Content-Type: text/plain"], body: "{\"ops\":[]}")
    #expect(form.status == 415)
    try await test.stop()
  }

  @Test("An address of the network needs TLS and tokens of a file")
  func addresses() throws {
    var options = ServerOptions()
    options.tokens = TokenTable(TestServer.token, LiveAccess(.read))
    for address in ["127.0.0.1", "::1", "localhost"] {
      options.address = address
      try options.check()
    }
    for address in ["0.0.0.0", "::", "192.168.1.5", "example.org", "127.example.org"] {
      options.address = address
      options.certificate = nil
      options.tokenFile = nil
      #expect(throws: ServerError.self) { try options.check() }
      options.tokenFile = "tokens"
      #expect(throws: ServerError.self) { try options.check() }
      options.certificate = ("a", "b")
      try options.check()
    }
    options.tokens = TokenTable()
    #expect(throws: ServerError.self) { try options.check() }
    let random = (0..<100).map { _ in TokenTable.random() }
    #expect(Set(random).count == 100 && random.allSatisfy { $0.utf8.count == 43 })
  }

  @Test("The token file is private, well formed, and read again on request")
  func tokenFile() async throws {
    let file = try TokenFile()
    defer { file.remove() }
    let path = file.path
    let reader = "{\"token\":\"reader-0123456789\",\"role\":\"read\",\"buckets\":[\"rows\"]}"
    try file.write([reader])
    let table = try TokenTable(file: path)
    #expect(table.access(of: "reader-0123456789") == LiveAccess(.read, buckets: ["rows"]))
    for mode in [0o640, 0o604, 0o660, 0o666] {
      try file.write([reader], mode: mode)
      #expect(throws: ServerError.self) { try TokenTable(file: path) }
    }
    for bad in [
      "x", "{}", "{\"token\":\"short\",\"role\":\"read\"}",
      "{\"token\":\"reader-0123456789\",\"role\":\"owner\"}",
    ] {
      try file.write([bad])
      #expect(throws: ServerError.self) { try TokenTable(file: path) }
    }
    #expect(throws: ServerError.self) { try TokenTable(file: path + "-absent") }

    try file.write([reader])
    let test = try await TestServer { file.apply(to: &$0) }
    #expect(try test.ask("/v1/buckets/rows/rows", token: "reader-0123456789").status == 200)
    #expect(try test.ask("/v1/stats", token: "reader-0123456789").status == 403)
    try file.write([reader.replacing("reader", with: "other-")])
    try test.server.reload()
    #expect(try test.ask("/v1/buckets/rows/rows", token: "reader-0123456789").status == 401)
    try file.write(["nonsense"])
    #expect(throws: ServerError.self) { try test.server.reload() }
    #expect(try test.ask("/v1/buckets/rows/rows", token: "other--0123456789").status == 200)
    try await test.stop()
  }

  @Test("Sizes of targets, headers, bodies and messages are bounded")
  func sizes() async throws {
    let test = try await TestServer(isWritable: true) { $0.limits.bodyByteCount = 1000 }
    #expect(try test.ask("/v1/" + String(repeating: "x", count: 9000)).status == 414)
    let header = "X: " + String(repeating: "y", count: 17_000)
    #expect(try test.ask("/v1/store", headers: [header]).status == 431)
    let type = ["Content-Type: application/json"]
    let large = String(repeating: " ", count: 2000)
    #expect(try test.ask("/v1/commits", method: "POST", headers: type, body: large).status == 413)
    let chunked = try TestConnection(test.port)
    try chunked.send(
      "POST /v1/commits HTTP/1.1\r\nHost: 127.0.0.1:\(test.port)\r\n"
        + "Authorization: Bearer \(TestServer.token)\r\nTransfer-Encoding: chunked\r\n"
        + "Content-Type: application/json\r\n\r\n7d0\r\n\(large)\r\n")
    #expect(try chunked.head().hasPrefix("HTTP/1.1 413"))
    let socket = try test.webSocket()
    try socket.sendFrame([UInt8](repeating: 32, count: 70_000))
    #expect(try socket.frame().opcode == 8)
    #expect(try socket.isEnded())
    #expect(try test.ask("/v1/store", method: "PUT").status == 405)
    try await test.stop()
  }

  @Test("Connections of one address are bounded; slow requests and dead readers are closed")
  func connections() async throws {
    let test = try await TestServer {
      $0.limits.connectionsPerAddress = 5
      $0.limits.requestSeconds = 1
      $0.limits.idleSeconds = 1
    }
    var open: [TestConnection] = []
    for _ in 0..<5 { open.append(try TestConnection(test.port)) }
    try open[0].send("GET /v1/store HTTP/1.1\r\nHost: 127")
    #expect(try TestConnection(test.port).isEnded())
    // Nobody completes a request, so all are closed.
    for connection in open { #expect(try connection.isEnded()) }
    open = []
    #expect(try await test.eventually { try test.figure("treering_server_connections") == 1 })
    // A WebSocket that answers no ping.
    let socket = try test.webSocket()
    try socket.sendText("{\"open\":1,\"index\":\"board\"}")
    #expect(try socket.isEnded())
    #expect(try await test.eventually { try test.figure("treering_server_readers") == 0 })
    try await test.stop()
  }

  @Test("A client that sends its headers or its body byte by byte is closed in time")
  func slowRequests() async throws {
    let test = try await TestServer(isWritable: true) { $0.limits.requestSeconds = 1 }
    let body =
      "POST /v1/commits HTTP/1.1\r\nHost: 127.0.0.1:\(test.port)\r\nContent-Length: 9000\r\n"
      + "Authorization: Bearer \(TestServer.token)\r\nContent-Type: application/json\r\n\r\n"
    for beginning in ["GET /v1/store HTTP/1.1\r\nX: ", body] {
      let connection = try TestConnection(test.port)
      try connection.send(beginning)
      let start = ContinuousClock.now
      // Each byte is in time, the whole request is not.
      while ContinuousClock.now - start < .seconds(5) {
        guard (try? connection.send("x")) != nil else { break }
        try await Task.sleep(for: .milliseconds(50))
      }
      #expect(ContinuousClock.now - start < .seconds(3))
    }
    try await test.stop()
  }

  @Test("The comparison of a token takes as long wherever it differs")
  func constantTime() throws {
    // So long that a comparison that ends at the first difference takes a thousandth of the time.
    let token = String(repeating: "t", count: 1 << 20)
    let table = TokenTable(token, LiveAccess(.read))
    func time(_ given: String) -> Duration {
      (0..<10).map { _ in
        ContinuousClock().measure { #expect(table.access(of: given) == nil) }
      }.min() ?? .zero
    }
    let (first, last) = (time("x" + token.dropFirst()), time(token.dropLast() + "x"))
    // Other programs may take the processor in between, but not from all ten.
    #expect(first > last / 100 && last > first / 100, "\(first), \(last)")
    #expect(table.access(of: token) == LiveAccess(.read))
    #expect(table.access(of: token + token) == nil && table.access(of: "t") == nil)
  }

  @Test("A token of another role writes nothing, sees no other bucket, and learns nothing of it")
  func roles() async throws {
    let file = try TokenFile()
    defer { file.remove() }
    let (reads, writes, other) = ("reads-0123456789", "writes-0123456789", "other-0123456789")
    try file.write([
      TokenFile.line(reads, role: "read"), TokenFile.line(writes, role: "write"),
      TokenFile.line(other, role: "write", ",\"buckets\":[\"elsewhere\"]"),
    ])
    let test = try await TestServer(isWritable: true) { file.apply(to: &$0) }
    func write(_ token: String, _ line: String) throws -> Int {
      try test.ask(
        "/v1/commits", method: "POST", token: token, headers: ["Content-Type: application/json"],
        body: line
      ).status
    }
    let delete = "{\"ops\":[[\"delete\",\"rows\",\"k1\"]]}"
    #expect(try write(reads, delete) == 403)
    #expect(try write(other, delete) == 403)
    let define =
      "{\"ops\":[[\"index\",\"i\",{\"bucket\":\"rows\",\"group\":\"group\",\"version\":1}]]}"
    #expect(try write(writes, define) == 403)
    #expect(test.store.newestCommit == 2)
    #expect(try write(writes, delete) == 201)
    for target in ["/v1/buckets/rows/rows", "/v1/buckets/rows/rows/k1", "/v1/commits", "/metrics"] {
      let answer = try test.ask(target, token: other)
      #expect(answer.status == 403 && !answer.body.contains("k1"), "\(target)")
    }
    let socket = try TestConnection(test.port)
    #expect(try socket.upgrade(token: other, port: test.port).hasPrefix("HTTP/1.1 101"))
    try socket.sendText("{\"open\":1,\"index\":\"board\"}")
    let error = try socket.message()["error"] as? [String: String]
    #expect(error?["code"] == "notAllowed")
    try await test.stop()
  }

  @Test("A client that does not read its last answer is closed")
  func unreadAnswer() async throws {
    let test = try await TestServer { $0.limits.requestSeconds = 1 }
    // Larger than the system's buffers.
    try test.put("big", .init(group: "g0", order: 0, text: String(repeating: "x", count: 16 << 20)))
    let connection = try TestConnection(test.port, receiveBuffer: 4096)
    try connection.send(
      "GET /v1/buckets/rows/rows/big HTTP/1.1\r\nHost: 127.0.0.1:\(test.port)\r\n"
        + "Authorization: Bearer \(TestServer.token)\r\nConnection: close\r\n\r\n")
    #expect(try connection.head().hasPrefix("HTTP/1.1 200"))
    #expect(try await test.eventually { try test.figure("treering_server_connections") == 1 })
    try await test.stop()
  }

  @Test("Answers forbid sniffing, framing, foreign scripts and caching")
  func headers() async throws {
    let test = try await TestServer()
    for target in ["/", "/inspector/main.js", "/v1/store", "/treering.js", "/v1/nothing"] {
      let head = try test.ask(target).head
      for line in [
        "X-Content-Type-Options: nosniff", "Cache-Control: no-store",
        "Referrer-Policy: no-referrer", "Cross-Origin-Opener-Policy: same-origin",
        "Cross-Origin-Embedder-Policy: require-corp", "Cross-Origin-Resource-Policy: same-origin",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
          + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
          + "require-trusted-types-for 'script'; trusted-types 'none'",
      ] {
        #expect(head.contains(line), "\(target): \(line)")
      }
    }
    try await test.stop()
  }
}
