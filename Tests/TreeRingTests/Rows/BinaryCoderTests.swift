// Binary rows: the same values as through JSON, the same bytes for equal rows, rows of other
// versions of a type.

import Foundation
import TestSupport
import Testing

@testable import TreeRing

@Suite("Binary rows") struct BinaryCoderTests {
  @Test("Random rows come back equal, and equal to what JSON gives back")
  func random() throws {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    for seed in seeds(1...400) {
      var random = SeededGenerator(seed: seed)
      let sample = BinarySample(&random)
      let bytes = try binary(sample)
      #expect(try row(of: bytes) == sample, "seed \(seed)")
      let viaJSON = try decoder.decode(BinarySample.self, from: try encoder.encode(sample))
      #expect(try row(of: bytes) == viaJSON, "seed \(seed)")
      // The JSON that stands for the row is JSON of the same row.
      let text = try #require(json(of: bytes), "seed \(seed)")
      #expect(
        try decoder.decode(BinarySample.self, from: Data(text.utf8)) == sample, "seed \(seed)")
    }
  }

  @Test("The JSON of a row has the numbers and texts that the JSON coder writes")
  func sameText() throws {
    struct Flat: Codable {
      var a: Double
      var b: Float
      var c: Date
      var d: Decimal
      var e: Int128
      var f: String
      var g: UUID
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    for seed in seeds(1...400) {
      var random = SeededGenerator(seed: seed)
      let sample = BinarySample(&random)
      let flat = Flat(
        a: sample.ratio, b: sample.narrow, c: sample.date, d: sample.decimal,
        e: sample.integers.i128, f: sample.name, g: sample.uuid)
      let text = String(decoding: try encoder.encode(flat), as: UTF8.self)
      #expect(json(of: try binary(flat)) == text, "seed \(seed)")
    }
  }

  @Test("Equal rows have equal bytes, whatever the order in their dictionaries")
  func deterministic() throws {
    var forward: [String: Int] = [:]
    var backward: [String: Int] = [:]
    for number in 0..<500 { forward["k\(number)"] = number }
    for number in (0..<500).reversed() { backward["k\(number)"] = number }
    #expect(try binary(forward) == binary(backward))
    struct AB: Codable { var a: Int, bb: [Int: Bool], c: String }
    struct BA: Codable { var c: String, bb: [Int: Bool], a: Int }
    #expect(
      try binary(AB(a: 1, bb: [10: true, 9: false], c: "x"))
        == binary(BA(c: "x", bb: [9: false, 10: true], a: 1)))
    #expect(
      hex(try binary(AB(a: 1, bb: [10: true, 9: false], c: "x")))
        == "a36161016163617862" + "6262a26139f4623130f5")
  }

  @Test("Numbers that are not finite, and the sign of zero, come back exactly")
  func specialNumbers() throws {
    for bits: UInt64 in [
      0, 1 << 63, 0x7FF0_0000_0000_0000, 0xFFF0_0000_0000_0000, 0x7FF8_0000_0000_0000,
      0x7FF8_0000_0000_1234, 0xFFF8_0000_0000_0001, 1, .max,
    ] {
      let values = [Double(bitPattern: bits)]
      #expect(try row([Double].self, of: binary(values))[0].bitPattern == bits)
    }
    for bits: UInt32 in [1 << 31, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 1] {
      #expect(try row([Float].self, of: binary([Float(bitPattern: bits)]))[0].bitPattern == bits)
    }
    #expect(
      json(of: try binary([Double.nan, .infinity, -.infinity]))
        == #"["NaN","Infinity","-Infinity"]"#)
    #expect(try row(Decimal.self, of: binary(Decimal.nan)).isNaN)
  }

  @Test("Integers of every width come back at their edges, and are read by any wide enough type")
  func integers() throws {
    func check<I: FixedWidthInteger & Codable & SendableMetatype>(_: I.Type) throws {
      for value in [I.min, I.min + 1, I.max - 1, I.max, 0, 1, 23, 24, 127] {
        #expect(try row(I.self, of: binary(value)) == value)
        #expect(try row([I?].self, of: binary([value, nil])) == [value, nil])
        if let wide = Int128(exactly: value) {
          #expect(try row(Int128.self, of: binary(value)) == wide)
        }
      }
      #expect(throws: DecodingError.self) { try row(Int8.self, of: binary(I.max)) }
    }
    try check(Int16.self)
    try check(Int32.self)
    try check(Int64.self)
    try check(Int128.self)
    try check(UInt8.self)
    try check(UInt16.self)
    try check(UInt32.self)
    try check(UInt64.self)
    try check(UInt128.self)
    try check(Int.self)
    #expect(try row(Int.self, of: binary(3.0)) == 3)
    #expect(throws: DecodingError.self) { try row(Int.self, of: binary(3.5)) }
    #expect(throws: DecodingError.self) { try row(UInt.self, of: binary(-1)) }
    #expect(try row(Double.self, of: binary(-7)) == -7)
    #expect(try row(Float.self, of: binary(0.1)) == 0.1)
    #expect(throws: DecodingError.self) { try row(Float.self, of: binary(1e300)) }
  }

  @Test("Decimals keep all their digits")
  func decimals() throws {
    for text in [
      "0", "-0", "1", "-1", "10", "123.45", "-0.001", "18446744073709551615",
      "18446744073709551616",
      "340282366920938463463374607431768211455", "-340282366920938463463374607431768211455",
      "0.00000000000000000000000000000000000001", "1e127", "-9e-127", "12345678901234567890e20",
    ] {
      let value = try #require(Decimal(string: text))
      #expect(try row(Decimal.self, of: binary(value)) == value, "\(text)")
      #expect(json(of: try binary(value)) == value.description, "\(text)")
    }
    #expect(try binary(Decimal(5)) == binary(5))
    #expect(try row(Decimal.self, of: binary(0.25)) == 0.25)
    #expect(try row(Double.self, of: binary(Decimal(0.25))) == 0.25)
  }

  @Test("A number is read by any type that can hold it, and rounded once")
  func conversions() throws {
    for seed in seeds(1...2_000) {
      var random = SeededGenerator(seed: seed)
      let value: Int128 = random.edge()
      let bytes = try binary(value)
      #expect(try row(Double.self, of: bytes) == Double(value), "\(value)")
      #expect(try row(Float.self, of: bytes) == Float(value), "\(value)")
      let exponent = Int(random.next() % 80) - 40
      let mantissa: Int64 = random.edge()
      // Decimals with zeros at the end of the mantissa, too, which other programs may write.
      let decimal = marked("c482" + hex(try binary(exponent)) + hex(try binary(mantissa)))
      let expected = try #require(Decimal(string: "\(mantissa)e\(exponent)"))
      #expect(try row(Decimal.self, of: decimal) == expected, "seed \(seed)")
      #expect(try row(Double.self, of: decimal) == Double("\(mantissa)e\(exponent)"))
      #expect(
        (try? row(Int128.self, of: decimal)) == Int128(exactly: mantissa, exponent), "seed \(seed)")
      #expect(
        (try? row(Int8.self, of: decimal))
          == Int128(exactly: mantissa, exponent).flatMap { Int8(exactly: $0) }, "seed \(seed)")
    }
    let least = marked("c350" + String(repeating: "ff", count: 16))
    #expect(try row(Double.self, of: least) == -0x1p128)
    #expect(throws: DecodingError.self) { try row(Float.self, of: least) }
    #expect(throws: DecodingError.self) { try row(Float.self, of: binary(UInt128.max)) }
    #expect(throws: DecodingError.self) { try row(Int.self, of: binary(Decimal(2.5))) }
  }

  @Test("A row of a single value is a row: text, nil, empty containers, a date")
  func singleValues() throws {
    func check<Row: Codable & Equatable & SendableMetatype>(_ value: Row, _ expected: String) throws
    {
      #expect(hex(try binary(value)) == expected)
      #expect(try row(Row.self, of: binary(value)) == value)
    }
    try check("IETF", "6449455446")
    try check(Optional<Int>.none, "f6")
    try check([Int](), "80")
    try check([String: Int](), "a0")
    try check(Data([1, 2, 3, 4]), "4401020304")
    try check(Date(timeIntervalSinceReferenceDate: 1.1), "fb3ff199999999999a")
    try check(-500, "3901f3")
    try check(true, "f5")
    try check([[Int]](repeating: [1], count: 25), "9819" + String(repeating: "8101", count: 25))
  }

  @Test("Unknown fields are skipped, absent optional ones are nil, others are errors")
  func evolution() throws {
    struct Old: Codable, Equatable { var id: Int, gone: [String: [Int]], name: String }
    struct New: Codable, Equatable { var name: String, added: Date?, id: Int64 }
    struct Strict: Codable { var name: String, added: Int }
    let bytes = try binary(Old(id: 3, gone: ["a": [1, 2], "b": []], name: "n"))
    #expect(try row(New.self, of: bytes) == New(name: "n", added: nil, id: 3))
    #expect {
      try row(Strict.self, of: bytes)
    } throws: {
      guard case .keyNotFound(let key, let context) = $0 as? DecodingError else { return false }
      return key.stringValue == "added" && context.codingPath.isEmpty
    }
    // Null stands for a missing value.
    let withNull = marked("a3" + "626964" + "03" + "646e616d65" + "616e" + "656164646564" + "f6")
    #expect(try row(New.self, of: withNull) == New(name: "n", added: nil, id: 3))
  }
}

extension Int128 {
  /// The whole number that a mantissa and an exponent of ten make; nil if there is none.
  fileprivate init?(exactly mantissa: Int64, _ exponent: Int) {
    self.init(mantissa)
    if mantissa == 0 { return }
    for _ in 0..<abs(exponent) {
      if exponent < 0 {
        guard self % 10 == 0 else { return nil }
        self /= 10
      } else {
        let (product, overflow) = multipliedReportingOverflow(by: 10)
        if overflow { return nil }
        self = product
      }
    }
  }
}
