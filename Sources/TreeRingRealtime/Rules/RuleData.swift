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

/// The writes of a request by their paths; none is above another.
final class WriteTree {
  private(set) var write: NodeWrite?
  private var children: [FirebaseKey: WriteTree] = [:]
  /// Whether a write at or below this place leaves data.
  private(set) var hasData = false

  init(_ writes: [NodeWrite] = []) {
    for write in writes { add(write, write.path[...]) }
  }

  private func add(_ write: NodeWrite, _ path: ArraySlice<FirebaseKey>) {
    if write.node.exists { hasData = true }
    guard let key = path.first else {
      self.write = write
      return
    }
    let child = children[key] ?? WriteTree()
    children[key] = child
    child.add(write, path.dropFirst())
  }

  /// The place of a path, or of the write above it; nil if the writes do not concern the path.
  func place(_ path: [FirebaseKey]) -> WriteTree? {
    var place = self
    for key in path {
      if place.write != nil { break }
      guard let child = place.children[key] else { return nil }
      place = child
    }
    return place
  }

  /// The paths of all writes at and below this place.
  var paths: [[FirebaseKey]] {
    if let write { return [write.path] }
    return children.values.flatMap(\.paths)
  }
}

/// The tree as it will be after some writes.
struct OverlaidSource: RuleSource {
  let base: TreeReader
  let writes: WriteTree

  init(base: TreeReader, writes: [NodeWrite]) {
    self.base = base
    self.writes = WriteTree(writes)
  }

  private func written(_ write: NodeWrite, _ path: [FirebaseKey]) -> FirebaseNode {
    write.node.node(at: path.dropFirst(write.path.count))
  }

  func scalar(at path: [FirebaseKey]) throws -> FirebaseScalar? {
    guard let place = writes.place(path) else { return try base.scalar(at: path) }
    guard let write = place.write else {
      // A scalar gives way to children.
      return place.hasData ? nil : try base.scalar(at: path)
    }
    guard case .scalar(let scalar) = written(write, path).value, scalar != .null else { return nil }
    return scalar
  }

  func exists(at path: [FirebaseKey]) throws -> Bool {
    guard let place = writes.place(path) else { return try base.exists(at: path) }
    if let write = place.write { return written(write, path).exists }
    return try place.hasData || base.exists(at: path, without: place.paths)
  }

  func priority(at path: [FirebaseKey]) throws -> FirebaseScalar {
    if let write = writes.place(path)?.write { return written(write, path).priority }
    return try exists(at: path) ? try base.priority(at: path) : .null
  }
}
