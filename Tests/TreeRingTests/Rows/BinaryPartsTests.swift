// Rows whose values are encoded through every kind of container, some of them filled long after
// their opening, against the tree of values that was encoded.

import Foundation
import TestSupport
import Testing

@testable import TreeRing

/// A tree of values.
private indirect enum Tree: Equatable {
  case number(Int)
  case list([Tree])
  case fields([String: Tree])

  /// The JSON of the tree, with keys in the order of binary rows.
  var json: String {
    switch self {
    case .number(let value): return "\(value)"
    case .list(let elements): return "[\(elements.map(\.json).joined(separator: ","))]"
    case .fields(let fields):
      let keys = fields.keys.sorted {
        ($0.utf8.count, $0) < ($1.utf8.count, $1)
      }
      return "{\(keys.map { "\"\($0)\":\(fields[$0]?.json ?? "")" }.joined(separator: ","))}"
    }
  }

  init(_ random: inout SeededGenerator, depth: Int) {
    let count = Int(random.next() % (random.next() % 16 == 0 ? 40 : 5))
    switch random.next() % (depth == 0 ? 1 : 3) {
    case 0: self = .number(random.edge())
    case 1: self = .list((0..<count).map { _ in Tree(&random, depth: depth - 1) })
    default:
      let names = (0..<count).map { _ in
        String("abcdefghijklmnopq".prefix(Int(random.next() % 18))) + "\(random.next() % 40)"
      }
      self = .fields(
        Dictionary(names.map { ($0, Tree(&random, depth: depth - 1)) }) { $1 })
    }
  }
}

/// The rest of the work of an `encode(to:)`, done in any order.
private final class Later {
  var random: SeededGenerator
  private var tasks: [() throws -> Void] = []

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  func add(_ task: @escaping () throws -> Void) { tasks.append(task) }

  func doSome() throws {
    while !tasks.isEmpty, random.chance() { try doOne() }
  }

  func doAll() throws {
    while !tasks.isEmpty { try doOne() }
  }

  private func doOne() throws {
    try tasks.remove(at: Int.random(in: tasks.indices, using: &random))()
  }
}

/// A tree that encodes itself in a way that a seed chooses.
private struct Encoded: Codable {
  struct Refusal: Error {}

  var tree: Tree
  var seed: UInt64
  /// Whether it throws after it has encoded itself.
  var fails = false

  init(_ tree: Tree, seed: UInt64, fails: Bool = false) {
    (self.tree, self.seed, self.fails) = (tree, seed, fails)
  }

  init(from decoder: any Decoder) throws { throw Refusal() }

  func encode(to encoder: any Encoder) throws {
    let later = Later(seed: seed)
    switch tree {
    case .number(let value):
      var single = encoder.singleValueContainer()
      try single.encode(value)
    case .list(let elements): try fill(encoder.unkeyedContainer(), elements, later)
    case .fields(let fields):
      try fill(encoder.container(keyedBy: BinaryPathKey.self), fields, later)
    }
    if fails { throw Refusal() }
    try later.doAll()
  }

  private func fill(
    _ container: any UnkeyedEncodingContainer, _ elements: [Tree], _ later: Later
  ) throws {
    var container = container
    for element in elements {
      try later.doSome()
      switch (later.random.next() % 4, element) {
      case (0, .list(let inner)):
        let list = container.nestedUnkeyedContainer()
        later.add { try fill(list, inner, later) }
      case (0, .fields(let inner)):
        let map = container.nestedContainer(keyedBy: BinaryPathKey.self)
        later.add { try fill(map, inner, later) }
      case (1, _):
        let (part, seed) = (container.superEncoder(), later.random.next())
        later.add { try Encoded(element, seed: seed).encode(to: part) }
      default: try container.encode(Encoded(element, seed: later.random.next()))
      }
    }
  }

  private func fill(
    _ container: KeyedEncodingContainer<BinaryPathKey>, _ fields: [String: Tree], _ later: Later
  ) throws {
    var container = container
    for (name, value) in fields {
      try later.doSome()
      let key = BinaryPathKey(stringValue: name)
      // A value that fails leaves nothing behind, nor do the parts that it had opened.
      if later.random.next() % 8 == 0 {
        let failing = Encoded(value, seed: later.random.next(), fails: true)
        #expect(throws: Refusal.self) { try container.encode(failing, forKey: key) }
      }
      switch (later.random.next() % 4, value) {
      case (0, .list(let inner)):
        let list = container.nestedUnkeyedContainer(forKey: key)
        later.add { try fill(list, inner, later) }
      case (0, .fields(let inner)):
        let map = container.nestedContainer(keyedBy: BinaryPathKey.self, forKey: key)
        later.add { try fill(map, inner, later) }
      case (1, _):
        let (part, seed) = (container.superEncoder(forKey: key), later.random.next())
        later.add { try Encoded(value, seed: seed).encode(to: part) }
      default: try container.encode(Encoded(value, seed: later.random.next()), forKey: key)
      }
    }
  }
}

@Suite("Parts of binary rows") struct BinaryPartsTests {
  @Test("Values come out the same, whichever containers they went through and when")
  func model() throws {
    for seed in seeds(1...2_000) {
      var random = SeededGenerator(seed: seed)
      let tree = Tree(&random, depth: 4)
      let bytes = try binary(Encoded(tree, seed: random.next()))
      #expect(json(of: bytes) == tree.json, "seed \(seed)")
    }
  }

  @Test("A part of an outer value that lies where an inner value begins stays in the outer one")
  func touching() throws {
    struct Row: Codable {
      func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        var part = list.nestedUnkeyedContainer()
        try list.encode(Inner())
        try part.encode(1)
      }
    }
    struct Inner: Codable {
      func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        try list.encode(2)
      }
    }
    #expect(json(of: try binary(Row())) == "[[1],[2]]")
  }
}
