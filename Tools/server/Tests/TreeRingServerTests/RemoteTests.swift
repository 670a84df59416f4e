import Foundation
import Testing
import TreeRing
import TreeRingLive
import TreeRingMappings
import TreeRingRemote

@testable import TreeRingServer

@Suite("Remote windows over the network", .serialized)
struct RemoteTests {
  private func window(
    _ test: TestServer, _ token: String = TestServer.token, range: RangeOptions? = nil
  ) throws -> RemoteMappings {
    let url = try #require(URL(string: "http://127.0.0.1:\(test.port)/#token=\(token)"))
    var request = RemoteRequest("board", groups: ["g0", "g1"])
    request.range = range
    return try RemoteMappings(
      request, at: url, options: RemoteOptions(firstDelay: .milliseconds(5)))
  }

  private func keys(_ window: RemoteMappings) -> [[String]] {
    window.shown.sections.map { $0.map(\.key.description) }
  }

  @Test("A window follows, seeks, grows and returns, by minimal changes")
  func window() async throws {
    let test = try await TestServer(rows: 8)
    let window = try window(test, range: .fixed(length: 2))
    var changes = window.changes.makeAsyncIterator()
    #expect(try await changes.next()?.isReset == true)
    #expect(keys(window) == [["k0", "k2"], ["k1", "k3"]])
    try test.put("k9", .init(group: "g0", order: 1))
    let change = try #require(try await changes.next())
    #expect(change.rows.inserts.map(\.row.key) == ["k9"] && change.changeset.count == 2)
    #expect(
      try change.after.decode(TestServer.Row.self, of: RowID(bucket: "rows", key: "k9"))?.order == 1
    )
    try window.extendRange(of: "g0", by: 1)
    #expect(try await changes.next()?.changeset.count == 1)
    #expect(keys(window) == [["k0", "k9", "k2"], ["k1", "k3"]])
    try window.seek(.commit(2))
    let back = try #require(try await changes.next())
    #expect(back.rows.deletes.map(\.row.key) == ["k9"] && back.changeset.count == 2)
    #expect(window.commit == 2)
    try window.live()
    #expect(try await changes.next()?.changeset.count == 2)
    #expect(window.commit == 3 && window.state == .current)
    window.close()
    #expect(try await test.eventually { try test.figure("treering_server_readers") == 0 })
    try await test.stop()
  }

  @Test(
    "A withdrawn token, and one with other rights, ends what is open; with a valid one it resumes")
  func withdrawn() async throws {
    let (stays, goes, changes) = ("stays-0123456789", "goes-0123456789x", "changes-01234567")
    let file = try TokenFile([stays, goes, changes], role: "read")
    defer { file.remove() }
    let test = try await TestServer { file.apply(to: &$0) }
    func socket(_ token: String) throws -> TestConnection {
      let connection = try TestConnection(test.port)
      #expect(try connection.upgrade(token: token, port: test.port).hasPrefix("HTTP/1.1 101"))
      try connection.sendText("{\"open\":1,\"index\":\"board\"}")
      _ = try connection.message()
      return connection
    }
    let sockets = (try socket(stays), try socket(goes), try socket(changes))
    let log = try TestConnection(test.port)
    try log.send(
      "GET /v1/log?from=1 HTTP/1.1\r\nHost: 127.0.0.1:\(test.port)\r\n"
        + "Authorization: Bearer \(goes)\r\nAccept: text/event-stream\r\n\r\n")
    #expect(try log.head().hasPrefix("HTTP/1.1 200"))
    let windows = (try window(test, stays), try window(test, goes), try window(test, changes))
    #expect(
      try await test.eventually {
        [windows.0, windows.1, windows.2].allSatisfy { $0.commit != nil }
      })
    try file.write([
      TokenFile.line(stays, role: "read"),
      TokenFile.line(changes, role: "read", ",\"buckets\":[\"rows\"]"),
    ])
    try test.server.reload()
    for socket in [sockets.1, sockets.2] {
      let (opcode, payload) = try socket.frame()
      #expect(opcode == 8 && payload == [3, 240])
    }
    #expect(
      try await test.eventually {
        if case .closed(let error?) = windows.1.state { error.code == .tokenRefused } else { false }
      })
    #expect(try log.isEnded())
    try test.put("k9", .init(group: "g0", order: 1))
    #expect(try sockets.0.message()["commit"] as? Int == 3)
    // The window whose token has other rights now comes back with these.
    #expect(
      try await test.eventually {
        keys(windows.0) == keys(windows.2) && keys(windows.0).joined().contains("k9")
      })
    try await test.stop()
  }
}
