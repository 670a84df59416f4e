// Reads one group of an index. Finding the group is done once, so that each further question is one
// descent of the order tree.

public import TreeRingLog

/// One group of a group index as it is at one commit: for many questions about the same group.
///
/// Of a transaction it is valid until the transaction's next write.
public struct GroupReader: Sendable {
  /// The group's name.
  public let name: GroupName
  private let index: IndexReader
  private let prefix: [UInt8]
  private let positions: Range<Int>

  init(_ name: GroupName, of index: IndexReader) throws(TreeRingError) {
    self.name = name
    self.index = index
    prefix = name.encoded
    positions = try index.positions(of: name)
  }

  /// How many rows the group has.
  public var count: Int { positions.count }

  /// The identity of the row at a position; nil beyond the group's end. O(log n).
  public func id(at position: Int) throws(TreeRingError) -> RowID? {
    guard position >= 0, position < positions.count else { return nil }
    return try index.state.id(try row(at: position))
  }

  /// The position of a row; nil if it is not in the group. O(log n).
  public func index(of id: RowID) throws(TreeRingError) -> Int? {
    try index.state.read {
      index.orderKey(of: id, in: name, encoded: prefix).map { key in
        key.withUnsafeBytes { index.order.rank(of: $0) } - positions.lowerBound
      }
    }
  }

  /// How many rows of the group stand before this place, whether or not a row stands at it. O(log n).
  package func rank(of place: [UInt8]) throws(TreeRingError) -> Int {
    var key: [UInt8] = []
    key.reserveCapacity(prefix.count + place.count)
    key.append(contentsOf: prefix)
    key.append(contentsOf: place)
    return try index.state.read {
      key.withUnsafeBytes { index.order.rank(of: $0) } - positions.lowerBound
    }
  }

  /// The row at a position of the group, less than its count. O(log n).
  package func row(at position: Int) throws(TreeRingError) -> RowReference {
    guard position >= 0, position < positions.count else { throw ByteReader.damaged }
    return try index.state.read {
      try index.order.withEntry(at: positions.lowerBound + position) { key, value in
        try OrderEntry(key: key, value: value).row
      }
    }
  }
}

extension IndexReader {
  /// A group to ask several questions of. O(log n).
  public func group(_ name: GroupName) throws(TreeRingError) -> GroupReader {
    try GroupReader(name, of: self)
  }

  /// The key of a row's entry in the order tree; nil if the row is not in the group. Inside a read
  /// section.
  func orderKey(of id: RowID, in group: GroupName, encoded prefix: [UInt8]) -> [UInt8]? {
    guard let bucket = state.catalog.buckets[id.bucket] else { return nil }
    let places = Tree(roots.places, pages: state.pages)
    return id.key.bytes.withUnsafeBytes { key in
      let place = PlaceKey.of(bucket: bucket, key: key, group: group)
      guard let sortKey = place.withUnsafeBytes({ places.value(of: $0) }) else { return nil }
      var entry: [UInt8] = []
      entry.reserveCapacity(prefix.count + sortKey.count + 4 + key.count)
      entry.append(contentsOf: prefix)
      entry.append(contentsOf: sortKey)
      entry.append(ordered32: bucket)
      entry.append(contentsOf: key)
      return entry
    }
  }
}
