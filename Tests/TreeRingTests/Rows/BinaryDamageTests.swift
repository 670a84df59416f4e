// Damaged, forged and recorded binary rows: every decoding ends with a value or an error.

import Foundation
import TestSupport
import Testing

@testable import TreeRing

@Suite("Damaged binary rows") struct BinaryDamageTests {
  private static let index: FieldIndex? = try? FieldIndex(
    bucket: "b", group: "name", order: "integers.i64,list", where: ["flag=true"])

  /// Reads bytes in every way. Returns whether they are the sample's type.
  @discardableResult
  private func read(_ bytes: [UInt8]) -> Bool {
    if let text = json(of: bytes) {
      #expect(Array(text.utf8).withUnsafeBytes { JSONScanner.isValid($0) }, "\(bytes)")
    }
    bytes.withUnsafeBytes { _ = Self.index?.evaluate($0) }
    do {
      let sample = try row(BinarySample.self, of: bytes)
      // A value that could be read can be written and read again.
      let again = try binary(sample)
      #expect(try binary(row(BinarySample.self, of: again)) == again)
      return true
    } catch is DecodingError {
      return false
    } catch {
      Issue.record("\(error)")
      return false
    }
  }

  @Test("Every truncation and every continuation of a row is an error")
  func truncations() throws {
    let bytes = try binary(BinarySample.fixed)
    #expect(read(bytes))
    for count in 0..<bytes.count { #expect(!read(Array(bytes[..<count])), "\(count)") }
    #expect(!read(bytes + [0]))
    for row in try [binary([1, 2]), binary("text"), binary(5)] {
      #expect(json(of: row + [0]) == nil)
      #expect(throws: DecodingError.self) { try TreeRingTests.row([Int].self, of: row + [0]) }
      #expect(throws: DecodingError.self) { try TreeRingTests.row(Int.self, of: row + [0]) }
    }
  }

  @Test("Every change of one byte of a row gives a value or an error")
  func bytes() throws {
    var bytes = try binary(BinarySample.fixed)
    for index in bytes.indices {
      let byte = bytes[index]
      // All bits one by one, the neighbours, and heads that matter; all values in a sweep.
      let others: [UInt8] =
        isSweep
        ? Array(0...255)
        : (0..<8).map { byte ^ 1 << $0 } + [
          byte &+ 1, byte &- 1, 0x1B, 0x5B, 0x7B, 0x9B, 0xBB, 0xFF,
        ]
      for other in others where other != byte {
        bytes[index] = other
        read(bytes)
      }
      bytes[index] = byte
    }
  }

  @Test("Random bytes behind the mark, and random edits, give a value or an error")
  func random() throws {
    let sound = try binary(BinarySample.fixed)
    for seed in seeds(1...2_000) {
      var random = SeededGenerator(seed: seed)
      var bytes = sound
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let at = Int.random(in: 3..<bytes.count, using: &random)
        switch random.next() % 4 {
        case 0: bytes[at] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: at)
        case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: at)
        default: bytes.swapAt(at, Int.random(in: 3..<bytes.count, using: &random))
        }
      }
      read(bytes)
      let noise = (0..<40).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      read([0xD9, 0xD9, 0xF7] + noise)
      read(noise)
    }
  }

  @Test("Forged lengths and counts are refused before anything is allocated")
  func lengths() throws {
    for forged in [
      "9bffffffffffffffff", "9b7fffffffffffffff", "9a7fffffff", "bbffffffffffffffff", "ba0fffffff",
      "7bffffffffffffffff", "5b7fffffffffffffff", "c25bffffffffffffffff", "9f", "bf", "7f", "5f",
      "ff", "1c", "f7", "f97e00", "f818", "c4820001ff", "d825", "a1", "a10102",
      "a2616101616102", "a2616201616102", "a262616101616202", "a161ff01", "61ff", "62c328",
      "63eda080",
      // Tagged values that are none: an unknown tag, a UUID of 15 bytes, an integer of 17.
      "c100", "d8254f" + String(repeating: "00", count: 15),
      "c251" + String(repeating: "01", count: 17), "c48200f6", "c482c2410101", "c483010101",
    ] {
      let bytes = marked(forged)
      #expect(json(of: bytes) == nil, "\(forged)")
      bytes.withUnsafeBytes { #expect(Self.index?.evaluate($0) == nil, "\(forged)") }
      #expect(throws: DecodingError.self, "\(forged)") { try row([Int].self, of: bytes) }
      #expect(throws: DecodingError.self, "\(forged)") { try row([String: Int].self, of: bytes) }
      #expect(throws: DecodingError.self, "\(forged)") { try row(String.self, of: bytes) }
      #expect(throws: DecodingError.self, "\(forged)") { try row(Data.self, of: bytes) }
      #expect(throws: DecodingError.self, "\(forged)") { try row(Decimal.self, of: bytes) }
    }
    #expect(throws: DecodingError.self) {
      try row(Int.self, of: marked("c2510100000000000000000000000000000000"))
    }
    #expect(throws: DecodingError.self) { try row(Decimal.self, of: marked("c4821a7fffffff01")) }
    #expect(json(of: marked("c4821a7fffffff01")) == "1e2147483647")
  }

  private final class Chain: Codable {
    var next: Chain?
    var decimal: Decimal?
    init(_ next: Chain?) { self.next = next }
  }

  @Test("Nesting has a limit, for the writer and for the reader")
  func depth() throws {
    var chain = Chain(nil)
    // Though a decimal is an array in the bytes, it is no level.
    chain.decimal = 0.5
    for _ in 1..<512 { chain = Chain(chain) }
    let coder = RowCoder<Chain>.binary()
    let bytes = try coder.encode(chain)
    #expect(json(of: bytes) != nil)
    var (count, link) = (0, try bytes.withUnsafeBytes { try coder.decode($0, 0) } as Chain?)
    while let next = link { (count, link) = (count + 1, next.next) }
    #expect(count == 512)
    #expect(throws: EncodingError.self) { try coder.encode(Chain(chain)) }
    for count in [513, 100_000] {
      for head in ["81", "a16161", "c1", "c48200"] {
        let deep = marked(String(repeating: head, count: count) + "00")
        #expect(json(of: deep) == nil)
        #expect(throws: DecodingError.self) { try row([String: Int].self, of: deep) }
        #expect(throws: DecodingError.self) { try row([[Int]].self, of: deep) }
        #expect(throws: DecodingError.self) { try row(Decimal.self, of: deep) }
        #expect(throws: DecodingError.self) { try row(Double.self, of: deep) }
        deep.withUnsafeBytes { #expect(Self.index?.evaluate($0) == nil) }
      }
    }
  }

  @Test("An index refuses keys out of order on the way to its fields, and too deep nesting")
  func indexes() throws {
    let name = "646e616d65" + "6161"
    let index = try FieldIndex(bucket: "b", group: "name", order: "a.b", where: [String]())
    func fits(_ hex: String) -> Bool { marked(hex).withUnsafeBytes { index.evaluate($0) != nil } }
    #expect(fits("a2" + "6161a161" + "6201" + name))
    #expect(!fits("a2" + name + "6161a161" + "6201"))
    #expect(!fits("a2" + "6161a261" + "620161" + "6201" + name))
    #expect(!fits("a2" + "6161a261" + "620161" + "6101" + name))
    // A level of the row, one of “a”, and arrays.
    for (count, isRow) in [(510, true), (511, false)] {
      let deep = String(repeating: "81", count: count) + "00"
      #expect(fits("a2" + "6161a161" + "62" + deep + name) == isRow)
      #expect((json(of: marked("a2" + "6161a161" + "62" + deep + name)) != nil) == isRow)
    }
  }

  @Test("The recorded bytes of a row are read and written for ever")
  func recorded() throws {
    var folder = URL(filePath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    let file = folder.appending(path: "Fixtures/v1/binary-row.txt")
    if ProcessInfo.processInfo.environment["TREERING_RECORD_ROW"] != nil {
      let bytes = try binary(BinarySample.fixed)
      let lines = [hex(bytes), try #require(json(of: bytes))]
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
    }
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(
      String.init)
    try #require(lines.count == 2)
    #expect(try row(BinarySample.self, of: marked(lines[0])) == BinarySample.fixed)
    #expect(hex(try binary(BinarySample.fixed)) == lines[0])
    #expect(json(of: marked(lines[0])) == lines[1])
    #expect(try JSONDecoder().decode(BinarySample.self, from: Data(lines[1].utf8)) == .fixed)
  }

  @Test("The worked example of the documentation is a row")
  func workedExample() throws {
    struct Book: Codable, Equatable { var title: String, sales: Int, genre: String?, rank: Double }
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let page = try String(contentsOf: root.appending(path: "docs/rows.md"), encoding: .utf8)
    let section = try #require(page.range(of: "### Worked example of a binary row"))
    let blocks = page[section.upperBound...].components(separatedBy: "```")
    let bytes = try #require(blocks.dropFirst().first).split(whereSeparator: \.isNewline)
      .flatMap { $0.prefix { $0 != "·" }.split(separator: " ") }
      .map { try #require(UInt8($0, radix: 16), "\($0) is not a byte") }
    let book = Book(title: "Dune", sales: 20, genre: nil, rank: 1.5)
    #expect(try binary(book) == bytes)
    #expect(try row(Book.self, of: bytes) == book)
  }
}
