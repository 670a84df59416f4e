import Foundation
import NIOCore
import Testing
import TreeRing
import TreeRingFirebase
import TreeRingHTTPClient
import TreeRingMappings
import TreeRingRemote

/// The server's program, if it is built beside the tests.
private let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
  .appending(path: "treering-server").path

private struct Row: Codable {
  var g: String
  var n: Int
}

/// The running program.
private final class RunningServer {
  let url: URL
  private let process = Process()

  init(_ arguments: [String]) throws {
    let output = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 {
      line.append(byte)
    }
    let text = String(decoding: line, as: UTF8.self).replacing("127.0.0.1", with: "localhost")
    url = try #require(URL(string: text))
  }

  /// Ends it as a crash would.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}

@Suite("Clients over TLS", .serialized)
struct ClientTests {
  @Test("A Firebase source survives a server that ends connections within the heads of answers")
  func source() async throws {
    let certificate = try Certificate()
    defer { certificate.remove() }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    let server = try await ScriptedServer(certificate) { number, connection in
      // The lengths end within the status, after its line, and within a header.
      let lengths = [0, 12, 17, 19, 40, head.count - 2]
      if number < lengths.count {
        connection.send(head.prefix(lengths[number]), closes: true)
      } else {
        connection.send(head + "event: put\ndata: {\"path\":\"/\",\"data\":{\"a\":1}}\n\n")
        connection.send("event: put\ndata: {\"path\":\"/b\",\"data\":2}\n\n")
      }
    }
    let source = try FirebaseSource(
      server.url("list"),
      options: FirebaseOptions(
        firstDelay: .milliseconds(1), transport: HTTPClientTransport(tls: certificate.client)))
    var names: [String] = []
    for try await event in source.childEvents {
      if case .added(let child, _) = event { names.append(child.key.text) }
      if names.count == 2 { break }
    }
    #expect(names == ["a", "b"] && server.requests.count == 7)
    await server.stop()
  }

  @Test(
    "A remote window follows, and resumes after the server was killed",
    .enabled(if: FileManager.default.isExecutableFile(atPath: program), "\(program) is not built"))
  func window() async throws {
    let certificate = try Certificate()
    defer { certificate.remove() }
    let folder = NSTemporaryDirectory() + "window-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try Store(at: folder + "/s.ring")
    try await store.define("all", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    let rows = Bucket<Row>("rows")
    func put(_ number: Int) throws {
      try store.write { tx in try tx.put(Row(g: "one", n: number), for: "k\(number)", in: rows) }
    }
    try put(0)
    // A token of a file outlives the server's process.
    let token = "a-token-of-the-file"
    let tokens = folder + "/tokens"
    #expect(
      FileManager.default.createFile(
        atPath: tokens, contents: Data("{\"token\":\"\(token)\",\"role\":\"read\"}\n".utf8),
        attributes: [.posixPermissions: 0o600]))
    let options = [
      folder + "/s.ring", "--tokens", tokens, "--certificate", certificate.file, "--key",
      certificate.key,
    ]
    var server = try RunningServer(options + ["--port", "0"])
    let port = try #require(server.url.port)
    let window = try RemoteMappings(
      RemoteRequest("all", groups: ["one"]), at: server.url,
      options: RemoteOptions(
        token: { _ in token }, firstDelay: .milliseconds(5),
        transport: HTTPClientTransport(tls: certificate.client)))
    var changes = window.changes.makeAsyncIterator()
    #expect(try await changes.next()?.isReset == true)
    try put(1)
    #expect(try await changes.next()?.rows.inserts.map(\.row.key) == ["k1"])
    server.kill()
    try put(2)
    server = try RunningServer(options + ["--port", "\(port)"])
    let change = try #require(try await changes.next())
    #expect(!change.isReset && change.rows.inserts.map(\.row.key) == ["k2"])
    window.close()
    server.kill()
  }
}
