// The part of an order that a query and a range of a collection have in common, and its form as
// parameters of a request.

internal import TreeRing
internal import TreeRingCollections

/// A part of an order, both ends included; nil is unbounded.
struct OrderInterval: Hashable {
  private(set) var start: OrderEdge?
  private(set) var end: OrderEdge?
  private var first: [UInt8]?
  private var last: [UInt8]?

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
  mutating func narrow(from edge: OrderEdge?) {
    guard let edge else { return }
    let bytes = edge.bytes
    if let first, !first.lexicographicallyPrecedes(bytes) { return }
    (start, first) = (edge, bytes)
  }

  /// Moves the end back to an edge, if that is earlier.
  mutating func narrow(to edge: OrderEdge?) {
    guard let edge else { return }
    // An edge without a key includes all keys of its value, none of which begins with this byte.
    let bytes = edge.key == nil ? edge.bytes + [0xFF] : edge.bytes
    if let last, !bytes.lexicographicallyPrecedes(last) { return }
    (end, last) = (edge, bytes)
  }

  /// Whether the bytes of a child lie in this part.
  func contains(_ bytes: [UInt8]) -> Bool {
    if let first, bytes.lexicographicallyPrecedes(first) { return false }
    if let last, last.lexicographicallyPrecedes(bytes) { return false }
    return true
  }
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
