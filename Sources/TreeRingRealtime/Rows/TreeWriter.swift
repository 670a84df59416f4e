// Replaces nodes of a tree in a transaction. Only rows that differ are written, so equal data makes
// no commit.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLog

/// A write of one node.
struct NodeWrite: Sendable {
  let path: [FirebaseKey]
  let node: FirebaseNode
}

/// Writes nodes.
struct TreeWriter {
  let transaction: Transaction
  let bucket: String

  /// The most bytes of a text, in its form as JSON.
  private static let largestText = 10 << 20

  /// Replaces a node. O(rows before and after · log n).
  ///
  /// - Returns: Whether anything differs from before.
  /// - Throws: a refusal if a path is too long for a row, or a text is too long.
  func replace(_ write: NodeWrite) throws -> Bool {
    let path = write.path
    let (lower, upper) = (Key(bytes: TreeKey.leaf(path)), Key(bytes: TreeKey.end(path)))
    if !write.node.exists {
      guard try transaction.deleteAll(in: bucket, from: lower, to: upper) > 0 else { return false }
      try removePriorities(above: path)
      return true
    }
    let new = try Self.rows(of: write.node, at: path)
    var old: [(key: [UInt8], object: [UInt8])] = []
    try transaction.forEachRow(in: bucket, from: lower, to: upper) { row in
      old.append((row.key.bytes, row.object))
      return true
    }
    var isChanged = false
    func delete(_ key: [UInt8]) throws {
      if try transaction.delete(Key(bytes: key), in: bucket) { isChanged = true }
    }
    var index = 0
    for row in new {
      while index < old.count, old[index].key.lexicographicallyPrecedes(row.key) {
        try delete(old[index].key)
        index += 1
      }
      if index < old.count, old[index].key == row.key {
        defer { index += 1 }
        if old[index].object == row.object { continue }
      }
      try transaction.put(row.object, for: Key(bytes: row.key), in: .bytes(bucket))
      isChanged = true
    }
    for row in old[index...] { try delete(row.key) }
    // A scalar above gives way to children.
    for depth in 0..<path.count { try delete(TreeKey.leaf(path.prefix(depth))) }
    return isChanged
  }

  /// Removes the priorities of nodes above a path that no longer have anything else.
  private func removePriorities(above path: [FirebaseKey]) throws {
    for depth in (0..<path.count).reversed() {
      let above = Array(path.prefix(depth))
      let priority = Key(bytes: TreeKey.priority(above))
      guard try transaction.contains(priority, in: bucket) else { continue }
      let count = try transaction.count(
        in: bucket, from: Key(bytes: TreeKey.leaf(above)), to: Key(bytes: TreeKey.end(above)))
      if count > 1 { return }
      try transaction.delete(priority, in: bucket)
    }
  }

  /// The rows of a node in key order.
  static func rows(
    of node: FirebaseNode, at path: [FirebaseKey]
  ) throws(RealtimeError) -> [(key: [UInt8], object: [UInt8])] {
    var rows: [(key: [UInt8], object: [UInt8])] = []
    add(node, TreeKey.leaf(path), isRoot: path.isEmpty, to: &rows)
    for row in rows {
      if row.key.count > Limits.keyByteCount {
        throw RealtimeError(
          400, "Invalid path: it takes more than \(Limits.keyByteCount) bytes in the store.")
      }
      // Two quotes stand around a text.
      if row.object.count > largestText + 2 { throw RealtimeError.writeTooLarge }
    }
    return rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  private static func add(
    _ node: FirebaseNode, _ leaf: [UInt8], isRoot: Bool,
    to rows: inout [(key: [UInt8], object: [UInt8])]
  ) {
    let below = isRoot ? leaf : leaf + [UInt8(ascii: " ")]
    if node.priority != .null {
      rows.append((below + TreeKey.priorityName, Array(node.priority.json.utf8)))
    }
    switch node.value {
    case .scalar(.null): break
    case .scalar(let scalar): rows.append((leaf, Array(scalar.json.utf8)))
    case .children(let children):
      for (key, child) in children {
        var next = below
        TreeKey.append(key, to: &next)
        add(child, next, isRoot: false, to: &rows)
      }
    }
  }
}
