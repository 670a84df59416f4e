// The typed form of a search.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Typed searches") struct TextQueryTests {
  @Test(
    "Every form is read",
    arguments: [
      ("dune", TextQuery.phrase("dune")),
      ("\"sand worm\"", .phrase("sand worm")), ("\"a \"\"b\"\"\"", .phrase("a \"b\"")),
      ("arra*", .prefix("arra")), ("\"sand wo\"*", .prefix("sand wo")),
      ("a b", .and([.phrase("a"), .phrase("b")])), ("a AND b", .and([.phrase("a"), .phrase("b")])),
      ("a OR b c", .or([.phrase("a"), .and([.phrase("b"), .phrase("c")])])),
      ("a b NOT c", .not(.and([.phrase("a"), .phrase("b")]), .phrase("c"))),
      ("a NOT b NOT c", .not(.phrase("a"), .or([.phrase("b"), .phrase("c")]))),
      (
        "a AND b NOT c OR d",
        .or([
          .and([.phrase("a"), .not(.phrase("b"), .phrase("c"))]), .phrase("d"),
        ])
      ),
      ("(a OR b) c", .and([.or([.phrase("a"), .phrase("b")]), .phrase("c")])),
      ("NEAR(a \"b c\", 5)", .near(["a", "b c"], within: 5)),
      ("NEAR(a b)", .near(["a", "b"], within: 10)),
      ("title:dune", .field("title", .phrase("dune"))),
      ("a.b:(x OR y)", .field("a.b", .or([.phrase("x"), .phrase("y")]))),
      ("near or", .and([.phrase("near"), .phrase("or")])),
      ("NEAR (a)", .and([.phrase("NEAR"), .phrase("a")])),
      ("", .or([])), ("   ", .or([])),
    ]) func forms(text: String, query: TextQuery) throws
  {
    #expect(try TextQuery(text) == query)
  }

  @Test(
    "A mistake is reported with its offset",
    arguments: [
      ("\"a", 0), ("(a", 2), ("a)", 1), ("a OR", 4), ("AND a", 0), ("a NOT NOT b", 6), ("NEAR(", 5),
      ("NEAR(a, x)", 8), ("NEAR(, 3)", 5), ("NEAR()", 5), ("*", 0), ("a *", 2), ("title:", 6),
      ("()", 1), ("a:b:", 4),
    ]) func mistakes(text: String, offset: UInt64)
  {
    do throws(TreeRingError) {
      let query = try TextQuery(text)
      Issue.record("\(text) was read as \(query)")
    } catch {
      #expect(error.code == .invalidInput && error.offset == offset, "\(text): \(error)")
    }
  }

  @Test(
    "Any text is read or refused, and a query that is read can be searched", arguments: seeds(1...3)
  )
  func fuzz(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pieces = [
      "a", "title", "NEAR(", "(", ")", "\"", "*", ":", ",", " ", " ", "AND", "OR", "NOT", "沙", "é",
      "5", "\u{0}", "99999999999999999999",
    ]
    let index = try TextIndex("i", bucket: "b", fields: ["title", "a"])
    var readCount = 0
    for _ in 0..<4000 {
      let text = (0..<Int.random(in: 0...12, using: &random))
        .map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      do throws(TreeRingError) {
        _ = try TextPlan(try TextQuery(text), of: index)
        readCount += 1
      } catch {
        #expect(error.code == .invalidInput, "\(text): \(error)")
      }
    }
    #expect(readCount > 200)
    // Depth is bounded.
    let deep = String(repeating: "(", count: 100_000)
    #expect(throws: TreeRingError.self) { try TextQuery(deep) }
    let long = "a" + String(repeating: " NOT b", count: 100_000)
    _ = try TextPlan(try TextQuery(long), of: index)
  }

  @Test("A distance may be any number")
  func distances() throws {
    let store = try Store.inMemory()
    try store.define(try TextIndex("words", bucket: "rows", fields: ["t"]))
    try store.write {
      try $0.put(
        Array(#"{"t":"worm sand spice"}"#.utf8), for: "a", in: Bucket<[UInt8]>.bytes("rows"))
    }
    let text = try store.snapshot().text("words")
    for (distance, count) in [(Int.min, 0), (-1, 0), (0, 0), (1, 1), (1 << 40, 1), (.max, 1)] {
      let query = TextQuery.near(["worm", "spice"], within: distance)
      #expect(try text.find(query).count == count, "\(distance)")
    }
    #expect(try text.find(.near(["worm", "sand"], within: .min)).count == 1)
  }

  @Test("A damaged posting has positions up to the last, whatever its bytes", arguments: [1, 2, 5])
  func damagedPostings(fieldCount: Int) {
    let format = PostingFormat(weights: Array(repeating: 1, count: fieldCount))
    var random = SeededGenerator(seed: 1)
    for place in [UInt64.max, 1 << 63, .max >> 1] {
      #expect(format.position(of: place) == PostingFormat.lastPosition)
    }
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
        UInt8.random(in: Bool.random(using: &random) ? 240...255 : 0...9, using: &random)
      }
      var places: [UInt64] = []
      bytes.withUnsafeBytes { bytes in
        for isSingle in [false, true] {
          format.forEachPlace(in: bytes, isSingle: isSingle) { places.append($0) }
          _ = format.frequency(of: bytes, isSingle: isSingle)
        }
      }
      _ = format.near([places, places], spans: [1, 3], within: PostingFormat.lastPosition)
    }
  }

  @Test("A definition survives its JSON, and what it does not know is refused") func definitions()
    throws
  {
    let index = try TextIndex(
      "search", bucket: "books", fields: [.init("title", weight: 4), "b:3", "c.d"],
      stemmer: .english, where: [.init("lang", in: ["en"])], version: 3)
    #expect(try TextIndex("search", json: index.json) == index)
    #expect(
      index.json
        == #"{"bucket":"books","text":["title:4","b:3:1","c.d"],"stemmer":"english","#
        + #""where":{"lang":["en"]},"tokenizer":1,"version":3}"#)
    func code(_ json: String) -> TreeRingError.Code? {
      do throws(TreeRingError) {
        _ = try TextIndex("search", json: json)
        return nil
      } catch { return error.code }
    }
    #expect(code(#"{"bucket":"b","text":["a"],"tokenizer":2}"#) == .unsupportedFormat)
    #expect(code(#"{"bucket":"b","text":["a"],"stemmer":"klingon"}"#) == .unsupportedFormat)
    #expect(code(#"{"bucket":"b","text":[]}"#) == .invalidInput)
    #expect(code(#"{"bucket":"b","text":["a","a:2"]}"#) == .invalidInput)
    #expect(code(#"{"bucket":"b","text":["a:101"]}"#) == .invalidInput)
    #expect(code(#"{"bucket":"b","text":["a..b"]}"#) == .invalidInput)
    #expect(code(#"{"text":["a"]}"#) == .invalidInput)
    // A number of a kind that no version has.
    var record: [UInt8] = []
    IndexRecord(name: "x", number: 1, version: 1, definition: .text(index.json)).encode(
      into: &record)
    #expect(
      try record.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        return try IndexRecord(&reader)
      }.definition == .text(index.json))
  }
}
