import Foundation
import Testing

@testable import TreeRingServer

/// True if openssl, which makes a certificate, and curl are installed.
private let hasPrograms = ["openssl", "curl"].allSatisfy { run(["which", $0]) != nil }

/// The output of a program; nil if it fails or does not exist.
private func run(_ words: [String]) -> String? {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = words
  let output = Pipe()
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  guard (try? process.run()) != nil else { return nil }
  let bytes = output.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return process.terminationStatus == 0 ? String(decoding: bytes, as: UTF8.self) : nil
}

@Suite("TLS", .enabled(if: hasPrograms, "openssl or curl is missing"))
struct TLSTests {
  @Test("A server with a certificate speaks TLS and nothing else, and reads a new one on request")
  func certificate() async throws {
    let folder = NSTemporaryDirectory() + "tls-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func make(_ name: String) throws {
      let made = run([
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
        "\(folder)/\(name).key", "-out", "\(folder)/\(name).crt",
      ])
      _ = try #require(made)
    }
    try make("served")
    let tokens = "\(folder)/tokens"
    func writeTokens(_ token: String) {
      let line = "{\"token\":\"\(token)\",\"role\":\"read\"}\n"
      let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
      #expect(
        FileManager.default.createFile(
          atPath: tokens, contents: Data(line.utf8), attributes: mode))
    }
    writeTokens(TestServer.token)
    let test = try await TestServer {
      $0.certificate = ("\(folder)/served.crt", "\(folder)/served.key")
      $0.tokenFile = tokens
    }
    func ask(trusting name: String, _ more: [String] = []) -> String? {
      run(
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
    try make("served")
    try test.server.reload()
    #expect(ask(trusting: "served") != nil)
    #expect(ask(trusting: "old") == nil)
    try Data("nonsense".utf8).write(to: URL(filePath: "\(folder)/served.key"))
    writeTokens("another-token-of-the-file")
    #expect(throws: ServerError.self) { try test.server.reload() }
    // Neither the certificate nor the tokens have changed.
    #expect(ask(trusting: "served")?.contains("\"version\":\"1\"") == true)
    try await test.stop()
  }
}
