// A store of random rows in groups, and the naive answer of each window.

import TestSupport
import TreeRing
import TreeRingLog
import TreeRingMappings

@testable import TreeRingImport
@testable import TreeRingLive

/// A store with one field index, changed at random.
struct LiveBoard {
  let store: Store
  var random: SeededGenerator
  static let groups = ["a", "b", "c", "ü", ""]
  private var keyCount: Int

  init(seed: UInt64, store: Store? = nil, keys: Int = 40) throws {
    self.store = try store ?? Store.inMemory()
    random = SeededGenerator(seed: seed)
    keyCount = keys
    try self.store.define(
      "board", try FieldIndex(bucket: "rows", group: "group", order: [.init("order")]))
  }

  func write(_ line: String) throws {
    var commit = CommitLine()
    try commit.parse(line)
    try store.write { try commit.apply(to: $0) }
  }

  /// Writes a random commit of up to `limit` operations.
  mutating func commit(operations limit: Int = 4) throws {
    var operations: [String] = []
    for _ in 0..<Int.random(in: 1...limit, using: &random) {
      let key = "\"k\(Int.random(in: 0..<keyCount, using: &random))\""
      switch Int.random(in: 0..<10, using: &random) {
      case 0, 1: operations.append("[\"delete\",\"rows\",\(key)]")
      default:
        let group = Self.groups[Int.random(in: 0..<Self.groups.count, using: &random)]
        let order = Int.random(in: 0..<8, using: &random)
        let text = Int.random(in: 0..<3, using: &random)
        operations.append(
          "[\"put\",\"rows\",\(key),{\"group\":\"\(group)\",\"order\":\(order),\"text\":\(text)}]")
      }
    }
    try write("{\"ops\":[\(operations.joined(separator: ","))]}")
  }

  /// The JSON of a random request for a window, without flexible ranges.
  mutating func request(_ id: Int, extra: String = "") -> String {
    var parts = ["\"open\":\(id)", "\"index\":\"board\""]
    if Bool.random(using: &random) {
      let count = Int.random(in: 1...4, using: &random)
      let groups = (Self.groups + ["absent"]).shuffled(using: &random).prefix(count)
      parts.append("\"groups\":[\(groups.map { "\"\($0)\"" }.joined(separator: ","))]")
      if Bool.random(using: &random) { parts.append("\"hideEmpty\":true") }
    }
    if Bool.random(using: &random) {
      let end = Bool.random(using: &random) ? ":end" : ":begin"
      parts.append(
        "\"ranges\":{\"a\":\"fixed:\(Int.random(in: 0...6, using: &random)):"
          + "\(Int.random(in: 0...3, using: &random))\(end)\"}")
    }
    if Bool.random(using: &random) { parts.append("\"reversed\":[\"b\",\"a\"]") }
    if Bool.random(using: &random) { parts.append("\"totals\":true") }
    return "{" + parts.joined(separator: ",") + extra + "}"
  }

  /// The sections of a window, read anew with the simplest means.
  static func naive(
    _ request: String, at commit: CommitNumber, in store: Store
  ) throws -> [LiveClient.Section] {
    guard let members = try JSONValue(Array(request.utf8)).members else { return [] }
    let reader = try store.snapshot(at: .commit(commit)).index("board")
    var groups = try reader.groups()
    var hides = true
    if case .array(let names)? = members["groups"] {
      groups = names.compactMap { $0.string.map { GroupName($0) } }
      hides = members["hideEmpty"] == .bool(true)
    }
    var reversed: [JSONValue] = []
    if case .array(let names)? = members["reversed"] { reversed = names }
    var sections: [LiveClient.Section] = []
    for group in groups {
      var rows = try reader.rows(in: group)
      if reversed.contains(.text(group.description)) { rows.reverse() }
      let all = rows.count
      var first = 0
      if let text = members["ranges"]?.members?[group.description]?.string {
        let positions = try RangeSpecification(text).options.positions(ofCount: rows.count)
        rows = Array(rows[positions])
        first = positions.lowerBound
      }
      if rows.isEmpty, hides { continue }
      sections.append(
        LiveClient.Section(
          group: .text(group.description),
          rows: try rows.map {
            LiveClient.Row(
              bucket: $0.bucket, key: .text($0.key.description), object: try JSONValue($0.object))
          }, total: members["totals"] == .bool(true) ? [first, all] : nil))
    }
    return sections
  }
}

extension LiveSession {
  func receive(_ text: String) { receive(Array(text.utf8)) }

  /// The members of the next message; nil if none is due.
  func next() throws -> [String: JSONValue]? {
    guard let message = nextMessage() else { return nil }
    return try JSONValue(message).members
  }
}
