// Reads a tree from the rows of a bucket.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLog

/// The bounds of one request's reads.
final class ReadBudget {
  private let deadline: ContinuousClock.Instant?
  private let byteLimit: Int
  private var byteCount = 0
  private var rowCount = 0

  init(seconds: Duration? = nil, byteLimit: Int = .max) {
    deadline = seconds.map { ContinuousClock.now + $0 }
    self.byteLimit = byteLimit
  }

  /// Counts a row.
  func count(_ row: StoredRow) throws(RealtimeError) {
    byteCount += row.object.count
    rowCount += 1
    if byteCount > byteLimit { throw RealtimeError.responseTooLarge }
    guard rowCount & 255 == 0, let deadline, ContinuousClock.now > deadline else { return }
    throw RealtimeError.timedOut
  }
}

/// A tree in the rows of a bucket, at a snapshot or in a transaction.
struct TreeReader {
  let source: any Readable
  let bucket: String

  /// The scalar of a leaf; nil if there is no leaf at the path. O(log n).
  func scalar(at path: [FirebaseKey]) throws -> FirebaseScalar? {
    try scalar(ofRow: TreeKey.leaf(path))
  }

  /// The priority of a node; null for none. O(log n).
  func priority(at path: [FirebaseKey]) throws -> FirebaseScalar {
    try scalar(ofRow: TreeKey.priority(path)) ?? .null
  }

  private func scalar(ofRow key: [UInt8]) throws -> FirebaseScalar? {
    guard key.count <= Limits.keyByteCount else { return nil }
    return try source.row(Key(bytes: key), in: bucket).map { try Self.scalar($0.object) }
  }

  /// Whether there is a node at a path. O(log n).
  func exists(at path: [FirebaseKey]) throws -> Bool {
    try source.count(
      in: bucket, from: Key(bytes: TreeKey.leaf(path)), to: Key(bytes: TreeKey.end(path))) > 0
  }

  /// Whether a node at a path would be left without the nodes at some paths below it.
  /// O(paths · log n).
  func exists(at path: [FirebaseKey], without removed: [[FirebaseKey]]) throws -> Bool {
    func count(_ path: [FirebaseKey]) throws -> Int {
      try source.count(
        in: bucket, from: Key(bytes: TreeKey.leaf(path)), to: Key(bytes: TreeKey.end(path)))
    }
    var left = try count(path)
    for path in removed { left -= try count(path) }
    // Priorities of nodes without children vanish with them.
    if left > 0, let longest = removed.map(\.count).max() {
      for depth in path.count..<longest {
        for above in Set(removed.filter { $0.count > depth }.map { Array($0.prefix(depth)) })
        where try source.contains(Key(bytes: TreeKey.priority(above)), in: bucket) {
          left -= 1
        }
      }
    }
    return left > 0
  }

  /// The node at a path. O(log n + its rows).
  func node(at path: [FirebaseKey], _ budget: ReadBudget? = nil) throws -> FirebaseNode {
    let children = TreeKey.children(path)
    let leaf = TreeKey.leaf(path)
    var builder = NodeBuilder()
    try source.forEachRow(
      in: bucket, from: Key(bytes: leaf), to: Key(bytes: TreeKey.end(path))
    ) { row in
      try budget?.count(row)
      let scalar = try Self.scalar(row.object)
      if row.key.bytes.count <= leaf.count {
        builder.add([], .node, scalar)
      } else {
        let below = try TreeKey.path(of: row.key.bytes, from: children.count)
        builder.add(below.keys[...], below.part, scalar)
      }
      return true
    }
    return builder.finish()
  }

  /// Calls `body` with the children of a node in key order, until it returns false.
  /// O(log n + rows read).
  ///
  /// - Parameters:
  ///   - lower: The bytes of the first row; nil for the first child.
  ///   - upper: The bytes after the last row; nil for the last child.
  func forEachChild(
    at path: [FirebaseKey], from lower: [UInt8]? = nil, to upper: [UInt8]? = nil,
    reversed: Bool = false, _ budget: ReadBudget? = nil,
    _ body: (FirebaseChild) throws -> Bool
  ) throws {
    let start = TreeKey.children(path).count
    var child: FirebaseKey?
    var rows: [(below: FirebasePath, scalar: FirebaseScalar)] = []
    func emit() throws -> Bool {
      guard let key = child else { return true }
      var builder = NodeBuilder()
      if reversed { rows.reverse() }
      for row in rows { builder.add(row.below.keys.dropFirst(), row.below.part, row.scalar) }
      rows.removeAll(keepingCapacity: true)
      child = nil
      let node = builder.finish()
      return node.exists ? try body(FirebaseChild(key: key, node: node)) : true
    }
    var goesOn = true
    try source.forEachRow(
      in: bucket, from: Key(bytes: lower ?? TreeKey.children(path)),
      to: Key(bytes: upper ?? TreeKey.end(path)), reversed: reversed
    ) { row in
      try budget?.count(row)
      // The root's own leaf is among the rows of its children.
      let below = try TreeKey.path(of: row.key.bytes, from: start)
      guard let key = below.keys.first else { return true }
      if key != child {
        goesOn = try emit()
        if !goesOn { return false }
        child = key
      }
      rows.append((below, try Self.scalar(row.object)))
      return true
    }
    if goesOn { _ = try emit() }
  }

  /// The keys of a node's children in key order. O(children · log n).
  func childKeys(at path: [FirebaseKey], _ budget: ReadBudget? = nil) throws -> [FirebaseKey] {
    var keys: [FirebaseKey] = []
    let start = TreeKey.children(path).count
    let end = Key(bytes: TreeKey.end(path))
    var next: [UInt8]? = TreeKey.children(path)
    while let from = next {
      next = nil
      // Rows of one child more than this are skipped by a search.
      var left = 8
      try source.forEachRow(in: bucket, from: Key(bytes: from), to: end) { row in
        try budget?.count(row)
        guard let key = try TreeKey.path(of: row.key.bytes, from: start).keys.first else {
          return true
        }
        if key != keys.last {
          keys.append(key)
          left = 8
        }
        left -= 1
        if left == 0 { next = TreeKey.end(path + [key]) }
        return left > 0
      }
    }
    return keys
  }

  /// The scalar in a row's object.
  static func scalar(_ object: [UInt8]) throws(RealtimeError) -> FirebaseScalar {
    let result = object.withUnsafeBytes { bytes in
      Result { () throws(FirebaseError) in
        let reader = NodeReader(bytes)
        try reader.validate()
        return try reader.scalar(0..<bytes.count)
      }
    }
    if case .success(let scalar) = result { return scalar }
    throw RealtimeError(500, "A row of the tree holds no scalar. Another program has written it.")
  }
}
