// A query: an order, bounds, and a limit, with Firebase's names and meaning. Children with a value
// of a greater type than the lower bound's are included, as Firebase does it.

/// The part of a location's children to read, and their order.
///
///     let tallest = FirebaseQuery(.child("height")).starting(at: 10).limited(toLast: 3)
public struct FirebaseQuery: Hashable, Sendable {
  /// A limit of the number of children, taken after the bounds.
  public enum Limit: Hashable, Sendable {
    /// The first children of the order.
    case first(Int)
    /// The last children of the order.
    case last(Int)

    package var count: Int {
      switch self {
      case .first(let count), .last(let count): count
      }
    }
  }

  /// The order.
  public let order: FirebaseOrder
  var start: OrderEdge?
  var end: OrderEdge?
  /// The limit; nil for none.
  public private(set) var limit: Limit?
  /// The reason for which a bound is none. A source refuses such a query.
  private(set) var flaw: String?

  /// All children in an order; by key by default.
  public init(_ order: FirebaseOrder = .key) { self.order = order }

  /// The children from a value on, and from a key on among those of equal value: `startAt`.
  ///
  /// In the order by key, the value is the key, as a text; `key` must be nil. ``FirebaseSource``
  /// throws if the value is no bound of the order.
  public func starting(at value: FirebaseScalar, key: FirebaseKey? = nil) -> FirebaseQuery {
    var query = self
    query.start = query.edge(value, key)
    return query
  }

  /// The children up to a value, and up to a key among those of equal value: `endAt`.
  ///
  /// In the order by key, the value is the key, as a text; `key` must be nil. ``FirebaseSource``
  /// throws if the value is no bound of the order.
  public func ending(at value: FirebaseScalar, key: FirebaseKey? = nil) -> FirebaseQuery {
    var query = self
    query.end = query.edge(value, key)
    return query
  }

  /// The children of one value: `equalTo`. The value null finds those without a value.
  public func equal(to value: FirebaseScalar) -> FirebaseQuery {
    starting(at: value).ending(at: value)
  }

  /// The first children of the order: `limitToFirst`. A window: when one leaves, another follows.
  public func limited(toFirst count: Int) -> FirebaseQuery {
    precondition(count > 0, "a limit is at least one")
    var query = self
    query.limit = .first(count)
    return query
  }

  /// The last children of the order: `limitToLast`. A window: when one leaves, another follows.
  public func limited(toLast count: Int) -> FirebaseQuery {
    precondition(count > 0, "a limit is at least one")
    var query = self
    query.limit = .last(count)
    return query
  }

  /// The edge of a bound; nil with a flaw if it is none. The order by key has the key in place of
  /// the value.
  private mutating func edge(_ value: FirebaseScalar, _ key: FirebaseKey?) -> OrderEdge? {
    if case .number(let number) = value, !number.isFinite {
      flaw = "A bound is \(number); it must be a finite number."
      return nil
    }
    guard order == .key else { return OrderEdge(value: .scalar(value), key: key) }
    guard key == nil else {
      flaw = "In the order by key, a bound is the value alone."
      return nil
    }
    guard case .text(let text) = value, let bound = try? FirebaseKey(text) else {
      flaw = "In the order by key, a bound must be a text that may be a key; \(value.json) is none."
      return nil
    }
    return OrderEdge(value: .scalar(.null), key: bound)
  }
}
