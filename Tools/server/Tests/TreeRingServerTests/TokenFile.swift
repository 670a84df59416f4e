import Foundation

@testable import TreeRingServer

/// A private file of tokens.
struct TokenFile {
  let path = NSTemporaryDirectory() + "tokens-\(UUID().uuidString)"

  /// A file with these tokens, all of one role.
  init(_ tokens: [String] = [], role: String = "admin") throws {
    try write(tokens.map { Self.line($0, role: role) })
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// A line of the file.
  ///
  /// - Parameter more: Further members, with a comma before each.
  static func line(_ token: String, role: String = "admin", _ more: String = "") -> String {
    "{\"token\":\"\(token)\",\"role\":\"\(role)\"\(more)}"
  }

  /// Replaces the file's lines.
  func write(_ lines: [String], mode: Int = 0o600) throws {
    try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  /// The options of a server with this file.
  func apply(to options: inout ServerOptions) {
    options.tokenFile = path
    options.tokens = (try? TokenTable(file: path)) ?? TokenTable()
  }
}
