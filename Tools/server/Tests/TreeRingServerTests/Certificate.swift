import Foundation
import Testing

/// Another program of the system.
enum Program {
  /// The output of a program; nil if it fails or does not exist.
  static func run(_ words: [String]) -> String? {
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
}

/// A certificate for `localhost` that is its own authority.
struct Certificate {
  /// The folder of `served.crt` and `served.key`.
  let folder = NSTemporaryDirectory() + "tls-\(UUID().uuidString)"

  /// True if openssl, which makes certificates, and curl are installed.
  static let hasPrograms = ["openssl", "curl"].allSatisfy { Program.run(["which", $0]) != nil }

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try renew()
  }

  func remove() { try? FileManager.default.removeItem(atPath: folder) }

  /// Replaces it by another one.
  func renew() throws {
    let made = Program.run([
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
      "\(folder)/served.key", "-out", "\(folder)/served.crt",
    ])
    _ = try #require(made)
  }
}
