// The less usual uses of Codable with binary rows: containers that are written later, inheritance,
// failures in the middle, and the paths of errors.

import Foundation
import TestSupport
import Testing

@testable import TreeRing

@Suite("Containers of binary rows") struct BinaryContainerTests {
  private enum Names: String, CodingKey { case first, second, list, inner, base, zz }

  /// Opens containers, and fills them in an order of its own.
  private struct Interleaved: Codable, Equatable {
    var values = [1, 2, 3, 4]

    init() {}

    func encode(to encoder: any Encoder) throws {
      var outer = encoder.container(keyedBy: Names.self)
      var list = outer.nestedUnkeyedContainer(forKey: .list)
      var inner = outer.nestedContainer(keyedBy: Names.self, forKey: .inner)
      try list.encode(values[0])
      try outer.encode(values[1], forKey: .zz)
      try inner.encode(values[2], forKey: .second)
      var deep = list.nestedContainer(keyedBy: Names.self)
      try outer.encode("x", forKey: .first)
      try deep.encode(values[3], forKey: .first)
      try list.encodeNil()
      _ = list.nestedUnkeyedContainer()
      try 7.encode(to: list.superEncoder())
      try "".encode(to: outer.superEncoder())
      #expect(list.count == 5)
      #expect(deep.codingPath.map(\.stringValue) == ["list", "Index 1"])
      #expect(outer.codingPath.isEmpty)
    }

    init(from decoder: any Decoder) throws {
      let outer = try decoder.container(keyedBy: Names.self)
      var list = try outer.nestedUnkeyedContainer(forKey: .list)
      let inner = try outer.nestedContainer(keyedBy: Names.self, forKey: .inner)
      let first = try list.decode(Int.self)
      let deep = try list.nestedContainer(keyedBy: Names.self)
      #expect(deep.codingPath.map(\.stringValue) == ["list", "Index 1"])
      values = [
        first, try outer.decode(Int.self, forKey: .zz), try inner.decode(Int.self, forKey: .second),
        try deep.decode(Int.self, forKey: .first),
      ]
      #expect(try list.decodeNil())
      #expect(try list.nestedUnkeyedContainer().isAtEnd)
      #expect(try Int(from: list.superDecoder()) == 7)
      #expect(list.isAtEnd && list.currentIndex == 5)
      #expect(throws: DecodingError.self) { try list.decode(Int.self) }
      #expect(try String(from: outer.superDecoder()) == "")
      #expect(try outer.superDecoder(forKey: .second).singleValueContainer().decodeNil())
      #expect(Set(outer.allKeys) == [.first, .list, .inner, .zz])
    }
  }

  @Test("Containers may be filled in any order, and decoded in any order")
  func interleaved() throws {
    let bytes = try binary(Interleaved())
    #expect(
      json(of: bytes)
        == #"{"zz":2,"list":[1,{"first":4},null,[],7],"first":"x","inner":{"second":3},"super":""}"#
    )
    #expect(try row(Interleaved.self, of: bytes) == Interleaved())
  }

  private class Base: Codable {
    var id = 1
    init() {}
  }
  private final class Derived: Base {
    var name = "d"
    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Names.self)
      name = try container.decode(String.self, forKey: .first)
      try super.init(from: container.superDecoder(forKey: .base))
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Names.self)
      try super.encode(to: container.superEncoder(forKey: .base))
      try container.encode(name, forKey: .first)
    }
  }

  @Test("A class and its base class share a row")
  func inheritance() throws {
    let derived = Derived()
    (derived.id, derived.name) = (5, "five")
    let bytes = try RowCoder<Derived>.binary().encode(derived)
    #expect(json(of: bytes) == #"{"base":{"id":5},"first":"five"}"#)
    let back = try bytes.withUnsafeBytes { try RowCoder<Derived>.binary().decode($0, 0) }
    #expect(back.id == 5 && back.name == "five")
  }

  private struct Failing: Codable {
    struct Refusal: Error {}
    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      try list.encode(["half", "written"])
      throw Refusal()
    }
  }

  @Test("A field that fails to encode is null; a field that is encoded twice counts once")
  func failing() throws {
    struct Row: Codable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Names.self)
        try container.encode(1, forKey: .first)
        try container.encode(2, forKey: .zz)
        #expect(throws: Failing.Refusal.self) {
          try container.encode(Failing(), forKey: .second)
        }
        try container.encode(3, forKey: .first)
      }
    }
    #expect(json(of: try binary(Row())) == #"{"zz":2,"first":3,"second":null}"#)
    #expect(throws: Failing.Refusal.self) { try binary([Failing()]) }
  }

  @Test("A container that is used after its value, or beside another kind, refuses values")
  func misuse() throws {
    final class Kept: @unchecked Sendable { var container: (any UnkeyedEncodingContainer)? }
    struct Inner: Codable {
      let kept: Kept
      init(_ kept: Kept) { self.kept = kept }
      init(from decoder: any Decoder) throws { kept = Kept() }
      func encode(to encoder: any Encoder) throws { kept.container = encoder.unkeyedContainer() }
    }
    struct Outer: Codable {
      let kept = Kept()
      init() {}
      init(from decoder: any Decoder) throws {}
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Names.self)
        try container.encode(Inner(kept), forKey: .first)
        #expect(throws: EncodingError.self) { try kept.container?.encode(1) }
        var single = encoder.singleValueContainer()
        #expect(throws: EncodingError.self) { try single.encode(1) }
        var list = encoder.unkeyedContainer()
        #expect(throws: EncodingError.self) { try list.encode(1) }
        try container.encode(2, forKey: .zz)
      }
    }
    let outer = Outer()
    #expect(json(of: try binary(outer)) == #"{"zz":2,"first":[]}"#)
    #expect(throws: EncodingError.self) { try outer.kept.container?.encode(1) }
    struct Nothing: Codable { func encode(to encoder: any Encoder) throws {} }
    #expect(throws: EncodingError.self) { try binary(Nothing()) }
  }

  @Test("A container that outlives its row finds nothing")
  func outliving() throws {
    final class Kept: @unchecked Sendable {
      var keyed: KeyedDecodingContainer<Names>?
      var list: (any UnkeyedDecodingContainer)?
      var decoder: (any Decoder)?
    }
    struct Row: Codable {
      nonisolated(unsafe) static var last = Kept()
      init() {}
      init(from decoder: any Decoder) throws {
        let keyed = try decoder.container(keyedBy: Names.self)
        (Self.last.keyed, Self.last.decoder) = (keyed, try keyed.superDecoder(forKey: .zz))
        Self.last.list = try keyed.nestedUnkeyedContainer(forKey: .list)
      }
      func encode(to encoder: any Encoder) throws {
        var keyed = encoder.container(keyedBy: Names.self)
        try keyed.encode([1], forKey: .list)
        try keyed.encode("a text that is long", forKey: .zz)
      }
    }
    _ = try row(Row.self, of: binary(Row()))
    let kept = Row.last
    #expect(throws: DecodingError.self) { try kept.keyed?.decode(String.self, forKey: .zz) }
    #expect(throws: DecodingError.self) { try kept.keyed?.decode([Int].self, forKey: .list) }
    #expect(throws: DecodingError.self) { try kept.list?.decode(Int.self) }
    #expect(throws: DecodingError.self) { try kept.decoder.map { try String(from: $0) } }
  }

  @Test("A container of a complete value finds nothing, whatever has taken its place")
  func closed() throws {
    final class Kept: @unchecked Sendable { var keyed: KeyedDecodingContainer<BinaryPathKey>? }
    struct Inner: Codable {
      nonisolated(unsafe) static var kept = Kept()
      init(from decoder: any Decoder) throws {
        let keyed = try decoder.container(keyedBy: BinaryPathKey.self)
        #expect(keyed.allKeys.isEmpty || keyed.contains(BinaryPathKey(stringValue: "a")))
        if Self.kept.keyed == nil { Self.kept.keyed = keyed }
      }
      func encode(to encoder: any Encoder) throws {}
    }
    struct Outer: Codable {
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        while !list.isAtEnd {
          _ = try list.decode(Inner.self)
          _ = try? list.superDecoder()
          let kept = try #require(Inner.kept.keyed)
          for name in ["a", "b", "longer than eight", ""] {
            let key = BinaryPathKey(stringValue: name)
            #expect(!kept.contains(key))
            #expect(throws: DecodingError.self) { try kept.decode(Int.self, forKey: key) }
            #expect(try kept.decodeIfPresent(String.self, forKey: key) == nil)
          }
          #expect(kept.allKeys.isEmpty)
        }
      }
      func encode(to encoder: any Encoder) throws {}
    }
    // Maps of all sizes, so that the end of the first one lies among the keys of the others.
    for first in 1...40 {
      Inner.kept = Kept()
      var row: [[String: Int]] = []
      for count in [first, 1, 40, first, 3] {
        let names = ["a"] + (1..<count).map { "\($0)" + String(repeating: "x", count: $0 % 11) }
        row += [Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }), [:]]
      }
      _ = try TreeRingTests.row(Outer.self, of: binary(row))
    }
  }

  @Test("The way to any item is found, from the beginning or from the way to another")
  func ways() throws {
    for seed in seeds(1...20) {
      var random = SeededGenerator(seed: seed)
      let bytes = try binary([BinarySample(&random), BinarySample(&random)])
      try bytes.withUnsafeBytes { bytes in
        let reader = CBORReader(bytes)
        var ways: [(offset: Int, path: [String])] = []
        func visit(_ offset: Int, _ path: [String]) throws {
          ways.append((offset, path))
          let head = try #require(reader.head(at: offset))
          guard head.kind == CBOR.Kind.map || head.kind == CBOR.Kind.array else { return }
          var at = head.end
          for index in 0..<Int(head.argument) {
            var name = "Index \(index)"
            if head.kind == CBOR.Kind.map {
              let key = try #require(reader.head(at: at))
              let text = try #require(reader.contents(of: key))
              name = String(decoding: bytes[text], as: UTF8.self)
              at = text.upperBound
            }
            try visit(at, path + [name])
            at = reader.skip(at)
          }
        }
        try visit(CBOR.mark.count, [])
        var walk = BinaryPathWalk()
        for (offset, path) in ways + ways.reversed() + ways.shuffled(using: &random) {
          let found = walk.path(to: offset, in: reader)
          #expect(found.map(\.stringValue) == path, "seed \(seed), offset \(offset)")
        }
      }
    }
  }

  @Test("Errors of a type have the paths that the JSON decoder gives them")
  func paths() throws {
    struct Leaf: Codable { var n: Int }
    struct Tree: Codable { var leaves: [[Leaf]], byName: [String: Leaf], date: Date }
    struct Text: Codable { var n: String }
    struct Wrong: Codable { var leaves: [[Text]], byName: [String: Text], date: String }
    struct Lists: Codable { var leaves: [Text], byName: [String: Leaf], date: Date }
    struct Missing: Codable { var leaves: [[Leaf]], byName: [String: Other], date: Date }
    struct Other: Codable { var m: Int }
    let tree = Tree(
      leaves: [[Leaf(n: 1)], [Leaf(n: 2), Leaf(n: 3)]], byName: ["k": Leaf(n: 4)], date: .now)
    let json = try RowCoder<Tree>.json().encode(tree)
    let bytes = try binary(tree)
    func path(_ body: () throws -> Void) -> [String]? {
      do { try body() } catch let error as DecodingError {
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
          .keyNotFound(_, let context), .dataCorrupted(let context):
          return context.codingPath.map(\.stringValue)
        @unknown default: return nil
        }
      } catch {}
      return nil
    }
    func check<Row: Codable & SendableMetatype>(_: Row.Type, _ expected: [String]) {
      #expect(path { _ = try row(Row.self, of: bytes) } == expected)
      #expect(path { _ = try row(Row.self, of: json) } == expected)
    }
    check(Wrong.self, ["leaves", "Index 0", "Index 0", "n"])
    check(Lists.self, ["leaves", "Index 0"])
    check(Missing.self, ["byName", "k"])
    check([Int].self, [])
  }
}
