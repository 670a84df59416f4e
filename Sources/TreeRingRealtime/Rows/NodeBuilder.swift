// Builds a node from rows in key order.

internal import TreeRingFirebase

/// A node under construction. Its rows come in key order.
struct NodeBuilder {
  private struct Frame {
    var key: FirebaseKey?
    var children: [FirebaseKey: FirebaseNode] = [:]
    var scalar = FirebaseScalar.null
    var priority = FirebaseScalar.null

    /// Children win over a scalar, which only a foreign program can have left beside them.
    var node: FirebaseNode {
      FirebaseNode(children.isEmpty ? .scalar(scalar) : .children(children), priority: priority)
    }
  }

  /// The nodes from the root to that of the last row.
  private var stack = [Frame()]

  /// Adds a row by its path below the node.
  mutating func add(
    _ keys: ArraySlice<FirebaseKey>, _ part: FirebasePath.Part, _ value: FirebaseScalar
  ) {
    var depth = 0
    for key in keys {
      guard depth + 1 < stack.count, stack[depth + 1].key == key else { break }
      depth += 1
    }
    while stack.count > depth + 1 { pop() }
    for key in keys.dropFirst(depth) { stack.append(Frame(key: key)) }
    let top = stack.count - 1
    if part == .priority { stack[top].priority = value } else { stack[top].scalar = value }
  }

  private mutating func pop() {
    let frame = stack.removeLast()
    let node = frame.node
    if let key = frame.key, node.exists { stack[stack.count - 1].children[key] = node }
  }

  /// The node of all rows.
  mutating func finish() -> FirebaseNode {
    while stack.count > 1 { pop() }
    return stack[0].node
  }
}
