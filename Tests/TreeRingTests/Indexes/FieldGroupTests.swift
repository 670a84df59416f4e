// Groups of an index by fields as values of every type that can be a key.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

private enum Genre: String, Codable, KeyConvertible, CaseIterable { case fantasy, crime }
private enum Level: Int, Codable, KeyConvertible, CaseIterable { case low = -1, high = 10 }

/// A day as its raw date.
private struct Day: RawRepresentable, Codable, KeyConvertible, Hashable {
  var rawValue: Date

  init(rawValue: Date) { self.rawValue = rawValue }
  init(from decoder: any Swift.Decoder) throws {
    rawValue = try decoder.singleValueContainer().decode(Date.self)
  }
  func encode(to encoder: any Swift.Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

private struct Row: Codable {
  var text: String
  var number: Int
  var isLate: Bool
  var id: UUID
  var date: Date
  var day: Day
  var data: Data
  var genre: Genre
  var level: Level
}

@Suite("Groups of an index by fields", .leavesSoundStores)
struct FieldGroupTests {
  private func row(_ random: inout SeededGenerator) -> Row {
    func date() -> Date {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -3...3, using: &random)))
      case 1: Date(timeIntervalSinceReferenceDate: .random(in: -1e9...1e9, using: &random))
      case 2: Date(timeIntervalSinceReferenceDate: .random(in: -1e-9...1e-9, using: &random))
      default: Date(timeIntervalSinceReferenceDate: .random(in: -1e300...1e300, using: &random))
      }
    }
    let texts = ["", "a", "\"é\\/", "1", "true", "null"]
    return Row(
      text: texts.randomElement(using: &random) ?? "", number: .random(in: -2...2, using: &random),
      isLate: .random(using: &random),
      id: UUID(
        uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5\(Int.random(in: 0...3, using: &random))")
        ?? UUID(),
      date: date(), day: Day(rawValue: date()),
      data: Data(
        (0..<Int.random(in: 0...5, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }),
      genre: Genre.allCases.randomElement(using: &random) ?? .crime,
      level: Level.allCases.randomElement(using: &random) ?? .low)
  }

  /// Compares an index by a field with the rows that have each value.
  private func check<Value: KeyConvertible & Hashable>(
    _ field: String, _ value: KeyPath<Row, Value>, _ bucket: Bucket<Row>,
    _ rows: [Row], of store: Store
  ) throws {
    try store.define(field, FieldIndex(on: bucket, group: field, order: []))
    let handle = Index(named: field, on: bucket, group: Value.self)
    let snapshot = try store.snapshot()
    let reader = try snapshot[handle]
    var counts: [Value: Int] = [:]
    for row in rows { counts[row[keyPath: value], default: 0] += 1 }
    let groups = try reader.groups()
    #expect(Set(groups.map(\.group)) == Set(counts.keys), "\(field)")
    for (group, count) in groups {
      #expect(count == counts[group], "\(field)")
      #expect(try reader.count(in: group) == count, "\(field)")
      let found = try reader.rows(in: group)
      #expect(found.map { $0[keyPath: value] } == Array(repeating: group, count: count), "\(field)")
      #expect(try reader.untyped.rows(in: group).count == count, "\(field)")
      let name = try GroupName(field: group)
      #expect(try reader.untyped.count(in: name) == count, "\(field)")
      let key = try reader.entries(in: group, limit: 1).first?.key
      #expect(try reader.index(of: #require(key), in: group) == 0, "\(field)")
    }
    let inTransaction = try store.write { tx in try tx[handle].groups().count }.value
    #expect(inTransaction == groups.count, "\(field)")
    let conditions = [FieldIndex.Condition("isLate", in: ["true"])]
    try store.define("late \(field)", FieldFilter(of: field, where: conditions))
    let late = Index(named: "late \(field)", on: bucket, group: Value.self)
    let lateCount = try store.snapshot()[late].groups().reduce(0) { $0 + $1.rows }
    #expect(lateCount == rows.count { $0.isLate }, "\(field)")
  }

  @Test(
    "Values of every type find the rows that have them, in JSON, binary and versioned buckets",
    arguments: seeds(1...3))
  func everyType(seed: UInt64) throws {
    for bucket in [
      Bucket<Row>("rows"), Bucket("rows", coder: .binary()),
      Bucket("rows", version: 2, format: .binary),
    ] {
      var random = SeededGenerator(seed: seed)
      let rows = (0..<60).map { _ in row(&random) }
      let store = try Store.tiny()
      try store.write { tx in
        for (number, row) in rows.enumerated() { try tx.put(row, for: number, in: bucket) }
      }
      try check("text", \.text, bucket, rows, of: store)
      try check("number", \.number, bucket, rows, of: store)
      try check("isLate", \.isLate, bucket, rows, of: store)
      try check("id", \.id, bucket, rows, of: store)
      try check("date", \.date, bucket, rows, of: store)
      try check("day", \.day, bucket, rows, of: store)
      try check("data", \.data, bucket, rows, of: store)
      try check("genre", \.genre, bucket, rows, of: store)
      try check("level", \.level, bucket, rows, of: store)
    }
  }

  @Test("A bucket that changed from JSON to binary rows has one group for each value")
  func bothFormats() throws {
    let (json, binary) = (Bucket<Row>("rows"), Bucket<Row>("rows", coder: .binary()))
    let store = try Store.tiny()
    for seed in 1...40 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let row = row(&random)
      try store.write { tx in
        try tx.put(row, for: "json \(seed)", in: json)
        try tx.put(row, for: "binary \(seed)", in: binary)
      }
    }
    for field in ["date", "day", "data"] {
      try store.define(field, FieldIndex(on: json, group: field, order: []))
      let counts = try store.snapshot().index(field).groupCounts()
      #expect(counts.allSatisfy { $0.rows.isMultiple(of: 2) }, "\(field)")
    }
  }

  @Test("A unique index by a date gives its row and key; sums of a date's group are found")
  func uniqueDates() throws {
    let bucket = Bucket<Row>("rows")
    var random = SeededGenerator(seed: 5)
    var row = row(&random)
    row.date = Date(timeIntervalSinceReferenceDate: 1234.5)
    let store = try Store.tiny()
    try store.write { try $0.put(row, for: "a", in: bucket) }
    try store.define("date", FieldIndex(on: bucket, group: "date", order: []).unique())
    try store.define("sum", FieldIndex(on: bucket, group: "date", order: []).summing("number"))
    let snapshot = try store.snapshot()
    let byDate = UniqueIndex(named: "date", on: bucket, of: Date.self)
    #expect(try snapshot[byDate].row(row.date)?.id == row.id)
    #expect(try snapshot[byDate].key(row.date) == "a")
    #expect(try snapshot[byDate].key(row.date + 1) == nil)
    let sums = Index(named: "sum", on: bucket, group: Date.self)
    #expect(try snapshot[sums].sum(in: row.date).units == Int128(row.number))
    #expect(try GroupName(field: row.date) == "1234.5")
    #expect(try GroupName(field: Data([1, 2])) == "AQI=")
  }

  @Test("A program's own coder may write dates in another way: only those are refused")
  func ownCoder() throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let bucket = Bucket<Row>(
      "rows",
      coder: RowCoder(
        encode: { Array(try encoder.encode($0)) },
        decode: { bytes, _ in try decoder.decode(Row.self, from: Data(bytes)) }))
    let store = try Store.tiny()
    for field in ["date", "day", "data", "level"] {
      try store.define(field, FieldIndex(on: bucket, group: field, order: []))
    }
    let snapshot = try store.snapshot()
    func message(_ body: () throws -> Void) -> String? {
      do {
        try body()
        return nil
      } catch {
        return (error as? TreeRingError)?.message
      }
    }
    let date = Index(named: "date", on: bucket, group: Date.self)
    #expect(message { _ = try snapshot[date] }?.contains("is the program's own") == true)
    let data = Index(named: "data", on: bucket, group: Data.self)
    #expect(message { _ = try snapshot[data] }?.contains("is the program's own") == true)
    let day = Index(named: "day", on: bucket, group: Day.self)
    let refused = message { _ = try snapshot[day].rows(in: Day(rawValue: Date())) }
    #expect(refused?.contains("own coder decides") == true)
    let level = Index(named: "level", on: bucket, group: Level.self)
    #expect(try snapshot[level].count(in: .high) == 0)
    let named = Index(named: "date", on: bucket, group: GroupName.self)
    #expect(try snapshot[named].count(in: "2013-01-03T08:00:00Z") == 0)
  }

  @Test("A handle names groups of dates and data as its index does, by fields or by a closure")
  func handles() throws {
    let bucket = Bucket<Row>("rows")
    let store = try Store.tiny()
    var random = SeededGenerator(seed: 9)
    let row = row(&random)
    try store.write { try $0.put(row, for: "a", in: bucket) }
    try store.define("date", FieldIndex(on: bucket, group: "date", order: []))
    let inCode = Index("in code", on: bucket, version: 1, group: { $0.date })
    try store.register(inCode)
    let byField = Index(named: "date", on: bucket, group: Date.self)
    let elsewhere = Index(named: "in code", on: bucket, group: Date.self, isInCode: true)
    let snapshot = try store.snapshot()
    for handle in [byField, inCode, elsewhere] {
      let index = try snapshot[handle].untyped
      #expect(try index.groups() == [handle.groupName(of: row.date)], "\(handle.name)")
      #expect(try snapshot[handle].count(in: row.date) == 1, "\(handle.name)")
    }
    #expect(byField.groupName(of: row.date) != inCode.groupName(of: row.date))
    // A handle that states the other kind is refused.
    let wrong = [
      Index(named: "date", on: bucket, group: Date.self, isInCode: true),
      Index(named: "in code", on: bucket, group: Date.self),
    ]
    for handle in wrong {
      #expect(throws: TreeRingError.self) { _ = try snapshot[handle] }
    }
    let data = Index(named: "data", on: bucket, group: Data.self)
    #expect(data.groupName(of: Data([1, 2])) == "AQI=")
    let genre = Index(named: "genre", on: bucket, group: Genre.self)
    #expect(genre.groupName(of: .crime) == GroupName(Genre.crime))
  }
}
