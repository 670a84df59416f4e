// One group of an index as those see it who watch the index: places are ranked many at once, and rows
// found without anything allocated on the way.

package import TreeRingLog

/// A group's entries in the order tree of an index at one commit.
package final class GroupEntries: Sendable {
  /// The group's name.
  package let name: GroupName
  private let index: IndexReader
  private let prefix: [UInt8]
  /// Where its entries lie among those of all groups.
  package let positions: Range<Int>

  /// Finds a group of an index; one that does not exist has no entries. O(log n).
  package init(_ name: GroupName, of index: IndexReader) throws(TreeRingError) {
    self.name = name
    self.index = index
    prefix = name.encoded
    positions = try index.positions(of: name)
  }

  /// How many rows the group has.
  package var count: Int { positions.count }

  /// How many of its rows stand before this place, whether or not a row stands at it. O(log n).
  package func rank(of place: [UInt8]) throws(TreeRingError) -> Int {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    return try index.state.read {
      place.withUnsafeBytes { rank(of: $0, nothing, nothing) }
    }
  }

  /// How many of its rows stand before a row with this sort key. O(log n).
  package func rank(
    of row: RowReference, sortKey: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> Int {
    try index.state.read {
      withUnsafeBytes(of: row.bucket.bigEndian) { bucket in
        row.key.withUnsafeBytes { rank(of: sortKey, bucket, $0) }
      }
    }
  }

  /// How many of its rows stand before a place, given as the parts that `OrderKey.order` puts together.
  /// Inside a read section.
  @inline(__always)
  private func rank(
    of sortKey: UnsafeRawBufferPointer, _ bucket: UnsafeRawBufferPointer,
    _ key: UnsafeRawBufferPointer
  ) -> Int {
    let byteCount = prefix.count + sortKey.count + bucket.count + key.count
    return withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { buffer in
      buffer.copyBytes(from: prefix)
      var rest = UnsafeMutableRawBufferPointer(rebasing: buffer[prefix.count...])
      rest.copyMemory(from: sortKey)
      rest = UnsafeMutableRawBufferPointer(rebasing: rest[sortKey.count...])
      rest.copyMemory(from: bucket)
      rest = UnsafeMutableRawBufferPointer(rebasing: rest[bucket.count...])
      rest.copyMemory(from: key)
      return index.order.rank(of: UnsafeRawBufferPointer(buffer)) - positions.lowerBound
    }
  }

  /// How many of its rows stand before each of these places. O(log n) each, and faster together.
  package func ranks(of places: [[UInt8]]) throws(TreeRingError) -> [Int] {
    var ranks: [Int] = []
    ranks.reserveCapacity(places.count)
    var rest = places[...]
    while !rest.isEmpty {
      var keys = KeyRun()
      for place in rest.prefix(Self.sectionPlaceCount) { keys.append(prefix, place) }
      rest = rest.dropFirst(Self.sectionPlaceCount)
      for rank in try index.state.read({ index.order.ranks(of: keys) }) {
        ranks.append(rank - positions.lowerBound)
      }
    }
    return ranks
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

  /// How many places are ranked in one read section.
  private static let sectionPlaceCount = 512
}

extension IndexReader {
  /// Calls `body` with each group that a row stands in, in their order, and with its sort key there. Both
  /// are valid inside only. O(log n).
  package func forEachPlace(
    of row: RowReference,
    _ body: (_ group: UnsafeRawBufferPointer, _ sortKey: UnsafeRawBufferPointer) throws -> Void
  ) throws(TreeRingError) {
    let places = Tree(roots.places, pages: state.pages)
    try state.read {
      try row.key.withUnsafeBytes { key in
        // What `PlaceKey.prefix` puts together.
        try withUnsafeTemporaryAllocation(byteCount: 6 + key.count, alignment: 8) { prefix in
          prefix.storeBytes(of: row.bucket.bigEndian, as: UInt32.self)
          prefix.storeBytes(
            of: UInt16(truncatingIfNeeded: key.count).bigEndian, toByteOffset: 4, as: UInt16.self)
          UnsafeMutableRawBufferPointer(rebasing: prefix[6...]).copyMemory(from: key)
          try places.forEach(startingWith: UnsafeRawBufferPointer(prefix), body)
        }
      }
    }
  }
}
