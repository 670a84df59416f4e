// Conditions on the most significant sort value of an index, and on the next values among rows that
// are equal in it. Each selects runs of adjacent rows of a group.

internal import TreeRingLog

/// A condition on the sort value by which rows of a typed index are ordered first.
///
/// ```swift
/// let popular = try snapshot[salesRank].rows(in: .fantasy, where: .between(10...))
/// ```
///
/// Values compare as ``SortItem`` orders them, whatever the direction of the index: text by Unicode
/// scalars, and a `Double` that is not a number after all others. Values beyond 512 bytes are
/// compared by these.
public struct ValueCondition<Value: SortValue> {
  enum Content {
    case anyOf([Value?])
    case range(lower: Bound?, upper: Bound?)
    case prefix(Value)
    case next([Value?], NextCondition)
  }

  /// An end of a range.
  struct Bound {
    let value: Value
    let isIncluded: Bool
  }

  let content: Content

  /// The value is equal to this one.
  public static func equal(_ value: Value) -> ValueCondition {
    ValueCondition(content: .anyOf([value]))
  }

  /// The value is one of these.
  public static func oneOf(_ values: some Sequence<Value>) -> ValueCondition {
    ValueCondition(content: .anyOf(values.map { $0 }))
  }

  /// The value is equal to this one, and the next value that orders the rows fulfils a condition.
  ///
  ///     let titled = try rank.rows(in: .fantasy, where: .equal(20, and: .prefix("U")))  // Ubik
  ///
  /// The second condition may have a next one too. Reading throws `invalidInput` if the index has
  /// no next sort value, or one of another type. Of an index defined by a closure the handle must
  /// be the declaration, since one with `named:` does not know the next types.
  public static func equal<Next: SortValue>(
    _ value: Value, and next: ValueCondition<Next>
  ) -> ValueCondition {
    ValueCondition(content: .next([value], NextCondition(next)))
  }

  /// The value is one of these, and the next value that orders the rows fulfils a condition.
  /// Otherwise as `equal(_:and:)`.
  public static func oneOf<Next: SortValue>(
    _ values: some Sequence<Value>, and next: ValueCondition<Next>
  ) -> ValueCondition {
    ValueCondition(content: .next(values.map { $0 }, NextCondition(next)))
  }

  /// The row has no value. No row is selected by it in an index whose rows all have one.
  public static var absent: ValueCondition { ValueCondition(content: .anyOf([nil])) }

  /// The value is less than this one; of dates, earlier.
  public static func before(_ value: Value) -> ValueCondition {
    range(nil, Bound(value: value, isIncluded: false))
  }

  /// The value is greater than this one; of dates, later.
  public static func after(_ value: Value) -> ValueCondition {
    range(Bound(value: value, isIncluded: false), nil)
  }

  /// The value lies in a range, such as `10..<20`, `10...20`, `10...`, `...20` or `..<20`.
  public static func between<Values: ValueRange>(
    _ range: Values
  ) -> ValueCondition where Values.Bound == Value {
    Self.range(
      range.leastValue.map { Bound(value: $0, isIncluded: true) },
      range.upperBoundary.map { Bound(value: $0.value, isIncluded: $0.isIncluded) })
  }

  /// The text begins with this one, scalar by scalar.
  public static func prefix(_ text: Value) -> ValueCondition where Value: StringProtocol {
    ValueCondition(content: .prefix(text))
  }

  private static func range(_ lower: Bound?, _ upper: Bound?) -> ValueCondition {
    ValueCondition(content: .range(lower: lower, upper: upper))
  }
}

/// A range of values: half-open, closed or one-sided.
public protocol ValueRange {
  /// The type of the bounds.
  associatedtype Bound: Comparable
  /// The lower bound, which is in the range; nil if there is none.
  var leastValue: Bound? { get }
  /// The upper bound; nil if there is none.
  var upperBoundary: (value: Bound, isIncluded: Bool)? { get }
}

extension Range: ValueRange {
  public var leastValue: Bound? { lowerBound }
  public var upperBoundary: (value: Bound, isIncluded: Bool)? { (upperBound, false) }
}

extension ClosedRange: ValueRange {
  public var leastValue: Bound? { lowerBound }
  public var upperBoundary: (value: Bound, isIncluded: Bool)? { (upperBound, true) }
}

extension PartialRangeFrom: ValueRange {
  public var leastValue: Bound? { lowerBound }
  public var upperBoundary: (value: Bound, isIncluded: Bool)? { nil }
}

extension PartialRangeThrough: ValueRange {
  public var leastValue: Bound? { nil }
  public var upperBoundary: (value: Bound, isIncluded: Bool)? { (upperBound, true) }
}

extension PartialRangeUpTo: ValueRange {
  public var leastValue: Bound? { nil }
  public var upperBoundary: (value: Bound, isIncluded: Bool)? { (upperBound, false) }
}
