// The field of a reference, in JSON and in binary rows.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite struct KeyFieldTests {
  private struct Row: Codable, Equatable {
    var id: Int
    var links: [String]
    var one: String?
    var part: Part
  }

  private struct Part: Codable, Equatable {
    var link: String?
    var links: [String]
    var note: [[String: Double]]
  }

  private func random(_ random: inout SeededGenerator) -> Row {
    let texts = ["a", "b", "\"", "π\n", String(repeating: "long", count: 20), ""]
    func some() -> [String] {
      (0..<Int.random(in: 0...30, using: &random)).map { _ in
        texts.randomElement(using: &random) ?? ""
      }
    }
    func one() -> String? {
      Bool.random(using: &random) ? nil : texts.randomElement(using: &random)
    }
    return Row(
      id: Int.random(in: -300...300, using: &random), links: some(), one: one(),
      part: Part(link: one(), links: some(), note: [["x": 0.5], [:]]))
  }

  @Test(
    "Keys are found and removed alike in both forms, and nothing else changes",
    arguments: seeds(1...40))
  func forms(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let row = random(&generator)
    for coder in [RowCoder<Row>.json(), .binary()] {
      let bytes = try coder.encode(row)
      func keys(_ path: String, _ bytes: [UInt8]) throws -> [String] {
        let field = KeyField(try JSONPath(path))
        return bytes.withUnsafeBytes { field.keys(in: $0) }
          .map { String(decoding: $0, as: UTF8.self) }
      }
      func removing(_ path: String, _ key: String) throws -> Row? {
        let field = KeyField(try JSONPath(path))
        let rest = bytes.withUnsafeBytes { field.removing(Array(key.utf8), from: $0) }
        return try rest.map { try $0.withUnsafeBytes { try coder.decode($0, coder.version) } }
      }
      #expect(try keys("links", bytes) == row.links, "seed \(seed)")
      #expect(try keys("part.links", bytes) == row.part.links, "seed \(seed)")
      #expect(try keys("one", bytes) == (row.one.map { [$0] } ?? []), "seed \(seed)")
      #expect(try keys("part.link", bytes) == (row.part.link.map { [$0] } ?? []), "seed \(seed)")
      #expect(try keys("id", bytes) == ["\(row.id)"], "seed \(seed)")
      for path in ["part", "part.note", "none", "links.x", "part.none"] {
        #expect(try keys(path, bytes).isEmpty, "\(path), seed \(seed)")
        #expect(try removing(path, "a") == nil, "\(path), seed \(seed)")
      }
      let single = [row.one, row.part.link].compactMap { $0 }
      for key in Set(row.links + row.part.links + single + ["z"]) {
        var wanted = row
        wanted.links.removeAll { $0 == key }
        #expect(try removing("links", key) == (wanted == row ? nil : wanted), "seed \(seed)")
        wanted = row
        wanted.part.links.removeAll { $0 == key }
        #expect(try removing("part.links", key) == (wanted == row ? nil : wanted), "seed \(seed)")
        wanted = row
        if row.one == key { wanted.one = nil }
        #expect(try removing("one", key) == (wanted == row ? nil : wanted), "seed \(seed)")
        wanted = row
        if row.part.link == key { wanted.part.link = nil }
        #expect(try removing("part.link", key) == (wanted == row ? nil : wanted), "seed \(seed)")
      }
    }
  }

  @Test("Bytes around the field stay as they are")
  func bytes() throws {
    let field = KeyField(try JSONPath("a.b"))
    for (before, after) in [
      (
        #"{ "x" : 1, "a" : { "b" : "k" , "c":[] } }"#,
        #"{ "x" : 1, "a" : { "b" : null , "c":[] } }"#
      ),
      (#"{"a":{"b":[ "k", 2, {"b":"k"}, "\u006b" ]}}"#, #"{"a":{"b":[2,{"b":"k"}]}}"#),
      (#"{"a":{"b":["l"]}}"#, nil), (#"{"a":{"b":{"k":1}}}"#, nil), (#"["k"]"#, nil), ("{", nil),
      (#"{"a":{"b":"l","b":"k"}}"#, #"{"a":{"b":"l","b":null}}"#),
    ] as [(String, String?)] {
      let rest = Array(before.utf8).withUnsafeBytes { field.removing(Array("k".utf8), from: $0) }
      #expect(rest.map { String(decoding: $0, as: UTF8.self) } == after, "\(before)")
    }
    // Cut and damaged binary rows have no keys.
    let row = try RowCoder<[String: [String: String]]>.binary().encode(["a": ["b": "k"]])
    for end in 0..<row.count {
      #expect(row[..<end].withUnsafeBytes { field.keys(in: $0) } == [])
    }
    for position in row.indices {
      for byte in UInt8.min...UInt8.max {
        var damaged = row
        damaged[position] = byte
        _ = damaged.withUnsafeBytes { (field.keys(in: $0), field.removing([107], from: $0)) }
      }
    }
  }
}
