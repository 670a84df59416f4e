// A row with fields of every kind, random or fixed, for the tests of binary rows.

import Foundation
import TestSupport

@testable import TreeRing

struct BinarySample: Codable, Equatable, Sendable {
  enum Shape: Codable, Hashable, Sendable {
    case point
    case circle(radius: Double)
    case box(Int, height: Int?)
  }
  enum Level: String, Codable, Sendable, CaseIterable { case low, high = "HIGH" }
  struct Inner: Codable, Equatable, Sendable {
    var a: Int?
    var b: [String]
    var deeper: [Inner]?
  }
  struct Integers: Codable, Equatable, Sendable {
    var i8: Int8
    var i16: Int16
    var i32: Int32
    var i64: Int64
    var i128: Int128
    var u8: UInt8
    var u16: UInt16
    var u32: UInt32
    var u64: UInt64
    var u128: UInt128
  }

  var id: Int
  var name: String
  var aVeryLongNameOfAFieldThatIsNotSmall: String
  var aVeryLongNameOfAFieldThatIsNotShort: String?
  var flag: Bool
  var ratio: Double
  var narrow: Float
  var integers: Integers
  var date: Date
  var data: Data
  var uuid: UUID
  var url: URL
  var decimal: Decimal
  var missing: Int?
  var list: [Int?]
  var texts: [String]
  var numbers: [Double]
  var lists: [[Int]]
  var byName: [String: Int]
  var byNumber: [Int: String]
  var byShape: [String: Shape]
  var shapes: [Shape]
  var level: Level?
  var inner: Inner
  var maybe: Inner?
}

extension BinarySample {
  /// A random row. Equal seeds make equal rows.
  init(_ random: inout SeededGenerator) {
    id = random.edge()
    name = random.text()
    aVeryLongNameOfAFieldThatIsNotSmall = random.text()
    aVeryLongNameOfAFieldThatIsNotShort = random.chance() ? random.text() : nil
    flag = random.chance()
    ratio = random.double()
    narrow = random.chance() ? Float(random.double()) : 0.1
    if narrow.isInfinite { narrow = 1e-30 }
    integers = Integers(
      i8: random.edge(), i16: random.edge(), i32: random.edge(), i64: random.edge(),
      i128: random.edge(), u8: random.edge(), u16: random.edge(), u32: random.edge(),
      u64: random.edge(), u128: random.edge())
    date = Date(timeIntervalSinceReferenceDate: random.double())
    data = Data(random.list { $0.edge() })
    uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F") ?? UUID()
    url = URL(filePath: "/\(random.edge() as UInt16)/é", directoryHint: .notDirectory)
    decimal = Decimal(random.edge() as Int64) / (random.chance() ? 1_000 : 1)
    missing = random.chance() ? random.edge() : nil
    list = random.list { $0.chance() ? $0.edge() : nil }
    texts = random.list { $0.text() }
    numbers = random.list { $0.double() }
    lists = random.list { $0.list { $0.edge() } }
    byName = Dictionary(random.list { ($0.text(), $0.edge()) }) { $1 }
    byNumber = Dictionary(random.list { ($0.edge(), $0.text()) }) { $1 }
    byShape = Dictionary(random.list { ($0.text(), $0.shape()) }) { $1 }
    shapes = random.list { $0.shape() }
    level = random.chance() ? Level.allCases.randomElement(using: &random) : nil
    inner = random.inner(depth: 3)
    maybe = random.chance() ? random.inner(depth: 1) : nil
  }

  /// A row whose bytes are recorded.
  static var fixed: BinarySample {
    var random = SeededGenerator(seed: 7)
    return BinarySample(&random)
  }
}

extension SeededGenerator {
  mutating func chance() -> Bool { Bool.random(using: &self) }

  /// An integer, often one at the edge of a form or of the type.
  mutating func edge<I: FixedWidthInteger>() -> I {
    let edges = [0, 23, 24, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296]
    switch next() % 4 {
    case 0: return [I.min, I.max, 0, 1][Int(next() % 4)]
    case 1:
      let edge = I(truncatingIfNeeded: edges[Int(next() % 9)])
      return I.isSigned && chance() ? ~edge : edge
    default: return I(truncatingIfNeeded: next()) >> I(next() % UInt64(I.bitWidth))
    }
  }

  /// A number that JSON can hold.
  mutating func double() -> Double {
    switch next() % 4 {
    case 0:
      return [0, 1, -1, 0.1, 1e300, .leastNonzeroMagnitude, -1e16, 3.5, 1e20][Int(next() % 9)]
    case 1: return Double(Int32(truncatingIfNeeded: next())) / 8
    default:
      let value = Double(bitPattern: next())
      return value.isFinite ? value : 2.5
    }
  }

  mutating func text() -> String {
    let pieces = [
      "", "a", "B7", "é", "e\u{301}", "日本", "🦊", "\u{0}", "\"\\/\n", "longer plain text ",
    ]
    return list { pieces[Int($0.next() % 10)] }.joined()
  }

  mutating func list<Element>(_ element: (inout SeededGenerator) -> Element) -> [Element] {
    let count = next() % 20 == 0 ? 30 : Int(next() % 4)
    return (0..<count).map { _ in element(&self) }
  }

  mutating func shape() -> BinarySample.Shape {
    switch next() % 3 {
    case 0: .point
    case 1: .circle(radius: double())
    default: .box(edge(), height: chance() ? edge() : nil)
    }
  }

  mutating func inner(depth: Int) -> BinarySample.Inner {
    BinarySample.Inner(
      a: chance() ? edge() : nil, b: list { $0.text() },
      deeper: depth > 0 && chance() ? (0..<2).map { _ in inner(depth: depth - 1) } : nil)
  }
}

/// The bytes of a row as the binary coder writes them.
func binary<Row: Codable & SendableMetatype>(_ row: Row) throws -> [UInt8] {
  try RowCoder<Row>.binary().encode(row)
}

/// The row that bytes stand for.
func row<Row: Codable & SendableMetatype>(
  _ type: Row.Type = Row.self, of bytes: [UInt8]
) throws -> Row {
  try bytes.withUnsafeBytes { try RowCoder<Row>.binary().decode($0, 0) }
}

/// The JSON of a binary row; nil if the bytes are none.
func json(of bytes: [UInt8]) -> String? {
  var output: [UInt8] = []
  let isRow = bytes.withUnsafeBytes { BinaryRow.appendJSON(of: $0, to: &output) }
  return isRow ? String(decoding: output, as: UTF8.self) : nil
}

/// The bytes in hexadecimal notation, without the mark.
func hex(_ bytes: [UInt8]) -> String {
  bytes.dropFirst(3).map { String(format: "%02x", $0) }.joined()
}

/// The bytes of a row from hexadecimal notation without the mark.
func marked(_ hex: String) -> [UInt8] {
  let digits = Array(hex.utf8)
  return [0xD9, 0xD9, 0xF7]
    + stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
    }
}
