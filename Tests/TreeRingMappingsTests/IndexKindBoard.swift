// A store with an index of every kind over the same rows, with random changes, and the least cost
// of a changeset between two of its commits.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

struct IndexKindBoard {
  /// The lines are stored as JSON, so that an index by fields reads them too.
  static let lines = Bucket<[UInt8]>(
    "lines",
    coder: RowCoder(
      encode: { line in
        Array(#"{"g":"g\#(line[0])","n":\#(line.dropFirst().first ?? 0),"line":\#(line)}"#.utf8)
      },
      decode: { bytes, _ in
        let numbers = bytes.split(separator: UInt8(ascii: "["))[1].dropLast(2)
        return numbers.split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
          .compactMap { UInt8(String(decoding: $0, as: UTF8.self)) }
      }))
  static let groups: [GroupName] = (0..<4).map { GroupName("g\($0)") }
  /// Every index; those that filter another one come last.
  static let names = [
    "several", "hand", "compared", "summedCode", "summed", "few", "byHandFew", "comparedFew",
  ]

  /// The groups of a line: the first byte names one, a third another.
  static func groups(of line: [UInt8]) -> [GroupName] {
    Set(line.count > 2 ? [line[0], line[2]] : [line[0]]).map { GroupName("g\($0)") }
  }

  static let several = GroupIndex("several", on: lines, version: 1) { (line: [UInt8]) -> [Place] in
    groups(of: line).map { Place(in: $0, by: .ascending(Int(line[1]))) }
  }

  static func summedCode(_ version: UInt32 = 1) -> GroupIndex {
    GroupIndex("summedCode", on: lines, version: version) { (line: [UInt8]) -> [Place] in
      groups(of: line).map {
        Place(in: $0, by: .ascending(Int(version == 1 ? line[1] : line[1] % 3)))
      }
    }.summing(in: lines, decimals: version == 1 ? 0 : 1) { line in line.reduce(0) { $0 + Int($1) } }
  }

  static func summed(_ decimals: Int = 0) throws -> FieldIndex {
    try FieldIndex(on: lines, group: "g", order: [.init("n")]).summing("n", decimals: decimals)
  }

  static func compared(_ version: UInt32 = 1) -> GroupIndex {
    GroupIndex(
      "compared", on: lines, version: version, groupedBy: { (line: [UInt8]) in groups(of: line) },
      sortedBy: { (a: [UInt8], b: [UInt8]) in
        version == 1 ? a[1] % 5 < b[1] % 5 : a[1] % 3 < b[1] % 3
      })
  }

  static func filter(_ name: String, of parent: String, _ version: UInt32 = 1) -> GroupIndex {
    GroupIndex(name, filtering: parent, on: lines, version: version) {
      $0.row[1] < (version == 1 ? 5 : 7)
    }
  }

  static let filters = [
    filter("few", of: "several"), filter("byHandFew", of: "hand"),
    filter("comparedFew", of: "compared"),
  ]

  let store: Store
  var random: SeededGenerator
  private let keyCount = 18

  /// A new store with all indexes. A store in a folder can be reopened.
  init(seed: UInt64, files: any FileSystem = MemoryFileSystem()) throws {
    store = try Self.open(files, indexes: [])
    random = SeededGenerator(seed: seed)
    try store.register(Self.several)
    try store.define("hand", ManualIndex(on: Self.lines))
    try store.register(Self.compared())
    try store.register(Self.summedCode())
    try store.define("summed", Self.summed())
    for filter in Self.filters { try store.register(filter) }
  }

  /// A new store that registers its indexes in code when ``registerAll()`` is called. Its commits
  /// have the same numbers as those of a board with the same seed.
  init(registeringLate seed: UInt64) throws {
    store = try Self.open(MemoryFileSystem(), indexes: [])
    random = SeededGenerator(seed: seed)
    try store.write { $0.note = "several" }
    try store.define("hand", ManualIndex(on: Self.lines))
    for name in Self.names.dropFirst(2) where name != "summed" {
      try store.write { $0.note = name }
      if name == "summedCode" { try store.define("summed", Self.summed()) }
    }
  }

  /// Registers the indexes in code.
  func registerAll() throws {
    for index in [Self.several, Self.compared(), Self.summedCode()] + Self.filters {
      try store.register(index)
    }
  }

  /// A board that continues with a store.
  init(seed: UInt64, store: Store) {
    self.store = store
    random = SeededGenerator(seed: seed)
  }

  static func open(
    _ files: any FileSystem, _ mode: StoreMode = .create,
    indexes: [GroupIndex] = [several, compared(), summedCode()] + filters
  ) throws -> Store {
    var options = StoreOptions(mode: mode, memoryBudget: 1 << 20, indexes: indexes)
    options.pageCellCapacity = 6
    return try Store(path: "store", fileSystem: files, options: options)
  }

  /// Makes enough commits without changes that no change records of earlier ones remain.
  static func dropRecords(of store: Store) throws {
    for number in 0..<1_100 { try store.write { $0.note = "\(number)" } }
  }

  /// Makes one commit of a few operations.
  mutating func commit() throws {
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let key = Key("k\(Int.random(in: 0..<keyCount, using: &random))")
        let isThere = try tx.contains(key, in: "lines")
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try tx.delete(key, in: "lines")
        case 1 where isThere: try tx.touch(key, in: "lines")
        case 2 where isThere:
          let metadata = [UInt8.random(in: 0..<3, using: &random)]
          try tx.put(metadata: metadata, for: key, in: "lines")
        case 3..<7 where isThere:
          let name = Self.groups[Int.random(in: 0..<4, using: &random)]
          let group = try tx.group(name, of: "hand")
          let row = RowID(bucket: "lines", key: key)
          if Int.random(in: 0..<4, using: &random) == 0 {
            try group.remove(row)
          } else {
            let isIn = try tx.index("hand").index(of: row, in: name) != nil
            let end = try group.count - (isIn ? 1 : 0)
            try group.insert(row, at: Int.random(in: 0...end, using: &random))
          }
        default:
          var line = [
            UInt8.random(in: 0..<4, using: &random), UInt8.random(in: 0..<10, using: &random),
          ]
          if Int.random(in: 0..<3, using: &random) == 0 {
            line.append(UInt8.random(in: 0..<4, using: &random))
          }
          try tx.put(line, for: key, in: Self.lines)
        }
      }
    }
  }

  // MARK: - Expected results

  /// The rows of every group.
  static func list(_ index: String, _ snapshot: Snapshot) throws -> [[RowID]] {
    let reader = try snapshot.index(index)
    return try groups.map { group in
      try reader.rows(in: group).map { RowID(bucket: $0.bucket, key: $0.key) }
    }
  }

  /// The fewest operations from one list to another.
  static func cost(_ old: [[RowID]], _ new: [[RowID]]) -> Int {
    func sections(_ list: [[RowID]]) -> [RowID: Set<Int>] {
      var sections: [RowID: Set<Int>] = [:]
      for (section, rows) in list.enumerated() {
        for row in rows { sections[row, default: []].insert(section) }
      }
      return sections
    }
    let (before, after) = (sections(old), sections(new))
    var cost = 0
    for row in Set(before.keys).union(after.keys) {
      let (left, taken) = (before[row] ?? [], after[row] ?? [])
      if left.count == 1, taken.count == 1 {
        cost += left == taken ? 0 : 1
      } else {
        cost += left.symmetricDifference(taken).count
      }
    }
    for (rows, next) in zip(old, new) {
      let common = next.filter(rows.contains)
      cost += common.count - longestIncreasing(common.compactMap { rows.firstIndex(of: $0) })
    }
    return cost
  }

  private static func longestIncreasing(_ numbers: [Int]) -> Int {
    var lengths: [Int] = []
    for (index, number) in numbers.enumerated() {
      let before = zip(numbers[..<index], lengths).filter { $0.0 < number }.map(\.1).max() ?? 0
      lengths.append(before + 1)
    }
    return lengths.max() ?? 0
  }

  /// The sections of these indexes: every group, empty or not.
  static func mappings(_ index: String) -> Mappings { Mappings(of: index, groups: groups) }
}

extension Change {
  /// The number of row deletes, inserts and moves.
  var rowOperationCount: Int {
    changeset.rows.deletes.count + changeset.rows.inserts.count + changeset.rows.moves.count
  }
}
