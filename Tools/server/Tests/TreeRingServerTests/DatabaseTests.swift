import Foundation
import Testing
import TreeRing
import TreeRingLive

@testable import TreeRingServer

@Suite("Databases over HTTP", .serialized)
struct DatabaseTests {
  @Test("Only paths of databases go to databases, and only if they are served")
  func paths() async throws {
    let plain = try await TestServer(isWritable: true)
    #expect(try plain.ask("/a.json").status == 404)
    try await plain.stop()
    let test = try await TestServer.databases()
    #expect(try test.ask("/a.json", method: "PUT", body: "1").status == 200)
    #expect(try test.ask("/a.json").body == "1")
    #expect(try test.ask("/a.json?auth=\(TestServer.token)", token: nil).body == "1")
    #expect(try test.ask("/v1/openapi.json", token: nil).body.contains("openapi"))
    #expect(try test.ask("/v1/store").body.contains("\"rtdb\""))
    for target in ["/a", "/a/b?print=pretty"] {
      let answer = try test.ask(target, token: nil)
      #expect(answer.status == 404 && answer.body.contains("Append .json"), "\(target)")
    }
    #expect(try test.ask("/", token: nil).status == 200)
    #expect(try test.ask("/v1/nothing", token: nil).status == 401)
    let denied = try test.ask("/a.json", token: nil)
    #expect(denied.status == 401 && denied.body == "{\"error\":\"Permission denied\"}\n")
    #expect(try test.ask("/a.json", token: "wrong-token-0000000").status == 401)
    #expect(try test.ask("/a.json", host: "evil.example").status == 421)
    #expect(try test.ask("/a.json", headers: ["Origin: https://evil.example"]).status == 403)
    try await test.stop()
  }

  @Test("Without --write a database is read only")
  func reading() async throws {
    let test = try await TestServer { $0.databases = DatabaseOptions() }
    let refused = try test.ask("/a.json", method: "PUT", body: "1")
    #expect(refused.status == 403 && refused.body.contains("does not take writes"))
    #expect(try test.ask("/a.json").body == "null")
    try await test.stop()
  }

  @Test("Pages of a named origin may use all methods and read entity tags")
  func origins() async throws {
    let test = try await TestServer.databases { $0.origins = ["https://app.example"] }
    let answer = try test.ask(
      "/a.json", method: "OPTIONS", token: nil, headers: ["Origin: https://app.example"])
    #expect(answer.status == 204)
    for part in ["PUT, POST, PATCH, DELETE", "if-match", "Access-Control-Expose-Headers: etag"] {
      #expect(answer.head.contains(part), "\(part)")
    }
    try await test.stop()
  }

  @Test("Bodies are bounded, with refusals in the protocol's form")
  func bodies() async throws {
    let test = try await TestServer.databases { $0.databases?.bodyByteCount = 1_000 }
    let body = "\"" + String(repeating: "x", count: 1_000) + "\""
    let answer = try test.ask("/a.json", method: "PUT", body: body)
    #expect(answer.status == 413 && answer.body.hasPrefix("{\"error\":\""))
    try await test.stop()
  }

  @Test("A stream sends writes at once, shows life, and ends when its token is withdrawn")
  func streams() async throws {
    let (reader, writer) = ("reader-token-0000000", TestServer.token)
    let file = try TokenFile([reader, writer])
    defer { file.remove() }
    let test = try await TestServer.databases {
      $0.databases?.keepAliveSeconds = 1
      file.apply(to: &$0)
    }
    let connection = try TestConnection(test.port)
    try connection.send(
      "GET /list.json?auth=\(reader) HTTP/1.1\r\nHost: 127.0.0.1:\(test.port)\r\n"
        + "Accept: text/event-stream\r\n\r\n")
    var received = ""
    func receive(until part: String) throws {
      while !received.contains(part) {
        let bytes = try connection.receive()
        if bytes.isEmpty { throw TestConnection.Failure(sentence: "ended before \(part)") }
        received += String(decoding: bytes, as: UTF8.self)
      }
    }
    try receive(until: "event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")
    #expect(received.contains("Content-Type: text/event-stream; charset=utf-8\r\n"))
    #expect(received.contains("Connection: close\r\n"))
    #expect(try test.ask("/list/a.json", method: "PUT", body: "1").status == 200)
    try receive(until: "event: put\ndata: {\"path\":\"/a\",\"data\":1}\n\n")
    try receive(until: "event: keep-alive\ndata: null\n\n")
    try file.write([TokenFile.line(writer)])
    try test.server.reload()
    try receive(until: "event: auth_revoked\ndata: credential is no longer valid\n\n")
    while try !connection.receive().isEmpty {}
    #expect(try await test.eventually { try test.figure("treering_server_readers") == 0 })
    try await test.stop()
  }

  @Test("The emulator's manners are for loopback alone")
  func emulator() async throws {
    var options = ServerOptions()
    options.address = "0.0.0.0"
    options.certificate = ("chain.pem", "key.pem")
    options.tokenFile = "tokens"
    options.databases = DatabaseOptions()
    options.tokens = TokenTable(TestServer.token, LiveAccess(.admin))
    try options.check()
    options.databases?.isEmulator = true
    #expect(throws: ServerError.self) { try options.check() }
    let test = try await TestServer.databases(isEmulator: true)
    #expect(try test.ask("/a.json", method: "PUT", token: nil, body: "1").status == 200)
    #expect(try test.ask("/.settings/rules.json", token: "owner").status == 200)
    #expect(try test.ask("/.settings/rules.json", token: nil).status == 401)
    try await test.stop()
  }
}
