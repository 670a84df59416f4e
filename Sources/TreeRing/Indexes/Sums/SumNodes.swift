// Sums of ranges of an index's order, in O(log n): a deterministic skip list beside the order tree.
//
// Every entry of the order tree has a level, from a hash of its key: level l or higher with
// probability 2^−5l. An entry of level l or higher has a node of level l, which holds the sum of
// the entries from this one to the next with such a node, or to the end. So a node of level l
// stands for some 32 nodes of the level below, and those of level 1 for entries.
//
//   - A sum goes up from its lower bound, by the nodes that lie within it, and then down to its
//     upper bound: some 32 entries or nodes for each level and side, which a few descents find.
//   - A changed summand changes the node around it in each level. A new entry of level l divides
//     l nodes, and its removal joins them.
//   - The nodes depend on the entries alone, not on the order of writes. So a replay, a follower
//     and a rebuilt index have the same ones, and a comparison of trees checks them.
//
// Nodes are entries of the place tree, before those of all rows, because no bucket has the number
// 0: 00 00 00 00 · level · order key → sum. Checkpoints, packing, time travel and the list of roots
// treat them like any other entry. Keys chosen to have no level would make sums slow, not wrong.

internal import TreeRingLog

/// Keys of the nodes of sums in the place tree.
enum SumKey {
  /// The number that stands where the keys of places have the bucket.
  static let bucket: UInt32 = 0
  /// The bytes before the order key.
  static let headByteCount = 5

  /// The bits of the hash that one level takes.
  private static let levelBits = 5

  /// The level of an entry of the order tree; 0 for one without nodes.
  static func level(of key: UnsafeRawBufferPointer) -> Int {
    Digest.of(key).trailingZeroBitCount / levelBits
  }

  static func node(_ level: Int, _ key: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(headByteCount + key.count)
    bytes.append(ordered32: bucket)
    bytes.append(UInt8(truncatingIfNeeded: level))
    bytes.append(contentsOf: key)
    return bytes
  }

  static func node(_ level: Int, _ key: [UInt8]) -> [UInt8] {
    key.withUnsafeBytes { node(level, $0) }
  }

  /// Whether a key of the place tree is that of a node.
  static func isNode(_ key: UnsafeRawBufferPointer) -> Bool {
    key.count >= headByteCount && RowTreeKey.bucket(of: key) == bucket
  }

  /// The order key of a node's entry.
  static func order(of node: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: node[headByteCount...])
  }

  /// The number of nodes of a place tree. O(log n).
  static func nodeCount(in places: Tree) -> Int {
    end.withUnsafeBytes { end in places.rank(of: end) }
  }

  /// The key after the nodes of all levels.
  static let end: [UInt8] = [0, 0, 0, 1]
}

/// The sums of an index in one state of its trees. Its methods must be called in a read section.
struct SumNodes {
  let order: Tree
  let places: Tree

  /// The highest level that has nodes; 0 without nodes. O(log n).
  var topLevel: Int {
    SumKey.end.withUnsafeBytes { end in
      places.withEntry(atOrBefore: end) { key, _ in
        SumKey.isNode(key) ? Int(key[SumKey.headByteCount - 1]) : 0
      }
    } ?? 0
  }

  /// The node of a level at a key, or the last one before it. O(log n).
  func node(
    _ level: Int, atOrBefore key: [UInt8]
  ) -> (key: [UInt8], sum: PartialSum)? {
    let wanted = SumKey.node(level, key)
    return wanted.withUnsafeBytes { wanted in
      places.withEntry(atOrBefore: wanted) { found, value in
        guard Self.isNode(found, of: level) else { return nil }
        return (Array(SumKey.order(of: found)), PartialSum(node: value) ?? PartialSum())
      } ?? nil
    }
  }

  /// The order key of the first node of a level that is not before a key. O(log n).
  func firstNode(_ level: Int, from key: [UInt8], after: Bool = false) -> [UInt8]? {
    var cursor = places.makeCursor()
    let wanted = SumKey.node(level, after ? key + [0] : key)
    guard wanted.withUnsafeBytes({ cursor.seek(to: $0) }) else { return nil }
    return cursor.withEntry { found, _ in
      Self.isNode(found, of: level) ? Array(SumKey.order(of: found)) : nil
    }
  }

  private static func isNode(_ key: UnsafeRawBufferPointer, of level: Int) -> Bool {
    SumKey.isNode(key) && Int(key[SumKey.headByteCount - 1]) == level
  }

  /// The sum of the entries from one key on and before another; nil is no bound. Nil if a value is
  /// damaged. O(log n).
  func sum(from lower: [UInt8], to upper: [UInt8]?) -> PartialSum? {
    var total = PartialSum()
    var (position, level) = (lower, 0)
    // Up, as long as the range reaches a node of the next level.
    while let next = firstNode(level + 1, from: position),
      upper.map({ next.lexicographicallyPrecedes($0) }) ?? true
    {
      guard let part = items(of: level, from: position, to: next) else { return nil }
      total += part
      position = next
      level += 1
    }
    // Down, by the nodes that end within the range.
    while level > 0 {
      guard let part = wholeNodes(of: level, from: position, to: upper) else { return nil }
      total += part.sum
      guard let end = part.end else { return total }
      position = end
      level -= 1
    }
    guard let rest = entries(from: position, to: upper) else { return nil }
    total += rest
    return total
  }

  /// The sum of the nodes of a level from one key on and before another, or, for level 0, of the
  /// entries; nil if a value is damaged. O(log n + nodes).
  func items(of level: Int, from lower: [UInt8], to upper: [UInt8]?) -> PartialSum? {
    if level == 0 { return entries(from: lower, to: upper) }
    let start = SumKey.node(level, lower)
    let end = upper.map { SumKey.node(level, $0) } ?? SumKey.node(level + 1, [])
    return Self.sum(of: places, from: start, to: end) { PartialSum(node: $0) }
  }

  private func entries(from lower: [UInt8], to upper: [UInt8]?) -> PartialSum? {
    Self.sum(of: order, from: lower, to: upper) { Summand(orderValue: $0).map { PartialSum($0) } }
  }

  private static func sum(
    of tree: Tree, from lower: [UInt8], to upper: [UInt8]?,
    _ decode: (UnsafeRawBufferPointer) -> PartialSum?
  ) -> PartialSum? {
    var total: PartialSum? = PartialSum()
    func add(_ value: UnsafeRawBufferPointer) -> Bool {
      guard let part = decode(value) else {
        total = nil
        return false
      }
      total? += part
      return true
    }
    lower.withUnsafeBytes { lower in
      guard let upper else { return tree.forEach(from: lower) { _, value in add(value) } }
      upper.withUnsafeBytes { upper in
        tree.forEach(from: lower, to: upper) { _, value in add(value) }
      }
    }
    return total
  }

  /// The sum of the nodes of a level, from that of a key on, that end at a bound or before it.
  /// - Returns: The sum, and the end of the last such node; nil for the end of the index. Nil if a
  ///   value is damaged.
  private func wholeNodes(
    of level: Int, from lower: [UInt8], to upper: [UInt8]?
  ) -> (sum: PartialSum, end: [UInt8]?)? {
    var (total, end) = (PartialSum(), lower)
    /// The sum of the node at `end`, whose own end is not known yet.
    var open: PartialSum?
    var isDamaged = false
    let bound = upper.map { SumKey.node(level, $0) }
    let start = SumKey.node(level, lower)
    var cursor = places.makeCursor()
    var isOn = start.withUnsafeBytes { cursor.seek(to: $0) }
    while isOn {
      let goesOn = cursor.withEntry { key, value in
        guard Self.isNode(key, of: level) else { return false }
        let isBeyond = bound?.withUnsafeBytes { KeyOrder.compare($0, key) < 0 } ?? false
        if isBeyond { return false }
        if let whole = open {
          total += whole
          end = Array(SumKey.order(of: key))
        }
        open = PartialSum(node: value)
        isDamaged = open == nil
        return !isDamaged
      }
      if isDamaged { return nil }
      if !goesOn { return upper == nil ? closed(total, open) : (total, end) }
      isOn = cursor.next()
    }
    return upper == nil ? closed(total, open) : (total, end)
  }

  /// The sum of all nodes of a level up to the end of the index.
  private func closed(
    _ total: PartialSum, _ last: PartialSum?
  ) -> (sum: PartialSum, end: [UInt8]?) {
    var total = total
    if let last { total += last }
    return (total, nil)
  }
}
