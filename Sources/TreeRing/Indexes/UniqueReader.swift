// Reads a unique index with the types of its handle. Its groups are values with one row each, so
// the rows of a range of texts are adjacent.

public import TreeRingLog

/// A unique index at one commit, with the types of its rows and of the value that only one row can
/// have.
///
/// A reader from a transaction is valid until the transaction's next write.
public struct UniqueReader<Row: SendableMetatype, Value: KeyConvertible>: Sendable {
  let reader: TypedIndexReader<Row, Value, Never>

  init(_ reader: TypedIndexReader<Row, Value, Never>) { self.reader = reader }

  /// The number of rows that have a value.
  public var count: Int { reader.untyped.count }

  /// The row with a value; nil if there is none. O(log n).
  ///
  /// Throws the errors of the bucket's coder.
  public func row(_ value: Value) throws -> Row? { try reader.first(in: value) }

  /// The key of the row with a value; nil if there is none. O(log n).
  public func key(_ value: Value) throws(TreeRingError) -> Key? {
    try reader.untyped.id(at: 0, in: try reader.name(of: value))?.key
  }

  /// The rows with these values, in the order of the values; a value without a row is left out.
  /// O(log n) for each value.
  ///
  /// Throws the errors of the bucket's coder.
  public func rows(_ values: some Sequence<Value>) throws -> [Row] {
    try values.compactMap { try row($0) }
  }
}

extension UniqueReader where Value: StringProtocol & SortValue {
  /// The rows whose value fulfils a condition, in the order of the values or, if `reversed`, in the
  /// opposite one, at most `limit` of them. O(log n + rows read), for each of several values.
  ///
  ///     let named = try snapshot[byTitle].rows(where: .prefix("Du"))  // Dubliners, Dune
  ///
  /// Of the types of values only text has conditions, since the groups of an index are in the order
  /// of texts.
  ///
  /// Throws `invalidInput` for a condition with a next one, and the errors of the bucket's coder.
  public func rows(
    where condition: ValueCondition<Value>, reversed: Bool = false, limit: Int = .max
  ) throws -> [Row] {
    var rows: [Row] = []
    if limit <= 0 { return rows }
    try reader.forEach(at: try positions(condition), reversed: reversed) { _, row in
      rows.append(row)
      return rows.count < limit
    }
    return rows
  }

  /// The number of rows whose value fulfils a condition. O(log n), for each of several values.
  ///
  /// Throws `invalidInput` for a condition with a next one.
  public func count(where condition: ValueCondition<Value>) throws(TreeRingError) -> Int {
    try positions(condition).reduce(0) { $0 + $1.count }
  }

  /// The positions of the rows that fulfil a condition, as ranges in order.
  private func positions(
    _ condition: ValueCondition<Value>
  ) throws(TreeRingError) -> [Range<Int>] {
    let spans = try spans(of: condition)
    let order = reader.untyped.order
    return try reader.untyped.state.read {
      spans.compactMap { span -> Range<Int>? in
        let lower = span.lower.withUnsafeBytes { order.rank(of: $0) }
        let upper = span.upper?.withUnsafeBytes { order.rank(of: $0) } ?? order.count
        return lower < upper ? lower..<upper : nil
      }
    }
  }

  /// The keys of the order tree that a condition selects, in order and disjoint.
  private func spans(
    of condition: ValueCondition<Value>
  ) throws(TreeRingError) -> [SortSpan] {
    switch condition.content {
    case .anyOf(let values):
      var names = Set<GroupName>()
      for case let value? in values { names.insert(try reader.name(of: value)) }
      return names.sorted().map { SortSpan(lower: start(of: $0), upper: end(of: $0)) }
    case .prefix(let text):
      // Without the end of the name.
      return [SortSpan(prefix: start(of: try reader.name(of: text)).dropLast(2))]
    case .range(let lower, let upper):
      let lower = try lower.map { (bound) throws(TreeRingError) in
        let name = try reader.name(of: bound.value)
        return bound.isIncluded ? start(of: name) : end(of: name)
      }
      let upper = try upper.map { (bound) throws(TreeRingError) in
        let name = try reader.name(of: bound.value)
        return bound.isIncluded ? end(of: name) : start(of: name)
      }
      return [SortSpan(lower: lower ?? [], upper: upper)]
    case .next:
      throw TreeRingError(
        .invalidInput,
        "A unique index has one row for each value, so its conditions have no next one. Leave out "
          + "the condition after “and”.")
    }
  }

  private func start(of name: GroupName) -> [UInt8] { name.encoded }
  private func end(of name: GroupName) -> [UInt8] { OrderKey.end(ofGroup: name.encoded) }
}
