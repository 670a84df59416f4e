// A store of random rows in groups, served without a network, and requests for windows of it.

import TestSupport
import TreeRing
import TreeRingImport
import TreeRingLive
import TreeRingLog
import TreeRingMappings

@testable import TreeRingRemote

/// A store with one field index, changed at random.
struct RemoteBoard {
  let store: Store
  var random: SeededGenerator
  static let groups: [GroupName] = ["a", "b", "c", "ü", GroupName(bytes: [0xFF, 0])]

  init(seed: UInt64) throws {
    store = try Store.inMemory()
    random = SeededGenerator(seed: seed)
    try store.define(
      "board", try FieldIndex(bucket: "rows", group: "group", order: [.init("order")]))
    // Groups of fields are text; the last group stands for names that are no text.
    try store.write { try $0.put(Array("{\"group\":\"c\"}".utf8), for: "k0", in: Self.rows) }
  }

  static let rows = Bucket<[UInt8]>.bytes("rows")

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
  mutating func chance(_ count: Int) -> Bool { below(count) == 0 }

  /// Writes a random commit of a few rows.
  mutating func commit(operations limit: Int = 4) throws {
    var writes: [(Key, [UInt8]?)] = []
    for _ in 0...below(limit) {
      let key: Key = chance(12) ? Key(bytes: [0x80, UInt8(below(3))]) : Key("k\(below(40))")
      let group = ["a", "b", "c", "ü"][below(4)]
      let object = "{\"group\":\"\(group)\",\"order\":\(below(8)),\"text\":\(below(3))}"
      writes.append((key, chance(5) ? nil : Array(object.utf8)))
    }
    try store.write { tx in
      for (key, object) in writes {
        if let object {
          try tx.put(object, for: key, in: Self.rows)
        } else {
          try tx.delete(key, in: "rows")
        }
      }
    }
  }

  /// A random request without flexible ranges.
  mutating func request() -> RemoteRequest {
    var request = RemoteRequest("board")
    if chance(2) {
      request.groups = Array(Self.groups.shuffled(using: &random).prefix(1 + below(4)))
      request.hidesEmptySections = chance(2)
    }
    if chance(3) { request.range = range() }
    if chance(2) { request.ranges["a"] = .some(chance(4) ? nil : range()) }
    if chance(2) { request.reversed = ["b", "a"] }
    return request
  }

  mutating func range() -> RangeOptions {
    .fixed(length: below(7), offset: below(4), pin: chance(2) ? .end : .beginning)
  }
}

extension RemoteRequest {
  /// The mappings that show the same of a local store.
  var mappings: Mappings {
    var mappings = Mappings(of: index, groups: groups ?? []).hidingEmptySections(hidesEmptySections)
    if groups == nil {
      mappings = Mappings(of: index, groupsWhere: { _ in true }).hidingEmptySections()
    }
    mappings = mappings.range(range)
    for (group, range) in ranges { mappings = mappings.range(range, of: group) }
    for group in reversed { mappings = mappings.reversed(group) }
    return mappings
  }
}

/// The contents of a list, for comparison.
struct Listing: Equatable, CustomStringConvertible {
  var sections: [(group: GroupName, rows: [(row: RowID, object: String)])] = []

  /// The rows that a window shows.
  init(_ shown: ShownRows) {
    for section in shown.sections {
      sections.append(
        (
          section.group,
          section.map { ($0, String(decoding: shown.object(of: $0) ?? [], as: UTF8.self)) }
        ))
    }
  }

  /// The rows that a local store shows.
  init(_ shown: ShownRows, in snapshot: Snapshot) throws {
    for section in shown.sections {
      sections.append(
        (
          section.group,
          try section.map {
            (
              $0,
              String(decoding: try snapshot.row($0.key, in: $0.bucket)?.object ?? [], as: UTF8.self)
            )
          }
        ))
    }
  }

  var description: String {
    sections.map { "\($0.group): \($0.rows.map { "\($0.row)=\($0.object)" })" }.joined(
      separator: "\n")
  }

  static func == (a: Listing, b: Listing) -> Bool { a.description == b.description }
}
