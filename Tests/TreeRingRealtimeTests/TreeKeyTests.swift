// The keys of rows: their order, and the way back to paths.

import TestSupport
import Testing

@testable import TreeRingFirebase
@testable import TreeRingRealtime

@Suite struct TreeKeyTests {
  private static let names =
    SeededGenerator.keys + [
      " ", "!", "! ", " !", "a ", "a!", "a\"", "a-", "a b", "\u{E000}", "\u{FFFF}", "\u{10FFFF}",
      "\u{10FFFF}!", "\u{10FFFF}\u{E000}", "\u{D7FF}", "x\u{E000}", "x😀", "-5", "-12", "-05", "+1",
      "007", "0000000000000000000000001", "-", "--1", "12345678901",
    ]

  @Test func bytesOrderKeysAsFirebaseDoes() throws {
    let keys = try Self.names.map { try FirebaseKey($0) }
    for a in keys {
      for b in keys {
        let (x, y) = (TreeKey.leaf([a]), TreeKey.leaf([b]))
        #expect((a < b) == x.lexicographicallyPrecedes(y), "\(a) \(b)")
        // Everything below a key lies between it and the next one.
        if a < b { #expect(!y.lexicographicallyPrecedes(TreeKey.end([a])), "\(a) \(b)") }
        #expect(TreeKey.children([a]).lexicographicallyPrecedes(TreeKey.end([a])))
      }
    }
  }

  @Test func pathsComeBack() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2_000 {
      let path = try (0..<Int.random(in: 0...5, using: &random)).map { _ in
        try FirebaseKey(random.pick(Self.names))
      }
      #expect(try TreeKey.path(of: TreeKey.leaf(path), from: 1).keys == path)
      let priority = try TreeKey.path(of: TreeKey.priority(path), from: 1)
      #expect(priority.keys == path && priority.part == .priority)
    }
  }

  @Test func foreignKeysAreErrors() {
    for key in [
      "/a ", "/a!", "/a!x", "/ ", "/ a", "/ b1", "/ a1x", "/ a1:", "/ a1:009x", "/ z1", "/a  ",
    ] {
      #expect(throws: (any Error).self, "\(key)") {
        try TreeKey.path(of: Array(key.utf8), from: 1)
      }
    }
  }

  @Test func keysAreReadable() throws {
    let path = try ["rooms", "1", "messages", "-Nabc", "a b"].map { try FirebaseKey($0) }
    #expect(String(decoding: TreeKey.leaf(path), as: UTF8.self) == "/rooms  a1 messages -Nabc a!.b")
    #expect(String(decoding: TreeKey.priority([]), as: UTF8.self) == "/.priority")
  }

  @Test func digestsAreThoseOfTheStandard() {
    func hex(_ text: String) -> String {
      SHA1.digest(Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
    #expect(
      hex(String(repeating: "a", count: 119)) == "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56")
  }

  // The values are those that Firebase's SDK for JavaScript and an open server compute.
  @Test func hashesAreThoseOfTheSDKs() throws {
    let table = [
      ("null", ""), ("true", "E5z61QM0lN/U2WsOnusszCTkR8M="),
      ("false", "aSSNoqcS4oQwJ2xxH20rvpp3zP0="), ("500", "Ajg9bohDwTVmqR14o1bVJnneryM="),
      ("\"Hello World\"", "B8HWXc7zXMjrsnJxPRj7wrNGqt4="),
      ("\"à\"", "31pfWlkApe+5G1/vDg375CZ+I2M="),
      ("{\"foo\": \"bar\"}", "XnLeTeWQmzTHImTbSMDLg/qMrKY="),
      (#"{"z": 1, "a": "2", "b": "true", "c": false}"#, "8qk5vmuZGXWJx+77SGwjYRM0yPA="),
      (#"{".priority": 200, ".value": "primitive"}"#, "R9u8hs9fhRzuQ2M/3BQ0uhxz5ys="),
      (#"{".priority": "high", ".value": 42}"#, "d/2FMFWchvDsa06RLXZhzvM9aQc="),
      (#"{".priority": 128.256, "someKey": "value"}"#, "WYR8kBGna+a7E5x75zvhPhzACOQ="),
      (#"{".priority": "high", "someKey": "value"}"#, "/KquMIGoCuKO/ipoLoQzqnU0BcI="),
    ]
    for (json, hash) in table {
      #expect(try FirebaseNode(json: json.utf8).hash == hash, "\(json)")
    }
  }
}
