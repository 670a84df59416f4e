// Queries by a group index. Children without a value have no entry there, so the index serves
// ranges without null, and limits from the end that it can fill.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLog

extension ChildQuery {
  /// The children that the query selects, by the index of the rules; nil if the index does not
  /// have all of them. O(log n + result · log n).
  func byIndex(
    at path: [FirebaseKey], in tree: TreeReader, _ index: IndexReader, _ budget: ReadBudget?
  ) throws -> [FirebaseChild]? {
    guard let name = indexName else { return nil }
    let excludesNull = interval.lower.map { !$0.lexicographicallyPrecedes([0, 0xFF]) } ?? false
    var isFromEnd = false
    if case .last? = limit { isFromEnd = true }
    guard excludesNull || isFromEnd else { return nil }
    let group = IndexPlan.group(name, of: path)
    let lower = try interval.lower.map { try index.rank(of: Self.sortKey($0), in: group) }
    let upper = try interval.upper.map {
      try index.rank(of: Self.sortKey($0, last: true), in: group)
    }
    let range = (lower ?? 0)..<max(lower ?? 0, try upper ?? index.count(in: group))
    let found = try keys(in: group, range, at: path, index, isFromEnd: isFromEnd)
    var places: [(place: [UInt8], child: FirebaseChild)] = []
    for key in found.keys {
      let child = FirebaseChild(key: key, node: try tree.node(at: path + [key], budget))
      let place = OrderEdge(value: order.value(of: child), key: key).bytes
      if interval.contains(place) { places.append((place, child)) }
    }
    if let limit {
      // Entries whose sort keys were cut may lie outside, and null may follow before the first one.
      let isFull = places.count >= limit.count
      guard isFull || excludesNull && found.isWhole else { return nil }
      places.sort { $0.place.lexicographicallyPrecedes($1.place) }
      places = isFromEnd ? places.suffix(limit.count) : Array(places.prefix(limit.count))
    }
    return places.map(\.child)
  }

  /// The keys of the children in a range of a group, as many as the limit asks for, and further
  /// ones as long as their sort keys are cut and equal.
  private func keys(
    in group: GroupName, _ range: Range<Int>, at path: [FirebaseKey], _ index: IndexReader,
    isFromEnd: Bool
  ) throws -> (keys: [FirebaseKey], isWhole: Bool) {
    let start = TreeKey.children(path).count
    let count = limit?.count ?? .max
    var keys: [FirebaseKey] = []
    var known: Set<FirebaseKey> = []
    var last: [UInt8]?
    var isWhole = true
    try index.forEachEntry(in: group, range, reversed: isFromEnd) { entry in
      let sortKey = Array(entry.order.dropLast(4 + entry.key.count))
      if keys.count >= count, sortKey.count < Limits.sortKeyByteCount || sortKey != last {
        isWhole = false
        return false
      }
      last = sortKey
      if let key = try TreeKey.path(of: Array(entry.key), from: start).keys.first,
        known.insert(key).inserted
      {
        keys.append(key)
      }
      return true
    }
    return (keys, isWhole)
  }

  /// The beginning of the sort keys from a place of the order on: as the index encodes bytes,
  /// without their end. Sort keys are cut, so a long one stands for its beginning; as a last one it
  /// stands for all that begin so.
  private static func sortKey(_ place: [UInt8], last: Bool = false) -> [UInt8] {
    var bytes: [UInt8] = []
    for byte in place { bytes += byte == 0 ? [0, 0xFF] : [byte] }
    guard bytes.count >= Limits.sortKeyByteCount else { return bytes }
    bytes.removeLast(bytes.count - Limits.sortKeyByteCount + 1)
    return last ? bytes + [0xFF, 0xFF] : bytes
  }
}
