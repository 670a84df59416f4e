// A naive tree in place of Firebase's: a list of leaves by path. It knows the protocol's rules of
// data and of order, and nothing of the product.

/// A scalar of the plain tree.
package enum PlainScalar: Hashable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)

  package var json: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let value): Int(exactly: value).map { "\($0)" } ?? "\(value)"
    case .text(let text): "\"\(text)\""
    }
  }

  /// Null, false, true, numbers, texts; objects have the rank 5.
  package var rank: Int {
    switch self {
    case .null: 0
    case .bool(let value): value ? 2 : 1
    case .number: 3
    case .text: 4
    }
  }
}

/// Data to write: a tree of its own.
package indirect enum PlainData: Hashable {
  case leaf(PlainScalar, priority: PlainScalar = .null)
  case object([String: PlainData], priority: PlainScalar = .null)

  package static let null = PlainData.leaf(.null)

  /// The JSON text; priorities are in the export format alone.
  package func json(exporting: Bool) -> String {
    switch self {
    case .leaf(let value, let priority):
      return exporting && priority != .null
        ? "{\".value\": \(value.json), \".priority\": \(priority.json)}" : value.json
    case .object(let members, let priority):
      let indexes = members.keys.compactMap { Int($0) }.filter { $0 >= 0 }
      let isArray =
        !exporting && !members.isEmpty && indexes.count == members.count
        && (indexes.max() ?? 0) < 2 * members.count
        && members.keys.allSatisfy { "\(Int($0) ?? 0)" == $0 }
      if isArray {
        let elements = (0...(indexes.max() ?? 0)).map { index in
          (members["\(index)"] ?? .null).json(exporting: false)
        }
        return "[" + elements.joined(separator: ",") + "]"
      }
      var parts = members.sorted { $0.key < $1.key }.map {
        "\"\($0.key)\": \($0.value.json(exporting: exporting))"
      }
      if exporting, priority != .null { parts.append("\".priority\": \(priority.json)") }
      return "{" + parts.joined(separator: ", ") + "}"
    }
  }

  /// The leaves below a path, and the priorities.
  package func leaves(at path: [String]) -> [(path: [String], value: PlainScalar)] {
    switch self {
    case .leaf(.null, _): []
    case .leaf(let value, _): [(path, value)]
    case .object(let members, _): members.flatMap { $0.value.leaves(at: path + [$0.key]) }
    }
  }

  package func priorities(at path: [String]) -> [(path: [String], value: PlainScalar)] {
    switch self {
    case .leaf(_, let priority): [(path, priority)]
    case .object(let members, let priority):
      [(path, priority)] + members.flatMap { $0.value.priorities(at: path + [$0.key]) }
    }
  }
}

extension Array where Element == String {
  package func isBelow(_ path: [String]) -> Bool { starts(with: path) }
}

/// The leaves of a database by path.
package struct PlainTree {
  package private(set) var leaves: [[String]: PlainScalar] = [:]
  package private(set) var priorities: [[String]: PlainScalar] = [:]

  package init() {}

  /// Replaces everything at and below a path.
  package mutating func put(_ data: PlainData, at path: [String]) {
    let new = data.leaves(at: path)
    leaves = leaves.filter { !$0.key.isBelow(path) }
    priorities = priorities.filter { !$0.key.isBelow(path) }
    // A scalar above gives way to children.
    if !new.isEmpty {
      for count in 0..<path.count { leaves[Array(path.prefix(count))] = nil }
    }
    for leaf in new { leaves[leaf.path] = leaf.value }
    for priority in data.priorities(at: path) where priority.value != .null {
      priorities[priority.path] = priority.value
    }
    priorities = priorities.filter { exists($0.key) }
  }

  package func exists(_ path: [String]) -> Bool { leaves.keys.contains { $0.isBelow(path) } }

  /// The data at a path.
  package func data(at path: [String]) -> PlainData {
    let priority = priorities[path] ?? .null
    if let leaf = leaves[path] { return .leaf(leaf, priority: priority) }
    let keys = keys(at: path)
    if keys.isEmpty { return .null }
    return .object(
      Dictionary(uniqueKeysWithValues: keys.map { ($0, data(at: path + [$0])) }),
      priority: priority)
  }

  /// The keys of the children, in any order.
  package func keys(at path: [String]) -> Set<String> {
    Set(leaves.keys.filter { $0.count > path.count && $0.isBelow(path) }.map { $0[path.count] })
  }
}

/// The order of a query, as the protocol's text describes it.
package enum PlainOrder: Hashable {
  case key
  case value
  case priority
  case child([String])

  /// The rank and the scalar by which a child is ordered; objects have no scalar.
  package func value(_ tree: PlainTree, _ path: [String]) -> (rank: Int, scalar: PlainScalar) {
    let target: [String]
    switch self {
    case .key: return (0, .null)
    case .priority:
      let priority = tree.priorities[path] ?? .null
      return (priority.rank, priority)
    case .value: target = path
    case .child(let names): target = path + names
    }
    if let leaf = tree.leaves[target] { return (leaf.rank, leaf) }
    return tree.exists(target) ? (5, .null) : (0, .null)
  }

  package static func precedes(
    _ a: (rank: Int, scalar: PlainScalar), _ b: (rank: Int, scalar: PlainScalar)
  )
    -> Bool
  {
    switch (a.scalar, b.scalar) {
    case (.number(let x), .number(let y)): x < y
    case (.text(let x), .text(let y)): Array(x.utf16).lexicographicallyPrecedes(Array(y.utf16))
    default: a.rank < b.rank
    }
  }

  /// The order of keys: integers of 32 bits first, then texts by UTF-16.
  package static func keyPrecedes(_ a: String, _ b: String) -> Bool {
    switch (integer(a), integer(b)) {
    case (let x?, let y?):
      x != y ? x < y : (a.utf8.count, a) < (b.utf8.count, b)
    case (_?, nil): true
    case (nil, _?): false
    case (nil, nil): Array(a.utf16).lexicographicallyPrecedes(Array(b.utf16))
    }
  }

  private static func integer(_ key: String) -> Int? {
    guard let match = key.wholeMatch(of: /(-?)0*([0-9]{1,10})/), let number = Int(match.2) else {
      return nil
    }
    let signed = match.1.isEmpty ? number : -number
    return (-0x8000_0000...0x7FFF_FFFF).contains(signed) ? signed : nil
  }

  /// The keys of a location's children in this order.
  package func keys(_ tree: PlainTree, _ path: [String]) -> [String] {
    tree.keys(at: path).sorted { a, b in
      let (x, y) = (value(tree, path + [a]), value(tree, path + [b]))
      if Self.precedes(x, y) { return true }
      if Self.precedes(y, x) { return false }
      return Self.keyPrecedes(a, b)
    }
  }
}
