// Reads a group index at one commit. Positions in a group are ranks in the order tree. A group's
// rows are adjacent there, so a position is the group's first rank plus an offset.

public import TreeRingLog

/// A group index at one commit.
///
/// It keeps its snapshot alive. A reader from a transaction is valid until the transaction's next
/// write.
public struct IndexReader: Sendable {
  /// The index's name.
  public let name: String
  let state: StateReader
  let roots: IndexRoots
  let order: Tree
  let placeTree: Tree
  /// The number of decimals of its sums; nil without sums.
  let decimals: Int?
  /// Whether its groups are the values of a field.
  let isByFields: Bool
  /// Keeps the state readable; nil in a transaction.
  private let pin: (any AnyObject & Sendable)?

  init(
    name: String, state: StateReader, roots: IndexRoots, decimals: Int? = nil,
    isByFields: Bool = false, pin: (any AnyObject & Sendable)?
  ) {
    self.pin = pin
    self.decimals = decimals
    self.isByFields = isByFields
    self.name = name
    self.state = state
    self.roots = roots
    order = Tree(roots.order, pages: state.pages)
    placeTree = Tree(roots.places, pages: state.pages)
  }

  /// The commit that it reads.
  public var commit: CommitNumber { state.roots.commit }

  /// The number of entries in all groups.
  public var count: Int { order.count }

  /// The number of rows left out because the closure cannot decode them.
  public var undecodableCount: Int { Int(roots.undecodable) }

  /// Whether the index has no rows.
  public var isEmpty: Bool { order.isEmpty }

  // MARK: - Groups

  /// Every group that has rows, in name order. O(groups · log n).
  public func groups() throws(TreeRingError) -> [GroupName] {
    try groupCounts().map(\.group)
  }

  /// Every group that has rows, in name order, with the number of its rows. O(groups · log n).
  public func groupCounts() throws(TreeRingError) -> [(group: GroupName, rows: Int)] {
    try groupCounts(from: nil, limit: .max)
  }

  /// The groups from a name on that have rows, in name order, at most `limit` of them, with the
  /// number of their rows. O(groups returned · log n).
  package func groupCounts(
    from first: GroupName?, limit: Int
  ) throws(TreeRingError) -> [(group: GroupName, rows: Int)] {
    var groups: [(group: GroupName, rows: Int)] = []
    var position = 0
    if let first { position = try positions(of: first).lowerBound }
    while position < order.count, groups.count < limit {
      try state.read {
        let group = try order.withEntry(at: position) { key, value in
          try OrderEntry(key: key, value: value).groupName
        }
        let end = OrderKey.end(ofGroup: group.encoded).withUnsafeBytes { order.rank(of: $0) }
        guard end > position else { throw ByteReader.damaged }
        groups.append((group, end - position))
        position = end
      }
    }
    return groups
  }

  /// The number of rows of a group; 0 for one that does not exist. O(log n).
  public func count(in group: GroupName) throws(TreeRingError) -> Int {
    try positions(of: group).count
  }

  /// The range of a group's entries in the order tree.
  package func positions(of group: GroupName) throws(TreeRingError) -> Range<Int> {
    try state.read {
      let start = group.encoded
      let lower = start.withUnsafeBytes { order.rank(of: $0) }
      let upper = OrderKey.end(ofGroup: start).withUnsafeBytes { order.rank(of: $0) }
      return lower..<max(lower, upper)
    }
  }

  /// The number of rows of a group before `place`, which need not be the place of a row. O(log n).
  package func rank(of place: [UInt8], in group: GroupName) throws(TreeRingError) -> Int {
    // Without the group's end, which `GroupEntries` would look for.
    try state.read {
      let start = group.encoded
      let lower = start.withUnsafeBytes { order.rank(of: $0) }
      return (start + place).withUnsafeBytes { order.rank(of: $0) } - lower
    }
  }

  /// The entry at a position of a group, which must exist. O(log n).
  package func entry(
    at index: Int, in group: GroupName
  ) throws(TreeRingError) -> (order: [UInt8], row: RowReference) {
    try state.read {
      let lower = group.encoded.withUnsafeBytes { order.rank(of: $0) }
      // There are fewer entries only if a page could not be fetched.
      guard lower + index < order.count else { throw ByteReader.damaged }
      return try order.withEntry(at: lower + index) { key, value in
        let entry = try OrderEntry(key: key, value: value)
        return (Array(entry.order), entry.row)
      }
    }
  }

  /// Calls `body` with the entries at these positions of a group, which must exist.
  package func forEachEntry(
    in group: GroupName, _ range: Range<Int>, reversed: Bool = false,
    _ body: (OrderEntry) throws -> Bool
  ) throws {
    let start = try positions(of: group).lowerBound
    let range = start + range.lowerBound..<start + range.upperBound
    try state.forEach(in: range, of: order, reversed: reversed) { key, value in
      try body(try OrderEntry(key: key, value: value))
    }
  }

  /// The places of a row, in group order.
  package func places(of row: RowReference) throws(TreeRingError) -> [RowPlace] {
    try state.read {
      row.key.withUnsafeBytes { key in
        PlaceKey.places(in: placeTree, prefix: PlaceKey.prefix(bucket: row.bucket, key: key))
          .entries(of: row)
      }
    }
  }

  // MARK: - Rows

  /// The identity of the row at a position of a group; nil beyond its end. O(log n).
  public func id(
    at index: Int, in group: some KeyConvertible
  ) throws(TreeRingError) -> RowID? {
    try self.group(name(of: group)).id(at: index)
  }

  /// The row at a position of a group; nil beyond its end. O(log n).
  public func row(at index: Int, in group: GroupName) throws(TreeRingError) -> StoredRow? {
    guard let id = try id(at: index, in: group) else { return nil }
    return try state.row(id)
  }

  /// The first row of a group. O(log n).
  public func first(in group: some KeyConvertible) throws(TreeRingError) -> StoredRow? {
    try row(at: 0, in: name(of: group))
  }

  /// The last row of a group. O(log n).
  public func last(in group: some KeyConvertible) throws(TreeRingError) -> StoredRow? {
    let group = try name(of: group)
    return try row(at: try count(in: group) - 1, in: group)
  }

  /// The groups of a row and its position in each, in group order. O(places · log n).
  public func positions(
    of id: RowID
  ) throws(TreeRingError) -> [(group: GroupName, index: Int)] {
    guard let row = state.reference(id) else { return [] }
    var positions: [(group: GroupName, index: Int)] = []
    for place in try places(of: row) {
      positions.append((place.group, try rank(of: place.order, in: place.group)))
    }
    return positions
  }

  /// The position of a row in a group; nil if the row is not in the group. O(log n).
  public func index(of id: RowID, in group: GroupName) throws(TreeRingError) -> Int? {
    try self.group(group).index(of: id)
  }

  /// Calls `body` with the rows at positions of a group, clipped to the group, until it returns
  /// false. O(log n + rows read).
  public func forEachRow(
    in group: some KeyConvertible, _ range: Range<Int>? = nil, reversed: Bool = false,
    _ body: (_ index: Int, StoredRow) throws -> Bool
  ) throws {
    let group = try name(of: group)
    let all = 0..<(try count(in: group))
    let range = (range ?? all).clamped(to: all)
    var index = reversed ? range.upperBound - 1 : range.lowerBound
    try forEachEntry(in: group, range, reversed: reversed) { entry in
      defer { index += reversed ? -1 : 1 }
      return try body(index, try state.row(try state.id(entry.row)))
    }
  }

  /// The rows at positions of a group, clipped to the group. O(log n + rows read).
  public func rows(in group: GroupName, _ range: Range<Int>? = nil) throws -> [StoredRow] {
    var rows: [StoredRow] = []
    try forEachRow(in: group, range) { _, row in
      rows.append(row)
      return true
    }
    return rows
  }

  /// The position of the first row of a group that fits, found by binary search; the group's count
  /// if none fits. `fits` must be false for a head of the group and true for the rest. O(log² n).
  ///
  ///     let position = try index.firstIndex(in: "sci-fi") { try books.decode($0).sales < 15 }
  public func firstIndex(
    in group: some KeyConvertible, where fits: (StoredRow) throws -> Bool
  ) throws -> Int {
    let group = try name(of: group)
    return try (0..<count(in: group)).partitioningIndex { position in
      guard let row = try row(at: position, in: group) else { return true }
      return try fits(row)
    }
  }
}

/// The names of all buckets that a store has ever had.
package struct RowNames: Sendable {
  let catalog: Catalog

  /// A row's public identity.
  package func id(of row: RowReference) throws(TreeRingError) -> RowID {
    guard let bucket = catalog.name(ofBucket: row.bucket) else { throw ByteReader.damaged }
    return RowID(bucket: bucket, key: Key(bytes: row.key))
  }

  /// A row's identity inside the engine; nil if its bucket never existed.
  package func reference(of id: RowID) -> RowReference? {
    catalog.number(ofBucket: id.bucket).map { RowReference(bucket: $0, key: id.key.bytes) }
  }
}

extension StateReader {
  /// A row's public identity.
  package func id(_ row: RowReference) throws(TreeRingError) -> RowID {
    try RowNames(catalog: catalog).id(of: row)
  }

  /// A row's identity inside the engine; nil if the bucket never existed.
  package func reference(_ id: RowID) -> RowReference? {
    RowNames(catalog: catalog).reference(of: id)
  }

  /// Returns a row that an index names.
  func row(_ id: RowID) throws(TreeRingError) -> StoredRow {
    guard let row = try storedRow(bucket: id.bucket, key: id.key) else { throw Self.missing(id) }
    return row
  }

  /// The error for a row that an index names and that does not exist.
  static func missing(_ id: RowID) -> TreeRingError {
    TreeRingError(
      .corruption, "An index names the row \(id), which does not exist. Run `treering verify`.")
  }
}
