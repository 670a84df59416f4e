// Binary rows as inputs: decoding one as any type, as JSON or in an index by fields gives an answer
// or a `DecodingError`. A row that could be decoded is written and read again.
//
// The first byte is 0x62; the row follows, without its mark.

import Foundation
internal import TreeRing
internal import TreeRingLog

let rowMode: UInt8 = 0x62

/// A row with fields of every kind.
private struct Row: Codable, Sendable {
  enum Kind: Codable, Sendable { case none, some(Int), pair(String, b: Double) }
  struct Inner: Codable, Sendable { var n: Int?, rows: [Inner]?, b: Bool? }
  var n: Int?
  var s: String?
  var d: Double?
  var f: Float?
  var t: Date?
  var i: Int128?
  var u: UInt8?
  var m: Decimal?
  var x: Data?
  var id: UUID?
  var url: URL?
  var k: Kind?
  var l: [Int?]?
  var map: [String: Inner]?
  var num: [Int: [String]]?
  var inner: Inner?
}

private let filter = try? FieldFilter(of: "i", where: ["inner.n=-5", "s=x", "map.a.n=1", "d=0.1"])

/// Reads a row in every way.
func tryRow(_ input: [UInt8]) {
  let bytes = [0xD9, 0xD9, 0xF7] + input
  bytes.withUnsafeBytes { bytes in
    var json: [UInt8] = []
    if BinaryRow.appendJSON(of: bytes, to: &json) {
      precondition(json.withUnsafeBytes { JSONScanner.isValid($0) }, "no JSON")
    }
    _ = filter?.fits(bytes)
    decode(Row.self, bytes)
    decode([String: [Row]].self, bytes)
    decode([Row.Kind].self, bytes)
    decode([Double].self, bytes)
    decode([String: String].self, bytes)
    decode(Decimal.self, bytes)
  }
}

private func decode<Value: Codable & SendableMetatype>(
  _ type: Value.Type, _ bytes: UnsafeRawBufferPointer
) {
  let coder = RowCoder<Value>.binary()
  do {
    let value = try coder.decode(bytes, 0)
    do {
      let first = try coder.encode(value)
      let second = try coder.encode(first.withUnsafeBytes { try coder.decode($0, 0) })
      precondition(first == second, "a row changes when it is read and written")
    } catch { preconditionFailure("a row cannot be read again: \(error)") }
  } catch is DecodingError {
  } catch { preconditionFailure("an unexpected error: \(error)") }
}

/// Writes sound rows to begin from.
func writeRows(_ folder: String) {
  let inner = Row.Inner(n: -5, rows: [Row.Inner(n: 300, b: true)], b: nil)
  let row = Row(
    n: 70_000, s: "text é", d: 0.1, f: 2.5, t: Date(timeIntervalSinceReferenceDate: 1e9),
    i: .max, u: 200, m: Decimal(string: "-12.50"), x: Data([1, 2]),
    id: UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"), url: URL(string: "https://a.b/c"),
    k: .pair("p", b: 1), l: [1, nil], map: ["a": inner], num: [1: ["x"], 20: []], inner: inner)
  do {
    let rows = [
      try RowCoder<Row>.binary().encode(row),
      try RowCoder<[Row.Kind]>.binary().encode([.none, .some(3), .pair("q", b: -1)]),
      try RowCoder<[String: String]>.binary().encode(["k": "v", "longer key": ""]),
      try RowCoder<[Double]>.binary().encode([.nan, .infinity, -0.0]),
    ]
    for (number, bytes) in rows.enumerated() {
      let path = "\(folder)/row-\(number)"
      let input = Data([rowMode] + bytes.dropFirst(3))
      guard FileManager.default.createFile(atPath: path, contents: input) else {
        preconditionFailure("cannot write \(path)")
      }
    }
  } catch { preconditionFailure("\(error)") }
}
