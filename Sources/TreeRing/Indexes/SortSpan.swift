// Conditions as spans of sort keys. A component marks its own end, so the keys of one value are
// those that begin with its component, and the keys of a range of values are adjacent. In a
// descending order the greatest value has the first key, so bounds change places.

internal import TreeRingLog
internal import TreeRingPlatform

/// The sort keys from `lower` on and below `upper`; nil is the end of the group.
struct SortSpan: Equatable {
  var lower: [UInt8]
  var upper: [UInt8]?

  /// The span of the keys that begin with these bytes.
  init(prefix: [UInt8]) { self.init(lower: prefix, upper: Self.successor(of: prefix)) }

  init(lower: [UInt8], upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  /// The least bytes greater than all that begin with these; nil if there are none.
  static func successor(of prefix: [UInt8]) -> [UInt8]? {
    var bytes = prefix
    while let last = bytes.popLast() {
      if last < .max {
        bytes.append(last + 1)
        return bytes
      }
    }
    return nil
  }
}

/// The components of a sort value of an index, as its definition encodes them: of the most
/// significant one, or of a further one among the rows that are equal in those before.
struct SortComponents<Value: SortValue> {
  /// The source of the bytes.
  enum Encoding {
    /// A closure that returns places.
    case closure(ValueOrder<Value>)
    /// A field of JSON objects.
    case field(isDescending: Bool)
  }

  let encoding: Encoding
  /// The less significant sort values.
  var rest: ArraySlice<NextOrder> = []
  /// The components of the values before.
  var prefix: [UInt8] = []

  private var isDescending: Bool {
    switch encoding {
    case .closure(let order): order.isDescending
    case .field(let isDescending): isDescending
    }
  }

  /// The component of a value, or of an absent one; nil if no row can have it.
  private func component(of value: Value?) throws(TreeRingError) -> [UInt8]? {
    switch encoding {
    case .closure(let order): return order.item(of: value)?.component
    case .field(let isDescending):
      let token = try value.map { (value) throws(TreeRingError) in try Self.json(of: value) } ?? []
      var encoder = SortKeyEncoder()
      var scratch: [UInt8] = []
      token.withUnsafeBytes {
        encoder.appendField($0, descending: isDescending, scratch: &scratch)
      }
      return encoder.bytes
    }
  }

  /// The keys of a value's rows; nil if no row can have it. A key is cut, and so is the component.
  func keys(of value: Value?) throws(TreeRingError) -> SortSpan? {
    try component(of: value).map { span(of: $0) }
  }

  /// The keys that begin with the components before and with these bytes.
  private func span(of component: [UInt8]) -> SortSpan {
    SortSpan(prefix: Array((prefix + component).prefix(SortKeyEncoder.byteLimit)))
  }

  /// The keys of all values.
  private var all: SortSpan { span(of: []) }

  /// A value as the coders of rows write it in a field.
  private static func json(of value: Value) throws(TreeRingError) -> [UInt8] {
    guard let value = value as? any Encodable else {
      throw TreeRingError(
        .invalidInput,
        "An index by fields orders by JSON, and \(Value.self) is not Encodable. Make it so.")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let token = try? encoder.encode(value) else {
      throw TreeRingError(
        .invalidInput, "The value \(value) has no JSON, so no field of a row can have it.")
    }
    return Array(token)
  }

  /// The spans of a condition, in key order and disjoint.
  func spans(of condition: ValueCondition<Value>) throws(TreeRingError) -> [SortSpan] {
    switch condition.content {
    case .anyOf(let values):
      var all: [SortSpan] = []
      for value in values {
        if let keys = try keys(of: value) { all.append(keys) }
      }
      all.sort { $0.lower.lexicographicallyPrecedes($1.lower) }
      var spans: [SortSpan] = []
      for keys in all where keys != spans.last { spans.append(keys) }
      return spans
    case .next(let values, let next):
      var known: [[UInt8]] = []
      for value in values {
        guard let component = try component(of: value) else { continue }
        if !known.contains(component) { known.append(component) }
      }
      known.sort { $0.lexicographicallyPrecedes($1) }
      var spans: [SortSpan] = []
      for component in known {
        for span in try next.spans(rest, prefix + component) where span != spans.last {
          spans.append(span)
        }
      }
      return spans
    case .prefix(let text):
      guard let component = try component(of: text) else { return [] }
      // The last two bytes are the end mark.
      return [span(of: component.dropLast(2))]
    case .range(let lower, let upper):
      let (low, high) = (try span(of: lower), try span(of: upper))
      guard let present = low?.present ?? high?.present else { return [all] }
      let (first, last) = isDescending ? (high, low) : (low, high)
      let start = first.map { $0.isIncluded ? $0.keys.lower : $0.keys.upper }
      let end = last.map { $0.isIncluded ? $0.keys.upper : $0.keys.lower }
      // No key follows a value without a successor.
      if case .some(.none) = start { return [] }
      return [SortSpan(lower: (start ?? nil) ?? present.lower, upper: end ?? present.upper)]
    }
  }

  /// The keys of a bound's value, and those of all values that it can be compared with.
  private func span(
    of bound: ValueCondition<Value>.Bound?
  ) throws(TreeRingError) -> (keys: SortSpan, isIncluded: Bool, present: SortSpan)? {
    guard let bound, let keys = try keys(of: bound.value) else { return nil }
    return (keys, bound.isIncluded, present(like: keys.lower.dropFirst(prefix.count)))
  }

  /// The keys of the values that a component's value can be compared with: of all present ones, or
  /// of the fields with the same kind of scalar.
  private func present(like component: ArraySlice<UInt8>) -> SortSpan {
    guard let first = component.first else { return all }
    switch encoding {
    case .closure(let order):
      if case .never = order.absence { return all }
      return span(of: [first])
    case .field(let isDescending):
      let tags = SortKeyEncoder.tags(comparableWith: isDescending ? ~first : first)
      return isDescending
        ? SortSpan(
          lower: prefix + [~tags.upperBound],
          upper: SortSpan.successor(of: prefix + [~tags.lowerBound]))
        : SortSpan(
          lower: prefix + [tags.lowerBound],
          upper: SortSpan.successor(of: prefix + [tags.upperBound]))
    }
  }
}

/// The order by a sort value after the first one.
enum NextOrder: Sendable {
  /// A field of JSON objects.
  case field(isDescending: Bool)
  /// A closure that returns places: a `ValueOrder` of the value's type.
  case closure(any Sendable)
  /// The operations of the row.
  case maintained
}

/// A condition on the sort value after another one, whose type only the condition knows.
struct NextCondition {
  /// The spans among the keys that begin with components of the values before.
  let spans: (_ rest: ArraySlice<NextOrder>, _ prefix: [UInt8]) throws(TreeRingError) -> [SortSpan]

  init<Value: SortValue>(_ condition: ValueCondition<Value>) {
    spans = { (rest, prefix) throws(TreeRingError) in
      var components: SortComponents<Value>
      switch rest.first {
      case .field(let isDescending):
        components = SortComponents(encoding: .field(isDescending: isDescending))
      case .closure(let order as ValueOrder<Value>):
        components = SortComponents(encoding: .closure(order))
      case nil, .closure, .maintained:
        throw TreeRingError(
          .invalidInput,
          "The condition after “and” is on a value of \(Value.self), but the index's handle has no "
            + "such next sort value. Declare the index with it, or leave the condition out.")
      }
      components.rest = rest.dropFirst()
      components.prefix = prefix
      return try components.spans(of: condition)
    }
  }
}
