// A query of children: an order, a part of it, and a limit. The parameters and their mistakes have
// Firebase's words.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLive

/// A query of the children of a location.
struct ChildQuery: Sendable {
  let order: FirebaseOrder
  private(set) var interval = OrderInterval()
  private(set) var limit: FirebaseQuery.Limit?
  /// In the order by key: the first key and the last one, each with whether it is excluded.
  private(set) var firstKey: (key: FirebaseKey, isExcluded: Bool)?
  private(set) var lastKey: (key: FirebaseKey, isExcluded: Bool)?
  /// The parameters as the rules' variable `query` shows them.
  private(set) var variable: JSONValue = .object([])

  /// Whether the query leaves children out.
  var isFiltering: Bool { interval.lower != nil || interval.upper != nil || limit != nil }

  /// Reads the parameters; nil if there is no order and nothing that needs one.
  init?(_ values: [String: String]) throws {
    let bounds = ["startAt", "startAfter", "endAt", "endBefore", "equalTo"]
    let limits = ["limitToFirst", "limitToLast"]
    guard let text = values["orderBy"] else {
      if (bounds + limits).contains(where: { values[$0] != nil }) {
        throw RealtimeError(
          400, "orderBy must be defined when other query parameters are defined")
      }
      return nil
    }
    order = try Self.order(text)
    if values["equalTo"] != nil, bounds.dropLast().contains(where: { values[$0] != nil }) {
      throw RealtimeError(
        400,
        "equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore")
    }
    for (first, second) in [("startAt", "startAfter"), ("endAt", "endBefore")]
    where values[first] != nil && values[second] != nil {
      throw RealtimeError(400, "Only one of \(first) and \(second) may be specified")
    }
    if values["limitToFirst"] != nil, values["limitToLast"] != nil {
      throw RealtimeError(400, "Only one of limitToFirst and limitToLast may be specified")
    }
    for name in bounds { try values[name].map { try bound(name, $0) } }
    if let text = values["limitToFirst"] { limit = .first(try Self.count(text, "limitToFirst")) }
    if let text = values["limitToLast"] { limit = .last(try Self.count(text, "limitToLast")) }
    variable = try Self.variable(order, values)
  }

  private static func order(_ text: String) throws -> FirebaseOrder {
    guard let path = (try? JSONValue(Array(text.utf8)))?.string else {
      throw RealtimeError(400, "orderBy must be a valid JSON encoded path")
    }
    switch path {
    case "$key": return .key
    case "$value", ".value": return .value
    case "$priority": return .priority
    default:
      guard let child = try? FirebasePath(path), child.part == .node, !child.isRoot else {
        throw RealtimeError(400, "orderBy must be a valid JSON encoded path")
      }
      return .child(child.keys.map(\.text).joined(separator: "/"))
    }
  }

  private static func count(_ text: String, _ name: String) throws -> Int {
    guard let count = Int(text) else { throw RealtimeError(400, "\(name) must be an integer") }
    guard count > 0 else { throw RealtimeError(400, "\(name) must be positive") }
    return count
  }

  /// A bound's value, and the key after a comma.
  private static func parts(_ text: String) throws -> (FirebaseScalar, String?) {
    guard case .array(let elements)? = try? JSONValue(Array("[\(text)]".utf8)),
      let first = elements.first, elements.count <= 2, let value = scalar(first)
    else { throw RealtimeError(400, "Constraint index field must be a JSON primitive") }
    guard elements.count == 2 else { return (value, nil) }
    guard let key = elements[1].string else {
      throw RealtimeError(400, "Constraint key field must be a string")
    }
    return (value, key)
  }

  static func scalar(_ value: JSONValue) -> FirebaseScalar? {
    switch value {
    case .null: return .null
    case .bool(let value): return .bool(value)
    case .number(let text):
      guard let number = Double(text), number.isFinite else { return nil }
      return .number(number)
    case .text(let text): return .text(text)
    case .array, .object: return nil
    }
  }

  private mutating func bound(_ name: String, _ text: String) throws {
    let (value, keyText) = try Self.parts(text)
    func key(_ text: String) throws -> FirebaseKey {
      guard let key = try? FirebaseKey(text) else {
        throw RealtimeError(400, "\(name) has a key that no child can have")
      }
      return key
    }
    let edge: OrderEdge
    if order == .key {
      guard case .text(let text) = value, keyText == nil else {
        throw RealtimeError(400, "Provided key index type is invalid, must be string")
      }
      // No key precedes the empty text.
      if text.isEmpty, name.hasPrefix("start") { return }
      let key = try key(text)
      edge = OrderEdge(value: .scalar(.null), key: key)
      if name.hasPrefix("start") || name == "equalTo" { firstKey = (key, name == "startAfter") }
      if name.hasPrefix("end") || name == "equalTo" { lastKey = (key, name == "endBefore") }
    } else {
      edge = OrderEdge(value: .scalar(value), key: try keyText.map(key))
    }
    switch name {
    case "startAt": interval.narrow(from: edge)
    case "startAfter": interval.narrow(after: edge)
    case "endAt": interval.narrow(to: edge)
    case "endBefore": interval.narrow(before: edge)
    default:
      interval.narrow(from: edge)
      interval.narrow(to: edge)
    }
  }

  private static func variable(
    _ order: FirebaseOrder, _ values: [String: String]
  ) throws -> JSONValue {
    var members = [
      JSONValue.Member(name: "orderByKey", value: .bool(order == .key)),
      JSONValue.Member(name: "orderByValue", value: .bool(order == .value)),
      JSONValue.Member(name: "orderByPriority", value: .bool(order == .priority)),
    ]
    if case .child(let path) = order {
      members.append(JSONValue.Member(name: "orderByChild", value: .text(path)))
    }
    for name in ["startAt", "startAfter", "endAt", "endBefore", "equalTo"] {
      guard let text = values[name] else { continue }
      let elements = try JSONValue(Array("[\(text)]".utf8))
      if case .array(let elements) = elements, let first = elements.first {
        members.append(JSONValue.Member(name: name, value: first))
      }
    }
    for name in ["limitToFirst", "limitToLast"] {
      if let text = values[name] {
        members.append(JSONValue.Member(name: name, value: .number(text)))
      }
    }
    return .object(members)
  }
}

extension ChildQuery {
  /// The name of the index that the rules must have; nil if the order needs none.
  var indexName: String? {
    switch order {
    case .key, .priority: nil
    case .value: ".value"
    case .child(let path): path
    }
  }

  /// The node with the children that the query selects. In the order by key, and where the index
  /// has all of them, O(log n + result · log n), otherwise O(n).
  ///
  /// - Parameter index: The index of the rules, at the state that `tree` reads; nil for none.
  func result(
    at path: [FirebaseKey], in tree: TreeReader, index: IndexReader?, _ budget: ReadBudget?
  ) throws -> FirebaseNode {
    if !isFiltering { return try tree.node(at: path, budget) }
    let children: [FirebaseChild]
    if order == .key {
      children = try byKey(at: path, in: tree, budget)
    } else if let index, let found = try byIndex(at: path, in: tree, index, budget) {
      children = found
    } else {
      children = try byScan(at: path, in: tree, budget)
    }
    return FirebaseNode(
      .children(Dictionary(children.map { ($0.key, $0.node) }) { first, _ in first }))
  }

  private func byKey(
    at path: [FirebaseKey], in tree: TreeReader, _ budget: ReadBudget?
  ) throws -> [FirebaseChild] {
    func bytes(_ key: FirebaseKey, after: Bool) -> [UInt8] {
      var bytes = TreeKey.children(path)
      TreeKey.append(key, to: &bytes)
      return after ? bytes + [UInt8(ascii: "!")] : bytes
    }
    let lower = firstKey.map { bytes($0.key, after: $0.isExcluded) }
    let upper = lastKey.map { bytes($0.key, after: !$0.isExcluded) }
    if let lower, let upper, !lower.lexicographicallyPrecedes(upper) { return [] }
    var children: [FirebaseChild] = []
    var (isReversed, count) = (false, Int.max)
    switch limit {
    case .first(let limit)?: count = limit
    case .last(let limit)?: (isReversed, count) = (true, limit)
    case nil: break
    }
    try tree.forEachChild(
      at: path, from: lower, to: upper, reversed: isReversed, budget
    ) { child in
      children.append(child)
      return children.count < count
    }
    return children
  }

  /// Reads all children, and keeps at most twice the limit.
  private func byScan(
    at path: [FirebaseKey], in tree: TreeReader, _ budget: ReadBudget?
  ) throws -> [FirebaseChild] {
    var found: [(place: [UInt8], child: FirebaseChild)] = []
    func trim(to count: Int) {
      guard found.count > count else { return }
      found.sort { $0.place.lexicographicallyPrecedes($1.place) }
      if case .last? = limit {
        found.removeFirst(found.count - count)
      } else {
        found.removeLast(found.count - count)
      }
    }
    try tree.forEachChild(at: path, budget) { child in
      let place = OrderEdge(value: order.value(of: child), key: child.key).bytes
      if interval.contains(place) { found.append((place, child)) }
      if let limit, found.count / 2 > limit.count { trim(to: limit.count) }
      return true
    }
    if let limit { trim(to: limit.count) }
    return found.map(\.child)
  }
}
