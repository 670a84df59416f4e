// Credentials, rights and certificates.

import Foundation
import Testing
import TreeRingReplication

@testable import TreeRingNATS

extension NATSTests {
  @Suite struct SecurityTests {
    @Test("Wrong credentials and missing rights are refused")
    func credentials() throws {
      let servers = try JetStreamServers(
        1,
        further: """
          authorization {
            users = [
              { user: "writer", password: "w" }
              { user: "reader", password: "r", permissions: {
                publish: ["$JS.API.*.*.log", "$JS.API.STREAM.MSG.GET.log", "$JS.FC.>"],
                subscribe: ["_INBOX.>"] } }
            ]
          }
          """)
      func log(_ user: String, _ password: String) throws -> JetStreamLog {
        var options = servers.options("log")
        options.credentials = .password(user: user, password: password)
        return try JetStreamLog(options)
      }
      expectRefusal("credentials") {
        _ = try log("writer", "x").ends(within: .seconds(5))
      }
      expectRefusal("credentials") { _ = try servers.log("log").ends(within: .seconds(5)) }
      let writer = try log("writer", "w")
      #expect(try writer.append([[1], [2]], after: 0, within: .seconds(5)) == .appended)
      let reader = try log("reader", "r")
      #expect(try reader.all(within: .seconds(5)) == [[1], [2]])
      expectRefusal("Permissions Violation") {
        let outcome = try reader.append([[3]], after: 2, within: .seconds(5))
        Issue.record("the append of a reader is \(outcome)")
      }
      #expect(try reader.ends(within: .seconds(5)) == SharedLogEnds(first: 1, last: 2))
    }

    @Test("Connections use TLS with an own authority, and nothing else")
    func certificates() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let (file, key) = try certificate(in: folder)
      let servers = try JetStreamServers(
        1, further: "tls { cert_file: \"\(file)\", key_file: \"\(key)\" }")
      var options = servers.options("log")
      options.urls = servers.urls.map {
        $0.replacingOccurrences(of: "nats://127.0.0.1", with: "tls://localhost")
      }
      expectRefusal("self-signed certificate") {
        _ = try JetStreamLog(options).ends(within: .seconds(5))
      }
      options.authorityFile = "\(folder.path)/missing"
      expectRefusal("authorities") { _ = try JetStreamLog(options).ends(within: .seconds(5)) }
      options.authorityFile = file
      // The certificate has the name, not the address.
      let names = options.urls
      options.urls = servers.urls
      expectRefusal("Check the certificates") {
        _ = try JetStreamLog(options).ends(within: .seconds(5))
      }
      options.urls = names
      let log = try JetStreamLog(options)
      #expect(try log.append([[1], [2]], after: 0, within: .seconds(5)) == .appended)
      #expect(try log.all(within: .seconds(5)) == [[1], [2]])
    }

    /// A certificate for `localhost` that is its own authority, and its key.
    private func certificate(in folder: URL) throws -> (file: String, key: String) {
      let (file, key) = ("\(folder.path)/served.crt", "\(folder.path)/served.key")
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", file,
      ]
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
      return (file, key)
    }
  }
}
