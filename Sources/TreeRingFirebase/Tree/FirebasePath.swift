// A path below a location: keys, outermost first, and possibly a virtual child at its end.

/// A path from a location to a node below it.
package struct FirebasePath: Hashable, Sendable {
  /// The part of the node that a path refers to.
  package enum Part: Hashable, Sendable {
    case node
    /// `.priority`
    case priority
    /// `.value`: the value without the priority.
    case value
  }

  package let keys: [FirebaseKey]
  package let part: Part

  /// A path of a text such as "/a/b". Leading, trailing and double slashes have no meaning.
  /// - Throws: `invalidInput` if a part of it is no key.
  package init(_ text: some StringProtocol) throws(FirebaseError) {
    var names = text.split(separator: "/")
    switch names.last {
    case ".priority": part = .priority
    case ".value": part = .value
    default: part = .node
    }
    if part != .node { names.removeLast() }
    var keys: [FirebaseKey] = []
    for name in names { keys.append(try FirebaseKey(name)) }
    self.keys = keys
  }

  package init(keys: [FirebaseKey], part: Part = .node) {
    self.keys = keys
    self.part = part
  }

  /// Whether the path is that of the location itself.
  package var isRoot: Bool { keys.isEmpty && part == .node }

  /// The path that leads on from this one's node by another path.
  package func appending(_ path: FirebasePath) -> FirebasePath {
    FirebasePath(keys: keys + path.keys, part: path.part)
  }
}
