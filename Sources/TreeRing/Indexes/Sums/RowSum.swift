// The source of a row's summand: a field of its object, or a closure of the row.

internal import TreeRingLog

/// The number of a row that an index sums.
enum RowSum: Sendable {
  case field(SumField)
  case code(CodeSum)

  /// The number of decimals that the numbers may have.
  var decimals: Int {
    switch self {
    case .field(let field): field.sum.decimals
    case .code(let code): code.decimals
    }
  }

  /// The summed field; nil for a closure.
  var fieldName: String? { if case .field(let field) = self { field.sum.field } else { nil } }

  /// The summand of a row. A closure that throws has no number that can be summed.
  func summand(of row: RowInput) -> Summand {
    switch self {
    case .field(let field): field.summand(of: row.object)
    case .code(let code): (try? code.units(row)).flatMap { $0 }.map { .number($0) } ?? .unsummable
    }
  }
}

/// The number that a closure returns for a row.
struct CodeSum: Sendable {
  let decimals: Int
  /// Returns the number in units of the last decimal; nil if it is no integer of 64 bits in them.
  let units: @Sendable (RowInput) throws -> Int64?

  init(decimals: Int, units: @escaping @Sendable (RowInput) throws -> Int64?) {
    precondition(
      (0...Limits.sumDecimals).contains(decimals),
      "a sum has 0 to \(Limits.sumDecimals) decimals, not \(decimals)")
    self.decimals = decimals
    self.units = units
  }
}

extension GroupIndex {
  /// The number of decimals of the sums; nil without sums. See ``summing(in:decimals:_:)``.
  public var sumDecimals: Int? { code.sum?.decimals }

  /// Returns the same index with sums: it keeps the sum of a number of each row, of any range of
  /// its order, also at earlier commits.
  ///
  ///     let byCustomer = GroupIndex("ByCustomer", on: orders, version: 1) { order in
  ///       Place(in: order.customer, by: .ascending(order.day))
  ///     }.summing(in: orders, decimals: 2) { $0.amount }
  ///
  /// Sums are exact, as those of ``FieldIndex/summing(_:decimals:)``. A commit that leaves a row of
  /// the index with a number of more decimals, or of more than 64 bits in units of the last one,
  /// throws `notSummable`; so does one for whose row the closure throws. Nil adds nothing. A row in
  /// several groups adds its number to each.
  ///
  /// A process that has not registered the closure can put no rows into the bucket; it throws
  /// `indexDefinedInCode`. Raise the index's version when the closure changes.
  ///
  /// - Parameters:
  ///   - bucket: The bucket of the index.
  ///   - decimals: The number of decimals that the numbers may have, 0 to 18.
  ///   - value: A key path of the row or a closure.
  /// - Precondition: The index gives rows their places: it is neither a filter, which has the sums
  ///   of its parent, nor a reference, an expiry, or an index that compares rows.
  public func summing<Row: SendableMetatype, Value: SummableValue>(
    in bucket: Bucket<Row>, decimals: Int = 0,
    _ value: @escaping @Sendable (Row) throws -> Value
  ) -> GroupIndex {
    guard case .places = code.closure else {
      preconditionFailure("only an index that gives rows their places can have sums in code")
    }
    precondition(
      code.buckets.areSameNames(as: [bucket.name]),
      "the index \(name) is over another bucket than \(bucket.name)")
    let coder = bucket.coder
    var index = self
    index.code.sum = CodeSum(decimals: decimals) { input in
      try value(try input.row(by: coder).row).exactUnits(decimals: decimals)
    }
    return index
  }
}

extension Index {
  /// Returns the same declaration with sums of a number of each row; see
  /// ``GroupIndex/summing(in:decimals:_:)``.
  ///
  ///     let byCustomer = Index(
  ///       "ByCustomer", on: orders, version: 1, group: \.customer, by: .ascending(\.day)
  ///     ).summing(decimals: 2, \.amount)
  ///     …
  ///     let sum = try snapshot[byCustomer].sum(in: "ann")
  ///
  /// - Precondition: The index is declared here and not named only.
  public func summing<Value: SummableValue>(
    decimals: Int = 0, _ value: @escaping @Sendable (Row) throws -> Value
  ) -> Index {
    guard let groupIndex else {
      preconditionFailure("the definition of the index \(name) decides whether it has sums")
    }
    return Index(
      declaring: groupIndex.summing(in: bucket, decimals: decimals, value), on: bucket,
      order: order, rest: rest)
  }
}
