import Foundation
import NIOSSL

/// A certificate for `localhost`, made by openssl, that is its own authority.
struct Certificate {
  /// The folder of the files.
  private let folder = NSTemporaryDirectory() + "tls-\(UUID().uuidString)"
  /// The path of the certificate, PEM.
  var file: String { "\(folder)/served.crt" }
  /// The path of its private key, PEM.
  var key: String { "\(folder)/served.key" }

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", file,
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw CocoaError(.executableLoad) }
  }

  /// The settings of a client that trusts this authority alone.
  var client: TLSConfiguration {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(file)
    return tls
  }

  func remove() { try? FileManager.default.removeItem(atPath: folder) }
}
