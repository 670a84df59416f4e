// Tokens: the secrets of clients, with their rights. The file has one JSON object a line:
//
//     {"token":"…","role":"read","buckets":["flights"],"indexes":["departures"]}
//
// Nobody but the server's user may read it (mode 0600).

internal import Foundation
public import TreeRingLive

/// The tokens of a server.
public struct TokenTable: Sendable {
  private struct Entry: Sendable {
    var token: [UInt8]
    var access: LiveAccess
  }

  /// One line of the file.
  private struct Line: Decodable {
    var token: String
    var role: String
    var buckets: [String]?
    var indexes: [String]?
  }

  private var entries: [Entry] = []

  /// The fewest bytes of a token.
  public static let minimumByteCount = 16

  /// A table without tokens.
  public init() {}

  /// A table with one token, of at least `minimumByteCount` bytes.
  public init(_ token: String, _ access: LiveAccess) {
    precondition(token.utf8.count >= Self.minimumByteCount, "The token is too short.")
    entries = [Entry(token: Array(token.utf8), access: access)]
  }

  /// Whether there is no token.
  public var isEmpty: Bool { entries.isEmpty }

  /// Reads a file.
  ///
  /// - Throws: a sentence with the file and the line, if others may read it or it has a mistake.
  public init(file: String) throws(ServerError) {
    var status = stat()
    guard stat(file, &status) == 0 else {
      throw ServerError("\(file): \(String(cString: strerror(errno))).")
    }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0 else {
      throw ServerError("\(file): others may read the tokens. Run chmod 600 on the file.")
    }
    guard let data = FileManager.default.contents(atPath: file),
      let text = String(validating: data, as: UTF8.self)
    else { throw ServerError("\(file): the file cannot be read as text.") }
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where !line.allSatisfy(\.isWhitespace) && !line.hasPrefix("#") {
      guard let parsed = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)),
        let role = LiveAccess.Role(rawValue: parsed.role)
      else {
        throw ServerError(
          "\(file), line \(index + 1): a line is {\"token\":…,\"role\":\"read\"|\"write\"|"
            + "\"admin\",\"buckets\":[…],\"indexes\":[…]}.")
      }
      guard parsed.token.utf8.count >= Self.minimumByteCount else {
        throw ServerError(
          "\(file), line \(index + 1): a token has at least \(Self.minimumByteCount) bytes.")
      }
      entries.append(
        Entry(
          token: Array(parsed.token.utf8),
          access: LiveAccess(role, buckets: parsed.buckets, indexes: parsed.indexes)))
    }
  }

  /// The rights of a token; nil for an unknown one. The time depends on the length of the given
  /// token and the number of tokens alone, not on their bytes.
  public func access(of given: some StringProtocol) -> LiveAccess? {
    let given = Array(given.utf8)
    var found: LiveAccess?
    for entry in entries where Self.isEqual(entry.token, given) { found = entry.access }
    return found
  }

  /// Compares all bytes of the given token, whatever differs.
  private static func isEqual(_ token: [UInt8], _ given: [UInt8]) -> Bool {
    var difference = UInt(bitPattern: token.count ^ given.count)
    for index in given.indices { difference |= UInt(token[index % token.count] ^ given[index]) }
    return difference == 0
  }

  /// A token of 256 random bits.
  public static func random() -> String {
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }
}
