// One group of an index, for many queries. The group is looked up once. Each query is one or two
// descents of a tree, with a key built on the stack.

public import TreeRingLog
internal import TreeRingPlatform

/// One group of a group index at one commit, for many queries of the same group.
///
/// A reader from a transaction is valid until the transaction's next write.
public struct GroupReader: Sendable {
  private let entries: GroupEntries

  init(_ name: GroupName, of index: IndexReader) throws(TreeRingError) {
    entries = try GroupEntries(name, of: index)
  }

  /// The group's name.
  public var name: GroupName { entries.name }

  /// The number of rows in the group.
  public var count: Int { entries.count }

  /// The identity of the row at a position; nil beyond the group's end. O(log n).
  public func id(at position: Int) throws(TreeRingError) -> RowID? { try entries.id(at: position) }

  /// The position of a row; nil if it is not in the group. O(log n).
  public func index(of id: RowID) throws(TreeRingError) -> Int? { try entries.position(of: id) }
}

/// A group's entries in the order tree of an index at one commit.
package final class GroupEntries: Sendable {
  /// The group's name.
  package let name: GroupName
  private let index: IndexReader
  private let prefix: [UInt8]
  /// The range of its entries among those of all groups.
  package let positions: Range<Int>
  /// The bucket of the first row read.
  private let knownBucket = Once<BucketReference>()

  /// Finds a group of an index; one that does not exist has no entries. O(log n).
  package init(_ name: GroupName, of index: IndexReader) throws(TreeRingError) {
    self.name = name
    self.index = index
    prefix = name.encoded
    positions = try index.positions(of: name)
  }

  /// The number of rows in the group.
  package var count: Int { positions.count }

  // MARK: - From places to positions

  /// The number of its rows before a place, whether or not a row has that place. O(log n).
  package func rank(of place: [UInt8]) throws(TreeRingError) -> Int {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    return try index.state.read {
      prefix.withUnsafeBytes { prefix in
        place.withUnsafeBytes { place in
          withJoined(prefix, place, nothing, nothing) { index.order.rank(of: $0) }
        }
      } - positions.lowerBound
    }
  }

  /// The position of a row of the group, whose sort key there is this one. O(log n).
  package func position(
    of row: RowReference, sortKey: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> Int {
    try index.state.read {
      withUnsafeBytes(of: row.bucket.bigEndian) { bucket in
        row.key.withUnsafeBytes { position(sortKey, bucket, $0) }
      }
    }
  }

  /// The number of its rows before each of these places. O(log n) each, and faster together.
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

  /// The position of a row; nil if it is not in the group. O(log n).
  package func position(of id: RowID) throws(TreeRingError) -> Int? {
    guard let number = index.state.number(ofBucket: id.bucket) else { return nil }
    return try index.state.read {
      withUnsafeBytes(of: number.bigEndian) { bucket in
        id.key.bytes.withUnsafeBytes { key in
          sortKey(of: bucket, key).map { position($0, bucket, key) }
        }
      }
    }
  }

  /// The sort key of a row, in place; nil if the row is not in the group. To be called inside a
  /// read section.
  @inline(__always)
  private func sortKey(
    of bucket: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer
  ) -> UnsafeRawBufferPointer? {
    withUnsafeBytes(of: UInt16(truncatingIfNeeded: key.count).bigEndian) { keyLength in
      name.bytes.withUnsafeBytes { group in
        withJoined(bucket, keyLength, key, group) { index.placeTree.value(of: $0) }
      }
    }
  }

  /// The position of a row that the group has, by the parts of its place: sort key, bucket, key. To
  /// be called inside a read section.
  @inline(__always)
  private func position(
    _ sortKey: UnsafeRawBufferPointer, _ bucket: UnsafeRawBufferPointer,
    _ key: UnsafeRawBufferPointer
  ) -> Int {
    prefix.withUnsafeBytes { prefix in
      withJoined(prefix, sortKey, bucket, key) { index.order.rank(ofPresent: $0) }
        - positions.lowerBound
    }
  }

  // MARK: - From positions to rows

  /// The row at a position of the group, less than its count. O(log n).
  package func row(at position: Int) throws(TreeRingError) -> RowReference {
    guard position >= 0, position < positions.count else { throw ByteReader.damaged }
    return try index.state.read {
      try index.order.withEntry(at: positions.lowerBound + position) { key, value in
        try OrderEntry(key: key, value: value).row
      }
    }
  }

  /// The identity of the row at a position; nil beyond the group's end. O(log n).
  package func id(at position: Int) throws(TreeRingError) -> RowID? {
    guard position >= 0, position < positions.count else { return nil }
    let row = try row(at: position)
    return RowID(bucket: try name(ofBucket: row.bucket), key: Key(bytes: row.key))
  }

  /// The name of a bucket. O(1) for that of the first row read, usually that of all rows.
  @inline(__always)
  private func name(ofBucket number: UInt32) throws(TreeRingError) -> String {
    if let known = knownBucket.value, known.number == number { return known.name }
    guard let name = index.state.catalog.name(ofBucket: number) else { throw ByteReader.damaged }
    knownBucket.set(BucketReference(number: number, name: name))
    return name
  }

  /// The number of places ranked in one read section.
  private static let sectionPlaceCount = 512
}

extension IndexReader {
  /// Returns a group for several queries. O(log n).
  public func group(_ name: GroupName) throws(TreeRingError) -> GroupReader {
    try GroupReader(name, of: self)
  }

  /// Calls `body` with each group of a row, in their order, and the row's sort key there. Both are
  /// valid only inside `body`. O(log n).
  package func forEachPlace(
    of row: RowReference,
    _ body: (_ group: UnsafeRawBufferPointer, _ sortKey: UnsafeRawBufferPointer) throws -> Void
  ) throws(TreeRingError) {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    try state.read {
      try withUnsafeBytes(of: row.bucket.bigEndian) { bucket in
        try withUnsafeBytes(of: UInt16(truncatingIfNeeded: row.key.count).bigEndian) { keyLength in
          try row.key.withUnsafeBytes { key in
            try withJoined(bucket, keyLength, key, nothing) {
              try placeTree.forEach(startingWith: $0, body)
            }
          }
        }
      }
    }
  }
}

/// Calls `body` with the concatenation of four runs of bytes, built on the stack.
@inline(__always)
private func withJoined<R>(
  _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer,
  _ third: UnsafeRawBufferPointer, _ fourth: UnsafeRawBufferPointer,
  _ body: (UnsafeRawBufferPointer) throws -> R
) rethrows -> R {
  let byteCount = first.count + second.count + third.count + fourth.count
  return try withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { buffer in
    // Not by slices: their checks would be a tenth of a position's instructions.
    var end = buffer.baseAddress.unsafelyUnwrapped
    @inline(__always)
    func append(_ part: UnsafeRawBufferPointer) {
      memcpy(end, part.start, part.count)
      end += part.count
    }
    append(first)
    append(second)
    append(third)
    append(fourth)
    return try body(UnsafeRawBufferPointer(buffer))
  }
}
