// Makes random commits in a store and in the model, and compares the two.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// A file system in memory that outlives the stores opened on it.
struct MemoryFiles {
  var fileSystem = MemoryFileSystem()

  func open(
    capacity: Int = .max, indexes: [GroupIndex] = RandomHistory.codeIndexes,
    mode: StoreMode = .create
  ) throws -> Store {
    var options = StoreOptions(mode: mode, segmentSize: 16 << 10, indexes: indexes)
    options.pageCellCapacity = capacity
    return try Store(path: "store", fileSystem: fileSystem, options: options)
  }
}

/// The rows of the tests.
struct Item: Codable, Hashable, Sendable {
  var group: String?
  var number: Int
  var text: String
}

/// A seeded run of commits and their expected results.
struct RandomHistory {
  private(set) var model = ModelStore()
  private var random: SeededGenerator
  private static let items = Bucket<Item>("items")
  private static let bytes = Bucket<[UInt8]>.bytes("bytes")

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  static let fieldIndex: FieldIndex = {
    do {
      return try FieldIndex(
        bucket: "items", group: "group",
        order: [.init("number", descending: true), .init("text")])
    } catch {
      preconditionFailure("the definition is well formed")
    }
  }()

  /// One index with several places for a row, one ordered by creation.
  static let codeIndexes: [GroupIndex] = [
    GroupIndex("digits", on: items, version: 1) { item in
      item.text.prefix(2).map { Place(in: String($0), by: .ascending(item.number)) }
    },
    GroupIndex("byCreation", on: items, version: 1) { item in
      item.number % 3 == 0 ? nil : Place(in: "all", by: .created.reversed)
    },
  ]

  mutating func noteEmptyCommit() { model.states.append(model.rows) }

  // MARK: - Making commits

  mutating func commit(to store: Store) throws {
    let number = UInt64(model.states.count)
    var rows = model.rows
    var made = 0
    let written = try store.write { tx in
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        made += try operation(tx, number, made, &rows) ? 1 : 0
      }
    }
    if made > 0 {
      #expect(written.commit == number)
      model.states.append(rows)
    } else {
      #expect(written.commit == number - 1)
    }
  }

  /// Makes one random operation; false if it changed nothing.
  private mutating func operation(
    _ tx: Transaction, _ number: UInt64, _ index: Int, _ rows: inout [RowID: ModelRow]
  ) throws -> Bool {
    let isItem = Int.random(in: 0..<3, using: &random) > 0
    let bucket = isItem ? "items" : "bytes"
    let id = RowID(bucket: bucket, key: Key("k\(Int.random(in: 0..<40, using: &random))"))
    let old = rows[id]
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<10:
      let object = try isItem ? put(tx, item: id) : put(tx, bytes: id)
      let metadata = lastMetadata
      rows[id] = ModelRow(
        object: object, metadata: metadata, written: number, created: old?.created ?? number,
        birth: old?.birth ?? [number, UInt64(index)])
      note(id, number, .put, object: object, metadata: metadata)
    case 10..<12:
      guard var row = old else { return false }
      row.metadata = randomBytes(upTo: 1500)
      row.written = number
      try tx.put(metadata: row.metadata ?? [], for: id.key, in: bucket)
      rows[id] = row
      note(id, number, .metadata, metadata: row.metadata)
    case 12:
      guard old != nil else {
        #expect(throws: TreeRingError.self) { try tx.touch(id.key, in: bucket) }
        return false
      }
      try tx.touch(id.key, in: bucket)
      rows[id]?.written = number
      note(id, number, .touch)
    case 13:
      guard !isItem, var row = old else { return false }
      row.object = randomBytes(upTo: 3000)
      row.written = number
      try tx.put(object: row.object, for: id.key, in: Self.bytes)
      rows[id] = row
      note(id, number, .put, object: row.object)
    case 14:
      return try deleteRange(tx, bucket, number, &rows)
    default:
      let wasThere = try tx.delete(id.key, in: bucket)
      #expect(wasThere == (old != nil))
      rows[id] = nil
      if wasThere { note(id, number, .delete) }
      return wasThere
    }
    #expect(try tx.row(id.key, in: bucket)?.object == rows[id]?.object)
    return true
  }

  private var lastMetadata: [UInt8]?

  private mutating func put(_ tx: Transaction, item id: RowID) throws -> [UInt8] {
    let item = Item(
      group: Int.random(in: 0..<6, using: &random) == 0
        ? nil : "g\(Int.random(in: 0..<4, using: &random))",
      number: Int.random(in: -5...20, using: &random),
      text: String(
        (0..<Int.random(in: 0...3, using: &random)).map { _ in
          "abc".randomElement(using: &random) ?? "a"
        }))
    lastMetadata = Bool.random(using: &random) ? randomBytes(upTo: 20) : nil
    try tx.put(item, metadata: lastMetadata, for: id.key, in: Self.items)
    return try Self.items.coder.encode(item)
  }

  private mutating func put(_ tx: Transaction, bytes id: RowID) throws -> [UInt8] {
    let object = randomBytes(upTo: Bool.random(using: &random) ? 40 : 4000)
    lastMetadata = Bool.random(using: &random) ? randomBytes(upTo: 1400) : nil
    try tx.put(object, metadata: lastMetadata, for: id.key, in: Self.bytes)
    return object
  }

  private mutating func deleteRange(
    _ tx: Transaction, _ bucket: String, _ number: UInt64, _ rows: inout [RowID: ModelRow]
  ) throws -> Bool {
    let lower = Key("k\(Int.random(in: 0..<40, using: &random))")
    let upper = Key("k\(Int.random(in: 0..<40, using: &random))")
    let doomed = rows.keys.filter { $0.bucket == bucket && lower <= $0.key && $0.key < upper }
    #expect(try tx.deleteAll(in: bucket, from: lower, to: upper) == doomed.count)
    for id in doomed {
      rows[id] = nil
      note(id, number, .delete)
    }
    return !doomed.isEmpty
  }

  private mutating func randomBytes(upTo limit: Int) -> [UInt8] {
    (0..<Int.random(in: 0...limit, using: &random)).map { _ in
      UInt8.random(in: 0...255, using: &random)
    }
  }

  private mutating func note(
    _ id: RowID, _ commit: UInt64, _ kind: RowVersion.Kind, object: [UInt8]? = nil,
    metadata: [UInt8]? = nil
  ) {
    model.versions[id, default: []].append(
      ModelVersion(commit: commit, kind: kind, object: object, metadata: metadata))
  }

  // MARK: - Comparing

  func check(_ snapshot: Snapshot, label: String) throws {
    let rows = model.states[Int(snapshot.commit)]
    for bucket in ["items", "bytes"] {
      let expected = rows.filter { $0.key.bucket == bucket }.sorted { $0.key < $1.key }
      var found: [StoredRow] = []
      try snapshot.forEachRow(in: bucket) {
        found.append($0)
        return true
      }
      try #require(found.map(\.key) == expected.map(\.key.key), "\(label): keys of \(bucket)")
      for (row, model) in zip(found, expected.map(\.value)) {
        #expect(row.object == model.object, "\(label): \(row.key)")
        #expect(row.metadata == model.metadata, "\(label): \(row.key)")
        #expect(row.written == model.written, "\(label): \(row.key)")
        #expect(row.created == model.created, "\(label): \(row.key)")
      }
      #expect(try snapshot.count(in: bucket) == expected.count)
    }
    try checkIndex("byGroup", snapshot, label) { item, _ in
      item.group.map { [($0, .fields(-item.number, item.text))] } ?? []
    }
    try checkIndex("digits", snapshot, label) { item, _ in
      var seen: Set<Character> = []
      return item.text.prefix(2).filter { seen.insert($0).inserted }.map {
        (String($0), .fields(item.number, ""))
      }
    }
    try checkIndex("byCreation", snapshot, label) { item, row in
      item.number % 3 == 0 ? [] : [("all", .birth(row.birth))]
    }
  }

  /// The order values of the model's rows.
  private enum Order: Comparable {
    case fields(Int, String)
    case birth([UInt64])

    static func < (a: Order, b: Order) -> Bool {
      switch (a, b) {
      case (.fields(let n, let s), .fields(let m, let t)):
        n == m ? Array(s.utf8).lexicographicallyPrecedes(Array(t.utf8)) : n < m
      case (.birth(let x), .birth(let y)): y.lexicographicallyPrecedes(x)
      default: false
      }
    }
  }

  private func checkIndex(
    _ name: String, _ snapshot: Snapshot, _ label: String,
    places: (Item, ModelRow) -> [(String, Order)]
  ) throws {
    var expected: [String: [(Order, Key)]] = [:]
    for (id, row) in model.states[Int(snapshot.commit)] where id.bucket == "items" {
      let item = try JSONDecoder().decode(Item.self, from: Data(row.object))
      for (group, order) in places(item, row) {
        expected[group, default: []].append((order, id.key))
      }
    }
    let index = try snapshot.index(name)
    let label = "\(label): \(name) at \(snapshot.commit)"
    try #require(
      index.groups().map(\.description) == expected.keys.sorted(), Comment(rawValue: label))
    for (group, entries) in expected {
      let keys = entries.sorted { $0.0 == $1.0 ? $0.1 < $1.1 : $0.0 < $1.0 }.map(\.1)
      let group = GroupName(group)
      #expect(try index.count(in: group) == keys.count, Comment(rawValue: label))
      try #require(index.rows(in: group).map(\.key) == keys, "\(label) \(group)")
      for (position, key) in keys.enumerated() {
        let id = RowID(bucket: "items", key: key)
        #expect(try index.id(at: position, in: group) == id, Comment(rawValue: label))
        #expect(try index.index(of: id, in: group) == position, Comment(rawValue: label))
      }
    }
  }

  func checkHistories(_ store: Store, label: String) throws {
    for (id, versions) in model.versions {
      let found = try store.history(of: id.key, in: id.bucket).map {
        ModelVersion(commit: $0.commit, kind: $0.kind, object: $0.object, metadata: $0.metadata)
      }
      #expect(found == versions.reversed(), "\(label): history of \(id)")
    }
  }

  /// Checks that records, trees and a comparison of the model's states give the same changes.
  func checkChanges(_ store: Store, label: String) throws {
    let newest = Int(store.newestCommit)
    for name in ["byGroup", "digits", "byCreation"] {
      for (from, to) in [(newest - 1, newest), (newest - 20, newest), (newest, newest - 15)] {
        let old = try store.snapshot(at: .commit(UInt64(from)))
        let new = try store.snapshot(at: .commit(UInt64(to)))
        let recorded = try store.affectedRows(ofIndex: name, from: old, to: new)
        let compared = try store.affectedRows(
          ofIndex: name, from: old, to: new, usesRecords: false)
        for row in Set(recorded.rows.keys).union(compared.rows.keys) {
          let one = recorded.rows[row]
          let other = compared.rows[row]
          if let one, let other {
            #expect(one == other, "\(label): \(name) \(from)→\(to)")
          } else if let one {
            #expect(one.oldPlaces == one.newPlaces, "\(label): \(name) \(from)→\(to)")
            #expect(recorded.parts(of: one)?.isEmpty ?? true, "\(label): \(name) \(from)→\(to)")
          } else if let other {
            Issue.record("\(label): \(name) \(from)→\(to): records lack \(other)")
          }
        }
      }
    }
  }
}
