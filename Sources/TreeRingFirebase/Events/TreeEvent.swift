// Firebase's events of a stream: their reading, and their effect on the tree of a location.

internal import TreeRingHTTP
internal import TreeRingLog

/// An event of a Firebase stream.
enum TreeEvent: Hashable, Sendable {
  /// Replaces nodes by path, all at once. A node replaced by null is removed.
  case change([Replacement])
  /// Shows that the connection lives.
  case keepAlive
  /// The stream ends; the reason in the server's words.
  case cancel(String)
  /// The token is no longer valid.
  case authRevoked(String)

  /// The replacement of one node.
  struct Replacement: Hashable, Sendable {
    let path: FirebasePath
    let node: FirebaseNode
  }

  /// Reads an event; nil for a name that has no meaning in the protocol.
  /// - Throws: `malformed` if the data does not fit the name.
  init?(_ event: ServerEvent) throws(FirebaseError) {
    switch event.name {
    case "put": self = .change(try Self.replacements(event, isPatch: false))
    case "patch": self = .change(try Self.replacements(event, isPatch: true))
    case "keep-alive": self = .keepAlive
    case "cancel": self = .cancel(Self.reason(event.data))
    case "auth_revoked": self = .authRevoked(Self.reason(event.data))
    default: return nil
    }
  }

  /// The text of a reason, which is JSON or not.
  private static func reason(_ data: [UInt8]) -> String {
    if let node = try? FirebaseNode(json: data) { return node.text ?? "" }
    return String(decoding: data, as: UTF8.self)
  }

  private static func replacements(
    _ event: ServerEvent, isPatch: Bool
  ) throws(FirebaseError) -> [Replacement] {
    let result = event.data.withUnsafeBytes { bytes in
      Result { () throws(FirebaseError) in try read(bytes, isPatch: isPatch) }
    }
    switch result {
    case .success(let replacements): return replacements
    case .failure(let error):
      throw FirebaseError(
        .malformed, "The event “\(event.name)” is malformed. \(error.message) Load again to retry.")
    }
  }

  private static func read(
    _ bytes: UnsafeRawBufferPointer, isPatch: Bool
  ) throws(FirebaseError) -> [Replacement] {
    let reader = NodeReader(bytes)
    try reader.validate()
    var path: FirebasePath?
    var data: Range<Int>?
    for member in try reader.members(0..<bytes.count) {
      switch member.name {
      case "path":
        guard case .text(let text) = try reader.scalar(member.value), text.hasPrefix("/") else {
          throw FirebaseError(.malformed, "Its path is no text that begins with a slash.")
        }
        path = try FirebasePath(text)
      case "data": data = member.value
      default: break
      }
    }
    guard let path, let data else {
      throw FirebaseError(.malformed, "It lacks its path or its data.")
    }
    guard isPatch else {
      return [Replacement(path: path, node: try reader.node(data, depth: path.keys.count))]
    }
    var replacements: [Replacement] = []
    for member in try reader.members(data) {
      let name = try FirebasePath(member.name)
      guard path.part == .node, !name.isRoot else {
        throw FirebaseError(.malformed, "A patch names no child.")
      }
      let target = path.appending(name)
      replacements.append(
        Replacement(
          path: target, node: try reader.node(member.value, depth: target.keys.count)))
    }
    return replacements
  }
}
