import Foundation
import Testing

@testable import TreeRingServer

@Suite("TLS", .enabled(if: Certificate.hasPrograms, "openssl or curl is missing"))
struct TLSTests {
  @Test("A server with a certificate speaks TLS and nothing else, and reads a new one on request")
  func certificate() async throws {
    let certificate = try Certificate()
    defer { certificate.remove() }
    let folder = certificate.folder
    let file = try TokenFile([TestServer.token], role: "read")
    defer { file.remove() }
    let test = try await TestServer {
      $0.certificate = ("\(folder)/served.crt", "\(folder)/served.key")
      file.apply(to: &$0)
    }
    func ask(trusting name: String, _ more: [String] = []) -> String? {
      Program.run(
        ["curl", "-sS", "--max-time", "10", "--cacert", "\(folder)/\(name).crt"] + more + [
          "-H", "Authorization: Bearer \(TestServer.token)",
          "https://localhost:\(test.port)/v1/store",
        ])
    }
    #expect(ask(trusting: "served")?.contains("\"version\":\"1\"") == true)
    #expect(ask(trusting: "served", ["--tls-max", "1.1"]) == nil)
    let plain = try TestConnection(test.port)
    try plain.send("GET /v1/store HTTP/1.1\r\nHost: localhost:\(test.port)\r\n\r\n")
    #expect(try plain.isEnded())

    try FileManager.default.copyItem(
      atPath: "\(folder)/served.crt", toPath: "\(folder)/old.crt")
    try certificate.renew()
    try test.server.reload()
    #expect(ask(trusting: "served") != nil)
    #expect(ask(trusting: "old") == nil)
    try Data("nonsense".utf8).write(to: URL(filePath: "\(folder)/served.key"))
    try file.write([TokenFile.line("another-token-of-the-file")])
    #expect(throws: ServerError.self) { try test.server.reload() }
    // Neither the certificate nor the tokens have changed.
    #expect(ask(trusting: "served")?.contains("\"version\":\"1\"") == true)
    try await test.stop()
  }
}
