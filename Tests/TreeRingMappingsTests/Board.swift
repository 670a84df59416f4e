// A store of lines in groups with random changes, and a list that only steps update.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// A store of lines in groups with random changes.
struct Board {
  static let lines = Bucket<[UInt8]>.bytes("lines")
  /// The first byte names the group, the second gives the order; a third and a fourth name further
  /// groups.
  static let index = GroupIndex("board", on: lines, version: 1) { (line: [UInt8]) -> [Place] in
    Set(line[2...] + line[..<1]).map { Place(in: "g\($0)", by: .ascending(Int(line[1]))) }
  }

  let store: Store
  var random: SeededGenerator

  init(seed: UInt64, store: Store? = nil) throws {
    self.store = try store ?? Store.inMemory(options: StoreOptions(indexes: [Self.index]))
    random = SeededGenerator(seed: seed)
  }

  mutating func commit() throws {
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...5, using: &random) { try write(tx) }
    }
  }

  /// Writes or deletes a row.
  mutating func write(_ tx: Transaction) throws {
    let key = Key("k\(Int.random(in: 0..<20, using: &random))")
    switch Int.random(in: 0..<6, using: &random) {
    case 0 where try tx.contains(key, in: "lines"): try tx.delete(key, in: "lines")
    case 1 where try tx.contains(key, in: "lines"): try tx.touch(key, in: "lines")
    case 2 where try tx.contains(key, in: "lines"):
      try tx.put(metadata: [UInt8.random(in: 0..<3, using: &random)], for: key, in: "lines")
    default:
      var line = (0..<2).map { _ in UInt8.random(in: 0..<4, using: &random) }
      if Int.random(in: 0..<3, using: &random) == 0 {
        for _ in 0..<Int.random(in: 1...2, using: &random) {
          line.append(UInt8.random(in: 0..<4, using: &random))
        }
      }
      try tx.put(line, for: key, in: Self.lines)
    }
  }

  mutating func mappings() -> Mappings {
    var mappings = Mappings(
      of: "board", groups: (0..<4).map { GroupName("g\($0)") }.shuffled(using: &random))
    if Bool.random(using: &random) { mappings = mappings.hidingEmptySections() }
    return
      mappings
      .range(
        .fixed(
          length: Int.random(in: 0...5, using: &random),
          offset: Int.random(in: 0...2, using: &random),
          pin: Bool.random(using: &random) ? .end : .beginning), of: "g1"
      )
      .reversed("g2", Bool.random(using: &random))
  }

  /// The rows that a snapshot shows, read one by one.
  static func list(_ mappings: Mappings, _ snapshot: Snapshot) throws -> [[RowID]] {
    let reader = try snapshot.index("board")
    return try (mappings.groups ?? []).compactMap { group in
      var rows = try reader.rows(in: group).map { RowID(bucket: $0.bucket, key: $0.key) }
      if mappings.isReversed(group) { rows.reverse() }
      if let range = mappings.range(of: group) {
        switch range.pin {
        case .beginning: rows = Array(rows.dropFirst(range.offset).prefix(range.length))
        case .end: rows = Array(rows.dropLast(range.offset).suffix(range.length))
        }
      }
      return rows.isEmpty && mappings.hidesEmptySection(of: group) ? nil : rows
    }
  }
}

/// A list that only steps update.
struct FollowedList {
  var sections: [[RowID]] = []

  mutating func apply(_ change: Change) throws {
    func rows(_ section: Int) throws -> [RowID] {
      try (0..<(change.after.rowCount(inSection: section) ?? 0)).compactMap {
        try change.after.row(at: RowPath(section: section, row: $0))
      }
    }
    if change.isReset {
      sections = try change.after.outline.indices.map(rows)
      return
    }
    for step in change.changeset.steps() {
      switch step {
      case .deleteRow(let row, let path):
        #expect(sections[path.section].remove(at: path.row) == row)
      case .deleteSection(let section): sections.remove(at: section)
      case .insertSection(let section, let index):
        sections.insert(try rows(change.after.section(of: section.group) ?? 0), at: index)
      case .moveSection(let from, let to):
        sections.insert(sections.remove(at: from), at: to)
      case .insertRow(let row, let path): sections[path.section].insert(row, at: path.row)
      case .moveRow(let row, let from, let to):
        #expect(sections[from.section].remove(at: from.row) == row)
        sections[to.section].insert(row, at: to.row)
      case .updateRow(let row, let path, _): #expect(sections[path.section][path.row] == row)
      }
    }
  }
}
