// Reads an index with the types of its handle. Conditions become spans of sort keys, spans become
// ranges of positions by two ranks each, and rows are read from there.

public import TreeRingLog

/// An index at one commit, with the types of its rows, groups and sort values.
///
///     let best = try rank.rows(in: .fantasy, limit: 1)  // Ubik
///     let worst = try rank.rows(in: .fantasy, reversed: true, limit: 2)  // Emma, Dune
///     let place = try rank.rank(of: 15, in: .fantasy)  // 1: one book sells better
///     let count = try rank.count(in: .fantasy, where: .oneOf([0, 20]))  // 2
///
/// A reader from a transaction is valid until the transaction's next write.
public struct TypedIndexReader<
  Row: SendableMetatype, Group: KeyConvertible, Sort: SortValue
>: Sendable {
  /// The same index without types.
  public let untyped: IndexReader
  private let index: Index<Row, Group, Sort>
  private let components: SortComponents<Sort>?
  private let groupNames: FieldGroups?

  init(
    _ index: Index<Row, Group, Sort>, _ components: SortComponents<Sort>?, _ reader: IndexReader
  ) {
    self.index = index
    self.components = components
    groupNames =
      reader.isByFields ? FieldGroups(isOfLibrary: index.bucket.coder.isOfLibrary) : nil
    untyped = reader
  }

  // MARK: - Groups

  /// Every group that has rows, in the order of the texts of their values, with the number of its
  /// rows. O(groups · log n).
  ///
  /// Throws `invalidInput` if the name of a group is not that of a value of the type.
  public func groups() throws(TreeRingError) -> [(group: Group, rows: Int)] {
    var groups: [(group: Group, rows: Int)] = []
    for (name, rows) in try untyped.groupCounts() {
      guard let group = value(of: name) else {
        throw index.contradiction("the group “\(name)” is no \(Group.self)")
      }
      groups.append((group, rows))
    }
    return groups
  }

  /// The number of rows of a group that fulfil a condition; of all its rows without one. O(log n),
  /// for each of several values.
  public func count(
    in group: Group, where condition: ValueCondition<Sort>? = nil
  ) throws(TreeRingError) -> Int {
    try positions(in: group, condition).reduce(0) { $0 + $1.count }
  }

  /// The sum of the rows of a group that fulfil a condition; of all its rows without one. O(log n),
  /// for each of several values.
  ///
  /// Throws `invalidInput` if the index has no sums, and `notSummable` if one of the rows has a
  /// number that cannot be summed.
  public func sum(
    in group: Group, where condition: ValueCondition<Sort>? = nil
  ) throws(TreeRingError) -> IndexSum {
    var total = try untyped.sum(at: 0..<0)
    for range in try positions(in: group, condition) {
      let part = try untyped.sum(at: range)
      total = IndexSum(units: total.units + part.units, decimals: total.decimals)
    }
    return total
  }

  // MARK: - Rows

  /// Calls `body` with the rows of a group that fulfil a condition, in group order or, if
  /// `reversed`, in the opposite one, until it returns false. O(log n + rows read).
  ///
  /// Throws the errors of `body` and of the bucket's coder.
  public func forEach(
    in group: Group, where condition: ValueCondition<Sort>? = nil, reversed: Bool = false,
    _ body: (Key, Row) throws -> Bool
  ) throws {
    try forEach(at: try positions(in: group, condition), reversed: reversed, body)
  }

  /// Calls `body` with the rows at positions among those of all groups, as above.
  func forEach(
    at positions: [Range<Int>], reversed: Bool, _ body: (Key, Row) throws -> Bool
  ) throws {
    let (state, coder) = (untyped.state, index.bucket.coder)
    var keys = KeyBuffer()
    var goesOn = true
    for range in reversed ? positions.reversed() : positions where goesOn {
      try state.forEach(in: range, of: untyped.order, reversed: reversed) { key, value in
        let entry = try OrderEntry(key: key, value: value)
        guard let record = try state.record(bucket: entry.bucket, key: entry.key) else {
          throw StateReader.missing(try state.id(entry.row))
        }
        let row = try state.values.withBytes(of: record.object, part: .object) {
          try coder.decode($0, record.coder)
        }
        goesOn = try body(keys.copy(entry.key), row)
        return goesOn
      }
    }
  }

  /// The rows of a group that fulfil a condition, in group order or, if `reversed`, in the opposite
  /// one, at most `limit` of them: the first rows of the group, or the last. O(log n + rows read).
  ///
  /// Throws the errors of the bucket's coder.
  public func rows(
    in group: Group, where condition: ValueCondition<Sort>? = nil, reversed: Bool = false,
    limit: Int = .max
  ) throws -> [Row] {
    try entries(in: group, where: condition, reversed: reversed, limit: limit).map(\.row)
  }

  /// The same rows with their keys.
  public func entries(
    in group: Group, where condition: ValueCondition<Sort>? = nil, reversed: Bool = false,
    limit: Int = .max
  ) throws -> [(key: Key, row: Row)] {
    var entries: [(key: Key, row: Row)] = []
    if limit <= 0 { return entries }
    try forEach(in: group, where: condition, reversed: reversed) { key, row in
      entries.append((key, row))
      return entries.count < limit
    }
    return entries
  }

  /// The first row of a group that fulfils a condition; nil if none does. O(log n).
  public func first(
    in group: Group, where condition: ValueCondition<Sort>? = nil
  ) throws -> Row? {
    try rows(in: group, where: condition, limit: 1).first
  }

  /// The last row of a group that fulfils a condition; nil if none does. O(log n).
  public func last(in group: Group, where condition: ValueCondition<Sort>? = nil) throws -> Row? {
    try rows(in: group, where: condition, reversed: true, limit: 1).first
  }

  // MARK: - Positions

  /// The number of rows of a group that come before those with a sort value, whether or not a row
  /// has it: with smaller values, or greater ones in a descending order. O(log n).
  public func rank(of value: Sort, in group: Group) throws(TreeRingError) -> Int {
    let components = try orderedComponents()
    guard let keys = try components.keys(of: value) else { return 0 }
    return try untyped.rank(of: keys.lower, in: name(of: group))
  }

  /// The position of a row in a group; nil if the row is not in the group. O(log n).
  public func index(of key: some KeyConvertible, in group: Group) throws(TreeRingError) -> Int? {
    try untyped.index(of: RowID(Key(key), in: index.bucket), in: name(of: group))
  }

  // MARK: - Parts

  func name(of group: Group) throws(TreeRingError) -> GroupName {
    try groupNames?.name(of: group) ?? GroupName(bytes: group.keyBytes)
  }

  private func value(of name: GroupName) -> Group? {
    groupNames.map { $0.value(of: name) } ?? Group(keyBytes: name.bytes)
  }

  /// The positions, among those of all groups, of the rows that fulfil a condition, as ranges in
  /// order.
  private func positions(
    in group: Group, _ condition: ValueCondition<Sort>?
  ) throws(TreeRingError) -> [Range<Int>] {
    guard let condition else { return [try untyped.positions(of: name(of: group))] }
    let spans = try orderedComponents().spans(of: condition)
    let entries = try GroupEntries(name(of: group), of: untyped)
    let start = entries.positions.lowerBound
    var positions: [Range<Int>] = []
    for span in spans {
      let lower = try entries.rank(of: span.lower)
      let upper = try span.upper.map { (key) throws(TreeRingError) in try entries.rank(of: key) }
      let end = upper ?? entries.count
      if lower < end { positions.append(start + lower..<start + end) }
    }
    return positions
  }

  private func orderedComponents() throws(TreeRingError) -> SortComponents<Sort> {
    guard let components else {
      throw index.contradiction("the handle states no order, so it has no conditions and ranks")
    }
    return components
  }
}
