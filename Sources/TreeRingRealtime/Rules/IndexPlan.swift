// The group index of a database, from the “.indexOn” of its rules. One index serves all of them:
// its groups are named by the index and the location of the children, such as "height of /dinos".
//
// A row that holds the indexed value of a child has the place of that value and the child's key. A
// row below the indexed path has the place of an object, so a child with an object there has as
// many entries as rows. A child without a value has none.

internal import Foundation
internal import TreeRing
internal import TreeRingFirebase

/// The indexes that rules name.
struct IndexPlan: Sendable {
  private struct Pattern: Sendable {
    /// The location of the children; nil for a capture.
    let location: [FirebaseKey?]
    /// A path below the children, or ".value".
    let name: String
    /// The keys of that path.
    let path: [FirebaseKey]
  }

  private var patterns: [Pattern] = []

  init(_ rules: Ruleset) { add(rules.root, at: []) }

  private mutating func add(_ node: RuleNode, at location: [FirebaseKey?]) {
    for name in node.indexes.sorted() {
      let path = name == ".value" ? [] : (try? FirebasePath(name).keys) ?? []
      patterns.append(Pattern(location: location, name: name, path: path))
    }
    for (key, child) in node.children.sorted(by: { $0.key < $1.key }) {
      add(child, at: location + [key])
    }
    for capture in node.captures { add(capture.node, at: location + [nil]) }
  }

  /// Whether the rules name no index.
  var isEmpty: Bool { patterns.isEmpty }

  /// The version of the index: a digest of what it covers.
  var version: UInt32 {
    var text: [UInt8] = []
    for pattern in patterns {
      for key in pattern.location { text += "/\(key?.text ?? "$")".utf8 }
      text += " \(pattern.name)\n".utf8
    }
    return SHA1.digest(text).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The index of a database.
  func index(_ name: String, bucket: String) -> GroupIndex {
    GroupIndex(name, on: .bytes(bucket), version: version) {
      (row: IndexedRow<[UInt8]>) in try places(of: row.key.bytes, row.row)
    }
  }

  private func places(of key: [UInt8], _ object: [UInt8]) throws -> [Place] {
    let row = try TreeKey.path(of: key, from: 1)
    guard row.part == .node else { return [] }
    var places: [Place] = []
    for pattern in patterns {
      let depth = pattern.location.count
      guard row.keys.count > depth + pattern.path.count else { continue }
      let isAt = zip(pattern.location, row.keys).allSatisfy { $0 == nil || $0 == $1 }
      let below = row.keys[(depth + 1)...]
      guard isAt, below.starts(with: pattern.path) else { continue }
      let value: TreeRingFirebase.OrderKey =
        below.count == pattern.path.count ? .scalar(try TreeReader.scalar(object)) : .object
      let edge = OrderEdge(value: value, key: row.keys[depth])
      places.append(
        Place(
          in: Self.group(pattern.name, of: Array(row.keys[..<depth])), by: .ascending(edge.bytes)))
    }
    return places
  }

  /// The group with the children of a location by an index.
  static func group(_ name: String, of location: [FirebaseKey]) -> GroupName {
    let bytes = Array("\(name) of ".utf8) + TreeKey.leaf(location)
    if bytes.count <= Limits.nameByteCount { return GroupName(bytes: bytes) }
    return GroupName(Data(SHA1.digest(bytes)).base64EncodedString())
  }
}
