import Foundation
import Testing
import TreeRing
import TreeRingLive

@testable import TreeRingServer

@Suite("Live windows over the network", .serialized)
struct LiveTests {
  private func keys(_ message: [String: Any]) -> [String] {
    let sections = message["sections"] as? [[Any]] ?? []
    return sections.flatMap { section in
      (section[1] as? [[Any]] ?? []).compactMap { $0[1] as? String }
    }
  }

  @Test("A window comes whole, then its changes; it seeks, resumes and closes")
  func window() async throws {
    let test = try await TestServer(rows: 4)
    let socket = try test.webSocket()
    try socket.sendText("{\"open\":\"w\",\"index\":\"board\",\"groups\":[\"g0\",\"g1\"]}")
    let whole = try socket.message()
    #expect(keys(whole) == ["k0", "k2", "k1", "k3"])
    try test.put("k9", .init(group: "g0", order: 1))
    let change = try socket.message()
    let rows = change["rows"] as? [String: Any]
    let place = (rows?["place"] as? [[Any]])?.first
    #expect(place?[2] as? String == "k9" && (place?[4] as? [String])?.last == "k2")
    try socket.sendText("{\"id\":\"w\",\"seek\":2}")
    let back = try socket.message()
    #expect((back["rows"] as? [String: Any]).map { ($0["remove"] as? [[Any]])?.count } == 1)
    try socket.sendText("{\"ping\":[1]}")
    #expect((try socket.message()["pong"] as? [Int]) == [1])
    // Fragments make one message.
    let text = Array("{\"id\":\"w\",\"live\":true}".utf8)
    try socket.sendFrame(Array(text.prefix(5)), isLast: false)
    try socket.sendFrame(Array(text.dropFirst(5)), opcode: 0)
    #expect(try socket.message()["commit"] as? Int == 3)
    try socket.sendText("not json")
    #expect(try socket.message()["error"] != nil)

    let other = try test.webSocket()
    try other.sendText(
      "{\"open\":1,\"index\":\"board\",\"groups\":[\"g0\",\"g1\"],\"from\":2}")
    let resumed = try other.message()
    #expect(resumed["from"] as? Int == 2 && resumed["commit"] as? Int == 3)
    try await test.stop()
  }

  @Test("A window and the log come as Server-Sent Events; the log can be waited for")
  func events() async throws {
    let test = try await TestServer(rows: 4)
    let lines = [
      "Host: 127.0.0.1:\(test.port)", "Authorization: Bearer \(TestServer.token)",
      "Accept: text/event-stream",
    ].joined(separator: "\r\n")
    func stream(_ target: String, _ more: String = "") throws -> TestConnection {
      let connection = try TestConnection(test.port)
      try connection.send("GET \(target) HTTP/1.1\r\n\(lines)\(more)\r\n\r\n")
      #expect(try connection.head().hasPrefix("HTTP/1.1 200"))
      return connection
    }
    func read(_ connection: TestConnection, until text: String) throws -> String {
      var found = ""
      while !found.contains(text) {
        found += String(decoding: try connection.receive(), as: UTF8.self)
      }
      return found
    }
    let window = try stream("/v1/live?index=board&groups=g0")
    #expect(try read(window, until: "\n\n").contains("\"reset\":\"firstState\""))
    for (query, status) in [("index=none", 404), ("index=board&at=99", 404), ("groups=g", 400)] {
      let refused = try TestConnection(test.port)
      try refused.send("GET /v1/live?\(query) HTTP/1.1\r\n\(lines)\r\n\r\n")
      #expect(try refused.head().hasPrefix("HTTP/1.1 \(status)"), "\(query)")
    }
    let log = try stream("/v1/log?from=1")
    #expect(try read(log, until: "\"commit\":2").contains("id: 1\n"))
    let resumed = try stream("/v1/log?from=1", "\r\nLast-Event-ID: 1")
    #expect(!(try read(resumed, until: "\"commit\":2").contains("id: 1\n")))
    async let waited = test.ask("/v1/log?from=3&wait=9")
    try await Task.sleep(for: .milliseconds(200))
    try test.put("k9", .init(group: "g0", order: 1))
    #expect(try await waited.body.contains("\"commit\":3"))
    #expect(try read(window, until: "k9").contains("\"from\":2"))
    #expect(try read(log, until: "id: 3").contains("k9"))
    #expect(try test.ask("/v1/log?from=9&wait=1").body.isEmpty)
    try await test.stop()
  }

  @Test("Readers that are closed free their snapshots and places at once")
  func closed() async throws {
    let test = try await TestServer()
    for _ in 0..<20 {
      let socket = try test.webSocket()
      try socket.sendText("{\"open\":1,\"index\":\"board\"}")
      _ = try socket.message()
      let events = try TestConnection(test.port)
      try events.send(
        "GET /v1/log?from=1 HTTP/1.1\r\nHost: 127.0.0.1:\(test.port)\r\n"
          + "Authorization: Bearer \(TestServer.token)\r\nAccept: text/event-stream\r\n\r\n")
      _ = try events.head()
    }
    #expect(try await test.eventually { try test.figure("treering_server_readers") == 0 })
    #expect(try await test.eventually { try test.figure("treering_server_connections") == 1 })
    #expect(test.store.pins.isEmpty)
    try await test.stop()
  }

  @Test("All windows of a connection get a commit, and all messages sent at once an answer")
  func manyWindows() async throws {
    let test = try await TestServer(rows: 4)
    let socket = try test.webSocket()
    for id in 0..<20 {
      try socket.sendText("{\"open\":\(id),\"index\":\"board\",\"groups\":[\"g\(id % 2)\"]}")
      _ = try socket.message()
    }
    for turn in 0..<50 {
      let row = TestServer.Row(group: "g\(turn % 2)", order: turn, text: "\(turn)")
      try test.put("k\(turn % 4)", row)
      // No further commit wakes the server before all ten windows of the group have their change.
      for _ in 0..<10 { #expect(try socket.message()["commit"] as? Int == turn + 3) }
    }
    for number in 0..<200 { try socket.sendText("{\"ping\":\(number)}") }
    for number in 0..<200 { #expect(try socket.message()["pong"] as? Int == number) }
    try await test.stop()
  }

  @Test("A reader that does not read holds up nobody, and gets one merged change")
  func stalled() async throws {
    let test = try await TestServer(rows: 2000)
    let slow = try test.webSocket(receiveBuffer: 4096)
    let fast = try test.webSocket()
    for socket in [slow, fast] {
      try socket.sendText("{\"open\":1,\"index\":\"board\",\"groups\":[\"g0\"]}")
    }
    _ = try fast.message()
    let text = String(repeating: "x", count: 2000)
    for number in 0..<2000 {
      try test.put("k\(number % 20 * 2)", .init(group: "g0", order: number, text: text))
    }
    var commit = 0
    while commit < 2002 { commit = try fast.message()["commit"] as? Int ?? 0 }
    #expect(try await test.eventually { test.store.pins.isEmpty })
    var count = 0
    commit = 0
    while commit < 2002 {
      commit = try slow.message()["commit"] as? Int ?? 0
      count += 1
    }
    // The messages that fit the buffers of the connection, and then one change.
    #expect(count < 1500)
    try await test.stop()
  }

  @Test("Random bytes and frames end at most their own connection")
  func garbage() async throws {
    let test = try await TestServer(isWritable: true)
    var random = SystemRandomNumberGenerator()
    for turn in 0..<300 {
      let bytes = (0..<Int.random(in: 1...400)).map { _ in UInt8.random(in: 0...255, using: &random)
      }
      let connection: TestConnection
      switch turn % 3 {
      case 0:
        connection = try TestConnection(test.port)
        try? connection.send(bytes)
      case 1:
        connection = try test.webSocket()
        try? connection.send(bytes)
      default:
        connection = try test.webSocket()
        for start in stride(from: 0, to: bytes.count, by: 40) {
          try? connection.sendFrame(Array(bytes[start...].prefix(40)), opcode: bytes[start] & 0x0F)
        }
      }
    }
    for part in ["open", "id", "seek", "ping", "grow"] {
      for value in ["null", "[]", "{}", "1e9", "\"\\ud800\"", "[[[[[[[[[[1]]]]]]]]]]", "-1"] {
        let socket = try test.webSocket()
        try socket.sendText("{\"\(part)\":\(value),\"index\":\(value)}")
        _ = try socket.message()
      }
    }
    #expect(try test.ask("/v1/store").status == 200)
    try await test.stop()
  }

  @Test("The end is graceful: an answer under way is sent, readers are told, seconds at most")
  func ending() async throws {
    let test = try await TestServer()
    let socket = try test.webSocket()
    try socket.sendText("{\"open\":1,\"index\":\"board\"}")
    _ = try socket.message()
    let idle = try TestConnection(test.port)
    _ = try idle.ask("/v1/store", token: TestServer.token, port: test.port)
    async let waited = test.ask("/v1/log?from=99&wait=60")
    try await Task.sleep(for: .milliseconds(300))
    let start = ContinuousClock.now
    try await test.stop()
    #expect(ContinuousClock.now - start < .seconds(3))
    let (opcode, payload) = try socket.frame()
    #expect(opcode == 8 && payload == [3, 233])
    #expect(try idle.isEnded())
    #expect(try await waited.status == 503)
    #expect(throws: (any Error).self) { try TestConnection(test.port).head() }
  }

  @Test("An end amid upgrades misses no connection: each is told, or closed before its upgrade")
  func endingAmidUpgrades() async throws {
    for round in 0..<12 {
      let test = try await TestServer()
      let connections = try (0..<16).map { _ in try TestConnection(test.port) }
      for connection in connections {
        try connection.sendUpgrade(token: TestServer.token, port: test.port)
      }
      try await Task.sleep(for: .microseconds(round * 50))
      let start = ContinuousClock.now
      try await test.stop()
      // One that the drain had missed would last for five seconds.
      #expect(ContinuousClock.now - start < .seconds(4))
      for connection in connections {
        let bytes = try connection.rest()
        let isTold =
          bytes.starts(with: "HTTP/1.1 101".utf8) && bytes.suffix(4) == [0x88, 2, 3, 233]
        #expect(bytes.isEmpty || isTold, "\(String(decoding: bytes, as: UTF8.self))")
      }
    }
  }
}
