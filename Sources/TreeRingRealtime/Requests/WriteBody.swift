// The data of a write: nodes by path, and the server values in them, which are known only inside
// the transaction.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLog

/// The write of a node before its server values are known.
struct PendingWrite {
  let path: FirebasePath
  let node: FirebaseNode
  let serverValues: [(path: [FirebaseKey], part: FirebasePath.Part, value: ServerValues.Value)]

  /// The write as the tree must have it.
  ///
  /// - Parameters:
  ///   - tree: The tree before the write.
  ///   - now: Milliseconds since 1970.
  func resolved(in tree: TreeReader, now: Double) throws -> NodeWrite {
    var node = self.node
    for found in serverValues {
      let place = path.keys + found.path
      let value: Double
      switch found.value {
      case .timestamp: value = now
      case .increment(let delta):
        let present =
          found.part == .priority ? try tree.priority(at: place) : try tree.scalar(at: place)
        if case .number(let number)? = present { value = number + delta } else { value = delta }
      }
      guard value.isFinite else { throw RealtimeError(400, "An increment leaves the doubles.") }
      node.replace(
        FirebasePath(keys: found.path, part: found.part),
        by: FirebaseNode(.scalar(.number(value))))
    }
    switch path.part {
    case .node: return NodeWrite(path: path.keys, node: node)
    case .value:
      return NodeWrite(
        path: path.keys,
        node: FirebaseNode(node.value, priority: try tree.priority(at: path.keys)))
    case .priority:
      guard case .scalar(let priority) = node.value else { throw Self.badPriority }
      if case .bool = priority { throw Self.badPriority }
      return NodeWrite(
        path: path.keys,
        node: FirebaseNode(try tree.node(at: path.keys).value, priority: priority))
    }
  }

  private static var badPriority: RealtimeError {
    RealtimeError(400, "Invalid data; a priority must be null, a number or a string.")
  }
}

/// Reads the bodies of writes.
enum WriteBody {
  private static let noValue = "Invalid data; couldn't parse JSON object, array, or value."
  private static let noObject =
    "Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?"

  /// The write of one node.
  static func node(_ body: [UInt8], at path: FirebasePath) throws -> PendingWrite {
    guard !body.isEmpty else { throw RealtimeError(400, "Error: No data supplied.") }
    return try reading(body, else: noValue) { (bytes) throws(FirebaseError) in
      try node(bytes, 0..<bytes.count, at: path, validating: true)
    }
  }

  private static func node(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, at path: FirebasePath,
    validating: Bool = false
  ) throws(FirebaseError) -> PendingWrite {
    let values = ServerValues()
    let reader = NodeReader(bytes, serverValues: values)
    if validating { try reader.validate() }
    let node = try reader.node(range, depth: path.keys.count)
    return PendingWrite(path: path, node: node, serverValues: values.found)
  }

  /// The writes of a patch, none of which is above another.
  static func patch(_ body: [UInt8], at base: FirebasePath) throws -> [PendingWrite] {
    guard !body.isEmpty else { throw RealtimeError(400, "Error: No data supplied.") }
    guard base.part == .node else { throw RealtimeError(400, noObject) }
    let writes = try reading(body, else: noObject) {
      (bytes) throws(FirebaseError) -> [PendingWrite] in
      let reader = NodeReader(bytes)
      try reader.validate()
      var writes: [PendingWrite] = []
      for member in try reader.members(0..<bytes.count) {
        let path = base.appending(try FirebasePath(member.name))
        if path == base { throw FirebaseError(.malformed, "A key is empty.") }
        if path.keys.count > FirebaseNode.largestDepth {
          throw FirebaseError(.malformed, "A key leads too deep.")
        }
        writes.append(try node(bytes, member.value, at: path))
      }
      return writes
    }
    let sorted = writes.map { TreeKey.leaf($0.path.keys) + [0x20] }.sorted {
      $0.lexicographicallyPrecedes($1)
    }
    for (first, second) in zip(sorted, sorted.dropFirst()) where second.starts(with: first) {
      throw RealtimeError(400, "Invalid data; a path of the update is above another one.")
    }
    return writes
  }

  private static func reading<Value>(
    _ body: [UInt8], else text: String,
    _ read: (UnsafeRawBufferPointer) throws(FirebaseError) -> Value
  ) throws -> Value {
    let result = body.withUnsafeBytes { bytes in
      Result { () throws(FirebaseError) in try read(bytes) }
    }
    switch result {
    case .success(let value): return value
    case .failure(let error): throw RealtimeError(400, "\(text) \(error.message)")
    }
  }
}
