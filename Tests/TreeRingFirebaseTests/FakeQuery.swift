// A query as the fake server reads it: strictly, and by the protocol's text alone.

import Foundation
import TestSupport

/// A query of the fake server.
struct FakeQuery {
  private(set) var order = PlainOrder.priority
  private var isOrdered = false
  private var start: (value: PlainScalar, key: String?)?
  private var end: (value: PlainScalar, key: String?)?
  private var first: Int?
  private var last: Int?
  private(set) var isExport = false

  /// Whether it selects children, so that a stream must follow a window.
  var selects: Bool { isOrdered }

  /// Reads the parameters of a request; returns the text of an error for a bad one.
  static func read(_ request: FakeRequest) -> Result<FakeQuery, FakeRefusal> {
    var query = FakeQuery()
    for (name, value) in request.parameters {
      switch name {
      case "orderBy":
        guard case .text(let text) = scalars(value)?.first, value.hasPrefix("\"") else {
          return .failure(FakeRefusal("orderBy must be a valid JSON encoded path"))
        }
        query.isOrdered = true
        switch text {
        case "$key": query.order = .key
        case "$value": query.order = .value
        case "$priority": query.order = .priority
        default: query.order = .child(text.split(separator: "/").map(String.init))
        }
      case "startAt", "endAt":
        guard let parts = scalars(value), (1...2).contains(parts.count) else {
          return .failure(FakeRefusal("Constraint index field must be a JSON primitive"))
        }
        var key: String?
        if parts.count == 2 {
          guard case .text(let text) = parts[1] else {
            return .failure(FakeRefusal("Provided key index type is invalid, must be string"))
          }
          key = text
        }
        if name == "startAt" { query.start = (parts[0], key) } else { query.end = (parts[0], key) }
      case "limitToFirst", "limitToLast":
        guard let count = Int(value), count > 0 else {
          return .failure(FakeRefusal("\(name) must be positive"))
        }
        if name == "limitToFirst" { query.first = count } else { query.last = count }
      case "format" where value == "export": query.isExport = true
      case "auth", "ns": break
      default: return .failure(FakeRefusal("does not support one of the query parameters: \(name)"))
      }
    }
    if !query.isOrdered,
      query.start != nil || query.end != nil || query.first != nil
        || query.last != nil
    {
      return .failure(
        FakeRefusal("orderBy must be defined when other query parameters are defined"))
    }
    if query.first != nil, query.last != nil {
      return .failure(FakeRefusal("Only one of limitToFirst and limitToLast may be specified"))
    }
    if query.order == .key {
      for case (let value, let key)? in [query.start, query.end] {
        guard case .text = value, key == nil else {
          return .failure(FakeRefusal("Provided key index type is invalid, must be string"))
        }
      }
    }
    return .success(query)
  }

  /// The query with an order, which a request without bounds need not name.
  func inOrder(_ order: PlainOrder) -> FakeQuery {
    var query = self
    query.order = order
    return query
  }

  /// JSON scalars separated by commas.
  private static func scalars(_ text: String) -> [PlainScalar]? {
    let array = try? JSONSerialization.jsonObject(with: Data("[\(text)]".utf8))
    return (array as? [Any])?.compactMap { element in
      switch element {
      case let text as String: .text(text)
      case let number as NSNumber:
        text.contains("true") || text.contains("false")
          ? .bool(number.boolValue) : .number(number.doubleValue)
      case is NSNull: .null
      default: nil
      }
    }
  }

  /// The keys of the children that the query selects, in its order.
  func keys(_ tree: PlainTree, _ path: [String]) -> [String] {
    var keys = order.keys(tree, path)
    guard isOrdered else { return keys }
    if let start { keys = keys.filter { !precedes($0, start, tree, path, isEnd: false) } }
    if let end { keys = keys.filter { !precedes($0, end, tree, path, isEnd: true) } }
    if let first { keys = Array(keys.prefix(first)) }
    if let last { keys = Array(keys.suffix(last)) }
    return keys
  }

  /// Whether a child lies outside a bound.
  private func precedes(
    _ child: String, _ bound: (value: PlainScalar, key: String?), _ tree: PlainTree,
    _ path: [String], isEnd: Bool
  ) -> Bool {
    if order == .key {
      guard case .text(let key) = bound.value else { return true }
      return isEnd ? PlainOrder.keyPrecedes(key, child) : PlainOrder.keyPrecedes(child, key)
    }
    let value = order.value(tree, path + [child])
    let limit = (bound.value.rank, bound.value)
    let isBefore = PlainOrder.precedes(value, limit)
    let isAfter = PlainOrder.precedes(limit, value)
    if isBefore || isAfter { return isEnd ? isAfter : isBefore }
    guard let key = bound.key else { return false }
    return isEnd ? PlainOrder.keyPrecedes(key, child) : PlainOrder.keyPrecedes(child, key)
  }

  /// The data that the query selects.
  func data(_ tree: PlainTree, _ path: [String]) -> PlainData {
    guard isOrdered else { return tree.data(at: path) }
    let keys = keys(tree, path)
    if keys.isEmpty { return .null }
    return .object(Dictionary(uniqueKeysWithValues: keys.map { ($0, tree.data(at: path + [$0])) }))
  }
}

/// The server's text for a request that it refuses.
struct FakeRefusal: Error {
  let text: String
  init(_ text: String) { self.text = text }
}
