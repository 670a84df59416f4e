// Snapshots of rules: a path in a source of data. Only the questions that a rule asks are read.

internal import TreeRingFirebase

/// Data that rules read: the tree before a write, or after it.
protocol RuleSource {
  /// The scalar of a leaf; nil if there is none.
  func scalar(at path: [FirebaseKey]) throws -> FirebaseScalar?
  /// Whether there is a node.
  func exists(at path: [FirebaseKey]) throws -> Bool
  /// The priority of a node.
  func priority(at path: [FirebaseKey]) throws -> FirebaseScalar
}

extension TreeReader: RuleSource {}

/// A snapshot.
struct RuleData {
  let source: any RuleSource
  var path: [FirebaseKey]

  func scalar() throws -> FirebaseScalar? { try source.scalar(at: path) }

  var exists: Bool { get throws { try source.exists(at: path) } }

  /// The snapshot at a relative path; nil if it cannot be one.
  func child(_ text: String) -> RuleData? {
    guard let below = try? FirebasePath(text), below.part == .node else { return nil }
    return RuleData(source: source, path: path + below.keys)
  }
}

/// The tree as it will be after some writes of nodes, none of which is above another.
struct OverlaidSource: RuleSource {
  let base: any RuleSource
  let writes: [NodeWrite]

  /// The write that includes a path, or nil with the writes below it.
  private func writes(at path: [FirebaseKey]) -> (above: NodeWrite?, below: [NodeWrite]) {
    var below: [NodeWrite] = []
    for write in writes {
      if path.starts(with: write.path) { return (write, []) }
      if write.path.starts(with: path) { below.append(write) }
    }
    return (nil, below)
  }

  func scalar(at path: [FirebaseKey]) throws -> FirebaseScalar? {
    let (above, below) = writes(at: path)
    if let above {
      guard case .scalar(let scalar) = above.node.node(at: path.dropFirst(above.path.count)).value,
        scalar != .null
      else { return nil }
      return scalar
    }
    // A scalar gives way to children.
    return below.contains { $0.node.exists } ? nil : try base.scalar(at: path)
  }

  func exists(at path: [FirebaseKey]) throws -> Bool {
    let (above, below) = writes(at: path)
    if let above { return above.node.node(at: path.dropFirst(above.path.count)).exists }
    if below.contains(where: { $0.node.exists }) { return true }
    guard try base.exists(at: path) else { return false }
    if below.isEmpty { return true }
    guard let reader = base as? TreeReader else { return true }
    return try reader.exists(at: path, without: below.map(\.path))
  }

  func priority(at path: [FirebaseKey]) throws -> FirebaseScalar {
    if let above = writes(at: path).above {
      return above.node.node(at: path.dropFirst(above.path.count)).priority
    }
    return try exists(at: path) ? try base.priority(at: path) : .null
  }
}
