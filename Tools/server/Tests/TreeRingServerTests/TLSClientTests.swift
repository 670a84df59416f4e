import Foundation
import Testing
import TreeRing
import TreeRingCollections
import TreeRingFirebase
import TreeRingLive
import TreeRingMappings
import TreeRingRemote

@testable import TreeRingServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The folder of a certificate for `localhost`, `served.crt` and `served.key`, whose authority this
/// process trusts. `Tools/test-server` makes one: it lets this process alone see the authority
/// among those of the system.
private let folder = ProcessInfo.processInfo.environment["TREERING_TLS"]

@Suite("Clients over TLS", .serialized, .enabled(if: folder != nil, "TREERING_TLS names no folder"))
struct TLSClientTests {
  private func server(_ file: TokenFile) async throws -> TestServer {
    let folder = try #require(folder)
    return try await TestServer.databases {
      $0.certificate = ("\(folder)/served.crt", "\(folder)/served.key")
      file.apply(to: &$0)
    }
  }

  @Test("A remote window follows, seeks and resumes after lost connections")
  func window() async throws {
    let file = try TokenFile([TestServer.token])
    defer { file.remove() }
    let test = try await server(file)
    let url = try #require(URL(string: "https://localhost:\(test.port)/#token=\(TestServer.token)"))
    let window = try RemoteMappings(
      RemoteRequest("board", groups: ["g0"]), at: url,
      options: RemoteOptions(firstDelay: .milliseconds(5)))
    var changes = window.changes.makeAsyncIterator()
    #expect(try await changes.next()?.isReset == true)
    try test.put("k100", .init(group: "g0", order: -1))
    #expect(try await changes.next()?.rows.inserts.map(\.row.key) == ["k100"])
    try window.seek(.commit(2))
    #expect(try await changes.next()?.rows.deletes.map(\.row.key) == ["k100"])
    try window.live()
    #expect(try await changes.next()?.changeset.count == 1)
    // Withdrawing the token and giving it back ends the connection.
    try file.write([TokenFile.line(TestServer.token, role: "read")])
    try test.server.reload()
    try test.put("k101", .init(group: "g0", order: -2))
    let change = try #require(try await changes.next())
    #expect(!change.isReset && change.rows.inserts.map(\.row.key) == ["k101"])
    window.close()
    try await test.stop()
  }

  @Test("A Firebase source pages and follows")
  func source() async throws {
    let file = try TokenFile([TestServer.token])
    defer { file.remove() }
    let test = try await server(file)
    func put(_ path: String, _ body: String) async throws {
      var request = URLRequest(
        url: try #require(URL(string: "https://localhost:\(test.port)/\(path).json")))
      request.httpMethod = "PUT"
      request.httpBody = Data(body.utf8)
      request.setValue("Bearer \(TestServer.token)", forHTTPHeaderField: "Authorization")
      let (_, response) = try await URLSession.shared.data(for: request)
      #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }
    let children = (10..<40).map { "\"k\($0)\":{\"n\":\($0)}" }.joined(separator: ",")
    try await put("list", "{\(children)}")
    let url = try #require(URL(string: "https://localhost:\(test.port)/list"))
    let options = FirebaseOptions(token: { _ in .accessToken(TestServer.token) })
    let source = try FirebaseSource(url, options: options)
    let page = try await source.page(PageRequest(direction: .backward, limit: 10))
    #expect(page.children.count == 10 && page.hasMore)
    var events = source.childEvents.makeAsyncIterator()
    for _ in 0..<30 {
      guard case .added? = try await events.next() else {
        Issue.record("not every child came")
        return
      }
    }
    try await put("list/k99", "1")
    guard case .added(let child, let previous)? = try await events.next() else {
      Issue.record("the new child did not come")
      return
    }
    #expect(child.key.text == "k99" && previous?.text == "k39")
    try await test.stop()
  }

  @Test("A server whose authority is unknown is not talked to")
  func stranger() async throws {
    let certificate = try Certificate()
    defer { certificate.remove() }
    let folder = certificate.folder
    let file = try TokenFile([TestServer.token])
    defer { file.remove() }
    let test = try await TestServer {
      $0.certificate = ("\(folder)/served.crt", "\(folder)/served.key")
      file.apply(to: &$0)
    }
    let url = try #require(URL(string: "https://localhost:\(test.port)/#token=\(TestServer.token)"))
    let window = try RemoteMappings(
      RemoteRequest("board", groups: ["g0"]), at: url,
      options: RemoteOptions(firstDelay: .milliseconds(5), attempts: 2))
    #expect(
      try await test.eventually {
        if case .closed(let error?) = window.state { error.code == .unreachable } else { false }
      })
    #expect(window.commit == nil)
    try await test.stop()
  }
}
