import Foundation
import Testing
import TreeRing
import TreeRingLive

@testable import TreeRingServer

@Suite("Databases over WebSockets", .serialized)
struct DatabaseSocketTests {
  private func connect(_ test: TestServer, ns: String = "chat") throws -> TestConnection {
    let connection = try TestConnection(test.port)
    let head = try connection.upgrade("/.ws?v=5&ns=\(ns)", token: nil, port: test.port)
    guard head.hasPrefix("HTTP/1.1 101") else { throw TestConnection.Failure(sentence: head) }
    return connection
  }

  /// The next message as text, joined from its frames.
  private func message(_ connection: TestConnection) throws -> String {
    var (text, missing) = ("", 0)
    while true {
      let (opcode, payload) = try connection.frame()
      if opcode == 8 { throw TestConnection.Failure(sentence: "closed: \(payload)") }
      guard opcode == 1 else { continue }
      let part = String(decoding: payload, as: UTF8.self)
      if missing == 0, payload.count <= 6, let count = Int(part) {
        missing = count
        continue
      }
      text += part
      missing -= 1
      if missing <= 0 { return text }
    }
  }

  private func ask(_ connection: TestConnection, _ request: String) throws {
    try connection.sendText("{\"t\":\"d\",\"d\":{\(request)}}")
  }

  @Test("A client of the SDKs' protocol listens, writes, and leaves its last write behind")
  func session() async throws {
    let test = try await TestServer.databases(isEmulator: true)
    let connection = try connect(test)
    #expect(try message(connection).contains("\"h\":\"127.0.0.1:\(test.port)\""))
    try ask(connection, #""r":1,"a":"q","b":{"p":"/list","h":""}"#)
    #expect(try message(connection).contains(#""b":{"p":"list","d":null}"#))
    #expect(try message(connection) == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}"#)
    // Another client over REST.
    #expect(
      try test.ask("/list/a.json?ns=chat", method: "PUT", token: nil, body: "1").status == 200)
    #expect(try message(connection) == #"{"t":"d","d":{"a":"d","b":{"p":"list/a","d":1}}}"#)
    // A long text in frames, both ways, as this client's write and as the event of it.
    let long = String(repeating: "x", count: 100_000)
    let put =
      "{\"t\":\"d\",\"d\":{\"r\":2,\"a\":\"p\",\"b\":{\"p\":\"/list/b\",\"d\":\"\(long)\"}}}"
    var rest = Array(put.utf8)[...]
    try connection.sendText("\((rest.count + 16_383) / 16_384)")
    while !rest.isEmpty {
      try connection.sendFrame(Array(rest.prefix(16_384)))
      rest = rest.dropFirst(16_384)
    }
    #expect(try message(connection).contains(long))
    #expect(try message(connection) == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#)
    try connection.sendText("0")
    try ask(connection, #""r":3,"a":"o","b":{"p":"/online","d":false}"#)
    #expect(try message(connection).contains(#""r":3,"b":{"s":"ok""#))
    try connection.sendFrame([0x03, 0xE8], opcode: 8)
    #expect(
      try await test.eventually {
        try test.ask("/online.json?ns=chat", token: nil).body == "false"
      })
    #expect(try await test.eventually { try test.figure("treering_server_readers") == 0 })
    try await test.stop()
  }

  @Test("The end of the server makes the writes on disconnect")
  func lastWrites() async throws {
    let test = try await TestServer.databases(isEmulator: true)
    let connections = try (0..<20).map { _ in try connect(test) }
    for (index, connection) in connections.enumerated() {
      _ = try message(connection)
      try ask(connection, "\"r\":1,\"a\":\"o\",\"b\":{\"p\":\"/k\(index)\",\"d\":1}")
      #expect(try message(connection).contains(#""s":"ok""#))
    }
    try await test.stop {
      let snapshot = try test.store.snapshot()
      let missing = try connections.indices.filter { index in
        try !snapshot.contains(Key("/k\(index)"), in: "rtdb/chat")
      }
      #expect(missing == [])
    }
  }

  @Test("Connections without --rtdb, of another version or another host are refused")
  func refusals() async throws {
    let plain = try await TestServer()
    let refused = try TestConnection(plain.port).upgrade("/.ws?v=5", token: nil, port: plain.port)
    #expect(refused.hasPrefix("HTTP/1.1 401"))
    try await plain.stop()
    let test = try await TestServer { $0.databases = DatabaseOptions() }
    let old = try TestConnection(test.port).upgrade("/.ws?v=4", token: nil, port: test.port)
    #expect(old.hasPrefix("HTTP/1.1 400"))
    let page = try TestConnection(test.port).upgrade(
      "/.ws?v=5", token: nil, port: test.port, headers: ["Origin: https://evil.example"])
    #expect(page.hasPrefix("HTTP/1.1 403"))
    // A message that no answer can name ends the connection, with a reason.
    let connection = try connect(test)
    _ = try message(connection)
    try connection.sendText("{\"t\":\"d\"}")
    #expect(try message(connection).hasPrefix(#"{"t":"c","d":{"t":"s","d":""#))
    #expect(try connection.isEnded())
    try await test.stop()
  }

  @Test("A withdrawn token is revoked, and the connection ends")
  func revocation() async throws {
    let reader = "reader-token-0000000"
    let file = try TokenFile([reader, TestServer.token])
    defer { file.remove() }
    let test = try await TestServer.databases { file.apply(to: &$0) }
    let connection = try connect(test)
    _ = try message(connection)
    try ask(connection, "\"r\":1,\"a\":\"gauth\",\"b\":{\"cred\":\"\(reader)\"}")
    #expect(try message(connection).contains(#""r":1,"b":{"s":"ok""#))
    try file.write([TokenFile.line(TestServer.token)])
    try test.server.reload()
    #expect(try message(connection).contains(#""a":"ac","b":{"s":"invalid_token""#))
    #expect(try connection.isEnded())
    try await test.stop()
  }
}
