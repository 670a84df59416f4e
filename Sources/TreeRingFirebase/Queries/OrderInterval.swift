// The part of an order that a query and a range of a collection have in common, and its form as
// parameters of a request.

internal import TreeRing
internal import TreeRingCollections

/// A part of an order; nil is unbounded. `start` and `end` are included.
package struct OrderInterval: Hashable {
  private(set) var start: OrderEdge?
  private(set) var end: OrderEdge?
  /// The bytes of the first place, and those of the place after the last.
  package private(set) var lower: [UInt8]?
  package private(set) var upper: [UInt8]?

  /// All of an order.
  package init() {}

  /// The part that a query covers.
  init(_ query: FirebaseQuery) {
    narrow(from: query.start)
    narrow(to: query.end)
  }

  /// The part of a query within a range of positions.
  init(_ query: FirebaseQuery, in range: PositionRange) {
    self.init(query)
    narrow(from: range.first?.edge)
    narrow(to: range.last?.edge)
  }

  /// Moves the start forward to an edge, if that is later.
  package mutating func narrow(from edge: OrderEdge?) {
    guard let edge, raise(to: edge.bytes) else { return }
    start = edge
  }

  /// Moves the start to behind an edge, if that is later.
  package mutating func narrow(after edge: OrderEdge) { raise(to: edge.successor) }

  /// Moves the end to before an edge, if that is earlier.
  package mutating func narrow(before edge: OrderEdge) { lower(to: edge.bytes) }

  /// Moves the end back to an edge, if that is earlier.
  package mutating func narrow(to edge: OrderEdge?) {
    guard let edge, lower(to: edge.successor) else { return }
    end = edge
  }

  @discardableResult
  private mutating func raise(to bytes: [UInt8]) -> Bool {
    if let lower, !lower.lexicographicallyPrecedes(bytes) { return false }
    lower = bytes
    return true
  }

  @discardableResult
  private mutating func lower(to bytes: [UInt8]) -> Bool {
    if let upper, !bytes.lexicographicallyPrecedes(upper) { return false }
    upper = bytes
    return true
  }

  /// Whether the bytes of a child lie in this part.
  package func contains(_ bytes: [UInt8]) -> Bool {
    if let lower, bytes.lexicographicallyPrecedes(lower) { return false }
    if let upper, !bytes.lexicographicallyPrecedes(upper) { return false }
    return true
  }
}

extension OrderEdge {
  /// The bytes of the place after the edge. After an edge without a key, that is after all keys of
  /// its value: none begins with FF. After a key, that is before all longer ones: no text has
  /// the unit 0000.
  fileprivate var successor: [UInt8] { bytes + [key == nil ? 0xFF : 0x00] }
}

extension ChildPosition {
  /// The position of a child in an order.
  init(_ child: FirebaseChild, in order: FirebaseOrder) {
    let edge = OrderEdge(value: order.value(of: child), key: child.key)
    self.init(order: .bytes(edge.bytes), key: child.key.childKey)
  }

  /// The edge that the position's bytes encode; nil if they are another source's.
  var edge: OrderEdge? { OrderEdge(bytes: orderBytes) }

  var orderBytes: [UInt8] {
    if case .bytes(let bytes) = order { bytes } else { [] }
  }
}

extension FirebaseKey {
  /// The identity of the child in a collection. Texts that only look the same stay distinct.
  var childKey: String { StoreSource.childKey(of: Key(text)) }
}

/// A parameter of a request: a name and a value, not encoded.
struct RequestParameter: Hashable {
  let name: String
  let value: String
}

extension OrderInterval {
  /// A text that follows all others: bounds cannot be objects, so objects begin beyond this text.
  private static let lastText = String(repeating: "\u{FFFF}", count: 8)

  /// The parameters that select this part. A part that begins or ends at an object is selected with
  /// some children more.
  ///
  /// - Throws: `notSupported` if a limit needs a bound that is an object.
  func parameters(
    _ order: FirebaseOrder, limit: FirebaseQuery.Limit?
  ) throws(FirebaseError) -> [RequestParameter] {
    var parameters: [RequestParameter] = []
    if order == .priority { parameters.append(RequestParameter(name: "format", value: "export")) }
    if start == nil, end == nil, limit == nil { return parameters }
    parameters.append(RequestParameter(name: "orderBy", value: order.json))
    if limit != nil, start?.value == .object || end?.value == .object {
      throw FirebaseError(
        .notSupported,
        "A page cannot begin at a child whose value in the order is an object: Firebase has no "
          + "bound for it. Order by a path that holds scalars.")
    }
    if let start {
      let bound =
        start.value == .object ? OrderEdge(value: .scalar(.text(Self.lastText)), key: nil) : start
      parameters.append(RequestParameter(name: "startAt", value: bound.json(in: order)))
    }
    if let end, end.value != .object {
      parameters.append(RequestParameter(name: "endAt", value: end.json(in: order)))
    }
    switch limit {
    case .first(let count):
      parameters.append(RequestParameter(name: "limitToFirst", value: String(count)))
    case .last(let count):
      parameters.append(RequestParameter(name: "limitToLast", value: String(count)))
    case nil: break
    }
    return parameters
  }
}

extension FirebaseOrder {
  /// The value of the parameter `orderBy`.
  fileprivate var json: String {
    let text =
      switch self {
      case .key: "$key"
      case .value: "$value"
      case .priority: "$priority"
      case .child(let path): path
      }
    return FirebaseScalar.text(text).json
  }
}

extension OrderEdge {
  /// The value of a bound's parameter: the value, and after a comma the key.
  fileprivate func json(in order: FirebaseOrder) -> String {
    let key = key.map { FirebaseScalar.text($0.text).json }
    guard order != .key, case .scalar(let scalar) = value else { return key ?? "null" }
    return ([scalar.json] + (key.map { [$0] } ?? [])).joined(separator: ",")
  }
}
