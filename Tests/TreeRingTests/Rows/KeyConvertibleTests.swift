// Values as keys and names of groups: their texts, their way back, their order, and the agreement
// with the fields of rows.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

private enum Colour: String, Codable, KeyConvertible, CaseIterable { case red, green }
private enum Level: Int, Codable, KeyConvertible, CaseIterable { case low = -1, high = 10 }

private struct Fields: Codable {
  var text: String
  var number: Int
  var small: UInt8
  var id: UUID
  var truth: Bool
  var colour: Colour
  var level: Level
}

@Suite("Values as keys") struct KeyConvertibleTests {
  private func text(_ value: some KeyConvertible) -> String { Key(value).description }

  @Test("Each type has its text")
  func texts() throws {
    #expect(text("é\u{0}") == "é\u{0}")
    #expect(text(-12) == "-12")
    #expect(text(UInt128.max) == "\(UInt128.max)")
    #expect(text(true) == "true")
    #expect(text(Colour.red) == "red")
    #expect(text(Level.low) == "-1")
    #expect(text(Date(timeIntervalSince1970: 0.25)) == "1970-01-01T00:00:00.250000Z")
    #expect(text(Timestamp(microseconds: -1)) == "1969-12-31T23:59:59.999999Z")
    #expect(text(Date(timeIntervalSince1970: 60)) == "1970-01-01T00:01:00.000000Z")
    let id = try #require(UUID(uuidString: "0A000000-0000-0000-0000-00000000000f"))
    #expect(text(id) == "0A000000-0000-0000-0000-00000000000F")
    #expect(Key(Data([0, 255])).bytes == [0, 255])
    #expect(GroupName(7) == "7" && RowID(7, in: "b") == RowID("7", in: "b"))
  }

  private func check<Value: KeyConvertible & Equatable>(_ value: Value, _ label: String) {
    #expect(Value(keyBytes: value.keyBytes) == value, "\(label): \(value)")
  }

  @Test("The bytes of a value give it back, and nothing else does", arguments: seeds(1...20))
  func roundTrips(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let label = "seed \(seed)"
    check(Int.random(in: .min ... .max, using: &random), label)
    check(UInt8.random(in: 0...255, using: &random), label)
    check(Bool.random(using: &random), label)
    let microseconds = Int64.random(
      in: -62_000_000_000_000_000...250_000_000_000_000_000, using: &random)
    check(Timestamp(microseconds: microseconds), label)
    check(Date(timeIntervalSince1970: Double(microseconds / 1_000_000)), label)
    check(Data((0..<9).map { _ in UInt8.random(in: 0...255, using: &random) }), label)
    check(String(microseconds), label)
    check(UUID(), label)
    for colour in Colour.allCases { check(colour, label) }
    for level in Level.allCases { check(level, label) }
    for wrong in ["", "+1", "01", " 1", "1.0", "x"] {
      #expect(Int(keyBytes: Array(wrong.utf8)) == nil)
      #expect(Level(keyBytes: Array(wrong.utf8)) == nil)
      #expect(Timestamp(keyBytes: Array(wrong.utf8)) == nil)
    }
    #expect(String(keyBytes: [0xFF]) == nil)
    #expect(UUID(keyBytes: Array(UUID().uuidString.lowercased().utf8)) == nil)
    #expect(Date(keyBytes: Array("1970-01-01T00:00:00Z".utf8)) == nil)
  }

  @Test("Dates are ordered in time and have one length", arguments: seeds(1...20))
  func dates(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let years: ClosedRange<Int64> = -62_167_219_200_000_000...253_402_300_799_999_999
    let (a, b) = (Int64.random(in: years, using: &random), Int64.random(in: years, using: &random))
    let (first, second) = (Key(Timestamp(microseconds: a)), Key(Timestamp(microseconds: b)))
    #expect((first < second) == (a < b), "seed \(seed): \(first) \(second)")
    #expect(first.bytes.count == 27 && second.bytes.count == 27, "seed \(seed)")
  }

  @Test(
    "An index by fields names the group of a value as the value does", arguments: [false, true])
  func fields(isBinary: Bool) throws {
    let rows = Bucket<Fields>("rows", coder: isBinary ? .binary() : .json())
    let row = Fields(
      text: "a\"b/é", number: -7, small: 200, id: UUID(), truth: true, colour: .green, level: .high)
    let object = try rows.coder.encode(row)
    func check(_ field: String, _ value: some KeyConvertible) throws {
      let index = try FieldIndex(on: rows, group: field, order: [])
      let group = object.withUnsafeBytes { index.evaluate($0)?.group }
      #expect(group == value.keyBytes, "\(field)")
    }
    try check("text", row.text)
    try check("number", row.number)
    try check("small", row.small)
    try check("id", row.id)
    try check("truth", row.truth)
    try check("colour", row.colour)
    try check("level", row.level)
  }

  @Test("Rows are read and written under values")
  func rows() throws {
    let store = try Store.inMemory()
    let id = UUID()
    try store.write { tx in
      try tx.put([1], for: id, in: blobs)
      try tx.put([2], metadata: [9], for: 5, in: blobs)
      try tx.put(object: [3], for: 5, in: blobs)
      try tx.put(metadata: [8], for: id, in: blobs)
      try tx.touch(id, in: blobs)
      try tx.require(5, in: blobs, lastWrittenAt: tx.commit)
      try tx.put([4], for: Colour.red, in: blobs)
      #expect(try tx.delete(Colour.red, in: blobs))
      #expect(try tx.get(5, in: blobs) == [3])
    }
    let snapshot = try store.snapshot()
    #expect(try snapshot.get([5, 6], in: blobs) == [[3], nil])
    #expect(try snapshot.get("5", in: blobs) == [3])
    #expect(try snapshot.metadata(of: id, in: blobs) == [8])
    #expect(try snapshot.metadata(of: 5, in: blobs) == [9])
    #expect(try snapshot.contains(id, in: blobs))
    #expect(try !snapshot.contains(Colour.red, in: blobs))
    #expect(try snapshot.row(id, in: blobs)?.object == [1])
    #expect(try snapshot.written(5, in: blobs) == 1)
  }

  @Test("Ranges of keys, past rows, histories and erasing take values")
  func ranges() throws {
    let store = try Store.inMemory()
    let days = (0..<5).map { Date(timeIntervalSince1970: Double($0) * 86_400) }
    try store.write { tx in
      for (number, day) in days.enumerated() { try tx.put([UInt8(number)], for: day, in: blobs) }
    }
    try store.write { try $0.put([9], for: days[1], in: blobs) }
    try check(store, days)
    #expect(try store.erase(days[1], in: blobs).deleted == 3)
  }

  /// In a function of its own, so that no snapshot is alive at the erasing.
  private func check(_ store: Store, _ days: [Date]) throws {
    let snapshot = try store.snapshot()
    #expect(try snapshot.count(in: blobs, from: days[1], to: days[3]) == 2)
    #expect(try snapshot.count(in: blobs, from: days[1]) == 4)
    #expect(try snapshot.count(in: blobs, to: days[1]) == 1)
    let rows = try snapshot.rows(in: blobs, from: days[1], to: days[4], reversed: true, limit: 2)
    #expect(rows.map(\.row) == [[3], [2]])
    var seen: [[UInt8]] = []
    try snapshot.forEach(in: blobs, from: days[3]) { key, row in
      #expect(Date(keyBytes: key.bytes) == days[seen.count + 3])
      seen.append(row)
      return true
    }
    try snapshot.forEachRow(in: "blobs", to: days[1]) { row in
      seen.append(row.object)
      return true
    }
    #expect(seen == [[3], [4], [0]])
    #expect(try store.get(days[1], in: blobs, at: .commit(1)) == [1])
    #expect(try store.row(days[1], in: "blobs", at: .commit(2))?.object == [9])
    #expect(try store.history(of: days[1], in: blobs).map(\.commit) == [2, 1])
  }

  @Test("Every read of an index takes the value of a group")
  func groups() throws {
    let byLevel = GroupIndex("byLevel", on: blobs, version: 1) { (row: [UInt8]) in
      Level(rawValue: Int(Int8(bitPattern: row.first ?? 0))).map { Place(in: GroupName($0)) }
    }
    let store = try Store.inMemory(options: StoreOptions(indexes: [byLevel]))
    try store.write { tx in
      for key in ["a", "b"] { try tx.put([10], for: Key(key), in: blobs) }
      try tx.put([255], for: "c", in: blobs)
      try tx.define("manual", ManualIndex(on: "blobs"))
      try tx.group(Level.high, of: "manual").append(RowID("a", in: blobs))
    }
    let index = try store.snapshot().index("byLevel")
    #expect(try index.count(in: Level.high) == 2)
    #expect(try index.first(in: Level.high)?.key == "a")
    #expect(try index.last(in: Level.high)?.key == "b")
    #expect(try index.id(at: 0, in: Level.low)?.key == "c")
    #expect(try index.firstIndex(in: Level.high) { $0.key >= "b" } == 1)
    var keys: [Key] = []
    try index.forEachRow(in: Level.high, reversed: true) { _, row in
      keys.append(row.key)
      return true
    }
    #expect(keys == ["b", "a"])
    #expect(try store.snapshot().index("manual").count(in: 10) == 1)
  }
}
