// The order of an index by values of one type: of the values alone, as a reader needs it, and of
// rows, as a declaration states it.

internal import TreeRingLog

/// The order of the most significant sort values of an index, by their type.
///
/// ```swift
/// Index(named: "SalesRank", on: books, group: String.self, by: .descending(Int.self))
/// ```
public struct ValueOrder<Value: SortValue>: Sendable {
  /// The way in which absent values are ordered.
  enum Absence: Sendable {
    /// Every row has a value.
    case never
    /// An absent value comes before every present one; in a descending order, after them.
    case lowest
    /// Absent values come first or last, whatever the direction.
    case nils(NilOrder)
  }

  /// Whether greater values come first.
  public let isDescending: Bool
  let absence: Absence

  /// Smaller values first.
  public static func ascending(_ type: Value.Type) -> ValueOrder {
    ValueOrder(isDescending: false, absence: .never)
  }

  /// Greater values first.
  public static func descending(_ type: Value.Type) -> ValueOrder {
    ValueOrder(isDescending: true, absence: .never)
  }

  /// Absent values first, then smaller ones before greater ones.
  public static func ascending(_ type: Value?.Type) -> ValueOrder {
    ValueOrder(isDescending: false, absence: .lowest)
  }

  /// Greater values first, absent ones last.
  public static func descending(_ type: Value?.Type) -> ValueOrder {
    ValueOrder(isDescending: true, absence: .lowest)
  }

  /// Smaller values first, with absent ones according to `nils`.
  public static func ascending(_ type: Value.Type, nils: NilOrder) -> ValueOrder {
    ValueOrder(isDescending: false, absence: .nils(nils))
  }

  /// Greater values first, with absent ones according to `nils`.
  public static func descending(_ type: Value.Type, nils: NilOrder) -> ValueOrder {
    ValueOrder(isDescending: true, absence: .nils(nils))
  }

  /// The item of a row with this value; nil for an absent value in an order without such.
  func item(of value: Value?) -> SortItem? {
    switch (absence, isDescending) {
    case (.never, false): value.map { .ascending($0) }
    case (.never, true): value.map { .descending($0) }
    case (.lowest, false): .ascending(value)
    case (.lowest, true): .descending(value)
    case (.nils(let nils), false): .ascending(value, nils: nils)
    case (.nils(let nils), true): .descending(value, nils: nils)
    }
  }
}

/// One value that orders the rows of an index declared with types: its closure or key path, and its
/// direction.
///
/// ```swift
/// by: .descending(\.sales), .ascending(\.title)
/// ```
public struct RowOrder<Row, Value: SortValue>: Sendable {
  /// The order of the values; nil if the engine maintains them.
  let values: ValueOrder<Value>?
  let item: @Sendable (Row) throws -> SortItem

  /// The order of a value after the first.
  var next: NextOrder { values.map { NextOrder.closure($0) } ?? .maintained }

  private init(_ values: ValueOrder<Value>, _ value: @escaping @Sendable (Row) throws -> Value) {
    self.values = values
    item = { row in
      let value = try value(row)
      return values.isDescending ? .descending(value) : .ascending(value)
    }
  }

  private init(
    optional values: ValueOrder<Value>, _ value: @escaping @Sendable (Row) throws -> Value?
  ) {
    self.values = values
    item = { row in
      guard let item = values.item(of: try value(row)) else {
        preconditionFailure("an order of optional values has an item for an absent one")
      }
      return item
    }
  }

  /// Smaller values first.
  public static func ascending(
    _ value: @escaping @Sendable (Row) throws -> Value
  ) -> RowOrder { RowOrder(.ascending(Value.self), value) }

  /// Greater values first.
  public static func descending(
    _ value: @escaping @Sendable (Row) throws -> Value
  ) -> RowOrder { RowOrder(.descending(Value.self), value) }

  /// Absent values first, then smaller ones before greater ones.
  public static func ascending(
    _ value: @escaping @Sendable (Row) throws -> Value?
  ) -> RowOrder { RowOrder(optional: .ascending(Value?.self), value) }

  /// Greater values first, absent ones last.
  public static func descending(
    _ value: @escaping @Sendable (Row) throws -> Value?
  ) -> RowOrder { RowOrder(optional: .descending(Value?.self), value) }

  /// Smaller values first, with absent ones according to `nils`.
  public static func ascending(
    _ value: @escaping @Sendable (Row) throws -> Value?, nils: NilOrder
  ) -> RowOrder { RowOrder(optional: .ascending(Value.self, nils: nils), value) }

  /// Greater values first, with absent ones according to `nils`.
  public static func descending(
    _ value: @escaping @Sendable (Row) throws -> Value?, nils: NilOrder
  ) -> RowOrder { RowOrder(optional: .descending(Value.self, nils: nils), value) }
}

extension RowOrder where Value == Never {
  private init(_ item: SortItem) {
    values = nil
    self.item = { _ in item }
  }

  /// The order of insertion. A row that is replaced keeps its position in it.
  public static var created: RowOrder { RowOrder(.created) }

  /// The order of the last writes, the latest write last.
  public static var modified: RowOrder { RowOrder(.modified) }

  /// The same order in the opposite direction.
  public var reversed: RowOrder { RowOrder(reversing: item) }

  private init(reversing item: @escaping @Sendable (Row) throws -> SortItem) {
    values = nil
    self.item = { try item($0).reversed }
  }
}

/// The sort value of an index without one. There are no such values.
extension Never: SortValue {
  public func appendSortKey(to encoder: inout SortKeyEncoder) {}
}
