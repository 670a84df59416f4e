// The events of a stream: replacements of nodes below a location.

internal import TreeRingFirebase
internal import TreeRingLive

/// A message of a stream.
enum StreamEvent {
  /// The replacement of one node.
  case put(path: [FirebaseKey], FirebaseNode)
  /// The replacement of nodes below a path, all at once.
  case patch(base: [FirebaseKey], [(path: [FirebaseKey], node: FirebaseNode)])
  case cancel(String)
  case authRevoked

  /// The bytes of the event.
  func bytes(isExport: Bool) -> [UInt8] {
    func json(_ node: FirebaseNode) -> [UInt8] { isExport ? node.exportedJSON : node.json }
    switch self {
    case .put(let path, let node):
      return Self.event("put", Self.data(path, json(node)))
    case .patch(let base, let nodes):
      var object: [UInt8] = [UInt8(ascii: "{")]
      for (index, (path, node)) in nodes.enumerated() {
        if index > 0 { object.append(UInt8(ascii: ",")) }
        object += JSONText.quoted(path.map(\.text).joined(separator: "/")).utf8
        object.append(UInt8(ascii: ":"))
        object += json(node)
      }
      object.append(UInt8(ascii: "}"))
      return Self.event("patch", Self.data(base, object))
    case .cancel(let reason):
      return Self.event("cancel", Array(JSONText.quoted(reason).utf8))
    // Clients compare this text, so it is no JSON.
    case .authRevoked:
      return Self.event("auth_revoked", Array("credential is no longer valid".utf8))
    }
  }

  /// The event that shows that the connection lives.
  static let keepAlive = event("keep-alive", Array("null".utf8))

  private static func data(_ path: [FirebaseKey], _ json: [UInt8]) -> [UInt8] {
    let text = "/" + path.map(\.text).joined(separator: "/")
    return Array("{\"path\":\(JSONText.quoted(text)),\"data\":".utf8) + json + [UInt8(ascii: "}")]
  }

  private static func event(_ name: String, _ data: [UInt8]) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + data + [0x0A, 0x0A]
  }
}

extension WriteEffect {
  /// The event of the write for a location; nil if it does not concern the location.
  func event(at location: [FirebaseKey]) -> StreamEvent? {
    let count = location.count
    if let base, base.starts(with: location) {
      return .patch(
        base: Array(base.dropFirst(count)),
        writes.map { (Array($0.path.dropFirst(base.count)), $0.node) })
    }
    var below: [(path: [FirebaseKey], node: FirebaseNode)] = []
    for write in writes {
      if location.starts(with: write.path) {
        return .put(path: [], write.node.node(at: location.dropFirst(write.path.count)))
      }
      if write.path.starts(with: location) {
        below.append((Array(write.path.dropFirst(count)), write.node))
      }
    }
    guard let first = below.first else { return nil }
    return base == nil ? .put(path: first.path, first.node) : .patch(base: [], below)
  }
}

extension StreamEvent {
  /// The event with the values of some paths below a location, in a state of the tree. A path below
  /// another one is part of it.
  static func values(
    of paths: [[FirebaseKey]], at location: [FirebaseKey], in tree: TreeReader,
    _ budget: ReadBudget
  ) throws -> StreamEvent? {
    var nodes: [(path: [FirebaseKey], node: FirebaseNode)] = []
    let sorted = paths.map { (TreeKey.leaf($0), $0) }.sorted {
      $0.0.lexicographicallyPrecedes($1.0)
    }
    for (_, path) in sorted {
      if let last = nodes.last, path.starts(with: last.path) { continue }
      nodes.append((path, try tree.node(at: location + path, budget)))
    }
    guard let first = nodes.first else { return nil }
    return nodes.count == 1 ? .put(path: first.path, first.node) : .patch(base: [], nodes)
  }
}
