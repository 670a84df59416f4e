import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite struct JSONScannerTests {
  private func isValid(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { JSONScanner.isValid($0) }
  }

  private func compact(_ text: String) throws -> String {
    var output: [UInt8] = []
    try Array(text.utf8).withUnsafeBytes { try JSONScanner.appendCompact($0, to: &output) }
    return String(decoding: output, as: UTF8.self)
  }

  private func find(_ path: String, in json: String) throws -> String? {
    try Array(json.utf8).withUnsafeBytes { bytes in
      try JSONScanner.find(JSONPath(path), in: bytes).map {
        String(decoding: bytes[$0], as: UTF8.self)
      }
    }
  }

  @Test(
    "Texts that RFC 8259 allows are valid",
    arguments: [
      "null", " true ", "false", "0", "-0", "1.5e+10", "\"\"", "[]", "{}", "[1,[2,{}]]",
      "{\"a\":{\"b\":[]}}", "\"\\ud800\"", "\"\u{10FFFF}\u{7F}\"", "{\"a\":1,\"a\":2}", "1E400",
    ])
  func valid(_ text: String) { #expect(isValid(Array(text.utf8))) }

  @Test(
    "Texts that RFC 8259 does not allow are refused",
    arguments: [
      "", " ", "nul", "nulll", "01", "-", "1.", ".5", "1e", "+1", "\"", "\"\\x\"", "\"\\u12g4\"",
      "\"\u{1}\"", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "[1 2]", "1 2",
      "'a'", "NaN", "{\"a\":1]", "[", "{", "{\"a\":1", "\u{FEFF}1", "tru", "\u{A0}1",
    ])
  func invalid(_ text: String) { #expect(!isValid(Array(text.utf8))) }

  @Test(
    "Malformed UTF-8 is refused",
    arguments: [
      [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xC3],
      [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF],
      [0xE2, 0x28, 0xA1], [0xE2, 0x82],
    ] as [[UInt8]])
  func malformedUTF8(_ bytes: [UInt8]) {
    #expect(!isValid([0x22] + bytes + [0x22]))
    #expect(!bytes.withUnsafeBytes { JSONScanner.isUTF8($0) })
  }

  @Test("Nesting is bounded with a typed error at its offset")
  func nesting() {
    let limit = JSONScanner.maximumDepth
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
      let fits =
        String(repeating: open, count: limit) + "1" + String(repeating: close, count: limit)
      #expect(isValid(Array(fits.utf8)) == true)
      #expect(!isValid(Array((open + fits + close).utf8)))
    }
    let deep = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
    #expect {
      try deep.withUnsafeBytes { try JSONScanner.validate($0) }
    } throws: { error in
      guard let error = error as? TreeRingError else { return false }
      return error.code == .invalidInput && error.offset == UInt64(limit)
    }
  }

  @Test("Copying drops the space outside strings and nothing else")
  func compacting() throws {
    #expect(
      try compact(" { \"a b\" : [ 1.0 , \"  \\\" \" ,\n{ } ] }\t")
        == "{\"a b\":[1.0,\"  \\\" \",{}]}")
    #expect(try compact("1e5") == "1e5")
    #expect(throws: TreeRingError.self) { try compact("1 2") }
  }

  @Test("A dotted path finds the last member of that name, however it is escaped")
  func paths() throws {
    #expect(try find("a.b", in: "{\"a\":{\"b\": 1 }}") == "1")
    #expect(try find("a.b", in: "{\"a\":{\"b\":1},\"a\":{}}") == nil)
    #expect(try find("a", in: "{\"a\":1,\"\\u0061\":2}") == "2")
    #expect(try find("é", in: "{\"\\u00e9\":true}") == "true")
    #expect(try find("a", in: "[{\"a\":1}]") == nil)
    #expect(try find("a.b", in: "{\"a\":[{\"b\":1}]}") == nil)
    #expect(try find("a\\u0062", in: "{\"a\\\\u0062\":3,\"ab\":4}") == "3")
    #expect(throws: TreeRingError.self) { try JSONPath("a..b") }
    #expect(throws: TreeRingError.self) { try JSONPath("") }
  }

  @Test("Random texts are validated and read as by JSONSerialization")
  func agreesWithFoundation() throws {
    for seed: UInt64 in 1...1_500 {
      var maker = JSONMaker(seed: seed)
      let text = maker.space() + maker.value() + maker.space()
      #expect(isValid(Array(text.utf8)), "seed \(seed): \(text)")
      let shorter = try compact(text)
      #expect(
        try parse(Array(shorter.utf8)) == parse(Array(text.utf8)), "seed \(seed): \(text)")
      #expect(Array(shorter.utf8).withUnsafeBytes { JSONScanner.isCompact($0) }, "seed \(seed)")

      let spoilt = maker.spoilt(text)
      if isValid(spoilt) {
        // Half of a surrogate pair is valid in the grammar; Foundation refuses it.
        if String(decoding: spoilt, as: UTF8.self).lowercased().contains("\\ud") { continue }
        #expect(throws: Never.self, "seed \(seed): \(spoilt)") { try parse(spoilt) }
      } else if !isLenientlyRead(spoilt) {
        #expect(
          throws: (any Error).self, "seed \(seed): \(String(decoding: spoilt, as: UTF8.self))"
        ) {
          try parse(spoilt)
        }
      }
    }
  }

  /// Foundation guesses UTF-16 and UTF-32 from zero bytes and byte order marks.
  private func isLenientlyRead(_ bytes: [UInt8]) -> Bool {
    bytes.prefix(4).contains(0) || bytes.starts(with: [0xEF, 0xBB, 0xBF])
      || bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE])
  }

  private func parse(_ bytes: [UInt8]) throws -> NSObject? {
    try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed) as? NSObject
  }

  @Test("Strings are read as Foundation reads them, and written so that they read back")
  func strings() throws {
    for seed: UInt64 in 1...500 {
      var maker = JSONMaker(seed: seed)
      let token = maker.string()
      var text: [UInt8] = []
      _ = Array(token.utf8).withUnsafeBytes { JSONScanner.appendString($0, to: &text) }
      let expected = try parse(Array(token.utf8)) as? NSString
      #expect(String(decoding: text, as: UTF8.self) == expected as String?, "seed \(seed)")
      var quoted: [UInt8] = []
      text.withUnsafeBytes { JSONScanner.appendQuoted($0, to: &quoted) }
      #expect(isValid(quoted))
      var again: [UInt8] = []
      _ = quoted.withUnsafeBytes { JSONScanner.appendString($0, to: &again) }
      #expect(again == text, "seed \(seed)")
      #expect(Array(token.utf8).withUnsafeBytes { JSONScanner.string($0, equals: text) })
    }
  }
}
