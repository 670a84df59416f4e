// A naive text index: it cuts every row into words anew, looks for phrases word by word, and adds
// up scores as the definition of BM25 states them.

import Foundation
import TestSupport

@testable import TreeRing
@testable import TreeRingLog

/// Rows with texts, in the order of their creation.
struct TextModel {
  struct Row {
    /// The number of the creation; greater for rows created later.
    var created: Int
    /// The texts of each field.
    var fields: [[String]]
  }

  let index: TextIndex
  var rows: [Key: Row] = [:]
  var creations = 0

  mutating func put(_ key: Key, _ fields: [[String]]) {
    creations += 1
    rows[key] = Row(created: rows[key]?.created ?? creations, fields: fields)
  }

  /// The terms of each field by position.
  private func terms(_ row: Row) -> [[Int: [UInt8]]] {
    row.fields.reversed().map { texts in
      var terms: [Int: [UInt8]] = [:]
      var next = 0
      for (number, text) in texts.enumerated() {
        let first = number == 0 ? 0 : next + 2
        let found = index.tokenizer.tokens(of: text)
        for term in found { terms[term.position + first] = term.term }
        next = first + (found.last.map { $0.position + 1 } ?? 0)
      }
      return terms
    }
  }

  typealias Found = [(key: Key, score: Double)]

  /// The hits of a query, the best first.
  func find(_ query: TextQuery) throws -> Found {
    let documents = rows.mapValues { terms($0) }.filter { $1.contains { !$0.isEmpty } }
    let lengths = documents.mapValues { $0.reduce(0) { $0 + $1.count } }
    let mean = Double(lengths.values.reduce(0, +)) / Double(max(1, documents.count))
    let plan = try TextPlan(query, of: index)
    guard let root = plan.root else { return [] }
    var starts: [[Key: [[Int]]]] = plan.phrases.map { phrase in
      documents.mapValues { self.starts(of: phrase, in: $0) }
    }
    let counts = starts.map { $0.values.count { $0.contains { !$0.isEmpty } } }
    for (numbers, distance) in nears(root) {
      for key in documents.keys { trim(&starts, numbers, distance, key, plan) }
    }
    func matches(_ node: TextPlan.Node, _ key: Key) -> Bool {
      switch node {
      case .phrase(let number): starts[number][key]?.contains { !$0.isEmpty } ?? false
      case .and(let nodes): nodes.allSatisfy { matches($0, key) }
      case .or(let nodes): nodes.contains { matches($0, key) }
      case .not(let a, let b): matches(a, key) && !matches(b, key)
      case .near(let numbers, _): numbers.allSatisfy { matches(.phrase($0), key) }
      }
    }
    func score(_ node: TextPlan.Node, _ key: Key) -> Double {
      switch node {
      case .phrase(let number):
        let frequency = (starts[number][key] ?? []).enumerated().reduce(0.0) {
          $0 + Double(index.slots[$1.offset].weight * $1.element.count)
        }
        let (total, count) = (Double(documents.count), Double(counts[number]))
        let factor = max(1e-6, log((total - count + 0.5) / (count + 0.5)))
        let length = Double(lengths[key] ?? 0)
        return factor * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / mean))
      case .and(let nodes): return nodes.reduce(0) { $0 + score($1, key) }
      case .or(let nodes):
        return nodes.reduce(0) { $0 + (matches($1, key) ? score($1, key) : 0) }
      case .not(let a, _): return score(a, key)
      case .near(let numbers, _): return numbers.reduce(0) { $0 + score(.phrase($1), key) }
      }
    }
    return documents.keys.filter { matches(root, $0) }.map { ($0, score(root, $0)) }
      .sorted { $0.score > $1.score }
  }

  /// The positions at which a phrase begins in each field.
  private func starts(of phrase: TextPlan.Phrase, in fields: [[Int: [UInt8]]]) -> [[Int]] {
    fields.enumerated().map { field, terms in
      if phrase.fields >> UInt32(field) & 1 == 0 { return [] }
      return terms.keys.sorted().filter { start in
        phrase.parts.indices.allSatisfy { part in
          guard let term = terms[start + phrase.parts[part].offset] else { return false }
          let wanted = phrase.parts[part].term
          if phrase.isPrefix, part == phrase.parts.count - 1 {
            return term.starts(with: wanted) || term == phrase.stem
          }
          return term == wanted
        }
      }
    }
  }

  private func nears(_ node: TextPlan.Node) -> [([Int], Int)] {
    switch node {
    case .phrase: []
    case .and(let nodes), .or(let nodes): nodes.flatMap(nears)
    case .not(let a, let b): nears(a) + nears(b)
    case .near(let numbers, let distance): [(numbers, distance)]
    }
  }

  /// Keeps the occurrences that are part of a group: every choice of one occurrence of each phrase
  /// is looked at.
  private func trim(
    _ starts: inout [[Key: [[Int]]]], _ numbers: [Int], _ distance: Int, _ key: Key,
    _ plan: TextPlan
  ) {
    var kept = numbers.map { _ in index.fields.map { _ in Set<Int>() } }
    for field in index.fields.indices {
      var choices: [[Int]] = [[]]
      for number in numbers {
        let found = starts[number][key]?[field] ?? []
        choices = choices.flatMap { choice in found.map { choice + [$0] } }
      }
      for choice in choices {
        guard let last = choice.max() else { continue }
        let isGroup = zip(numbers, choice).allSatisfy { number, start in
          let span = (plan.phrases[number].parts.last?.offset ?? 0) + 1
          return start + span + distance >= last
        }
        if !isGroup { continue }
        for (position, start) in choice.enumerated() { kept[position][field].insert(start) }
      }
    }
    for (position, number) in numbers.enumerated() {
      starts[number][key] = kept[position].map { $0.sorted() }
    }
  }
}

/// Random queries and texts over a small vocabulary.
struct TextMaker {
  var random: SeededGenerator
  static let words = [
    "dune", "Dunes", "worm", "worms", "sand", "spice", "the", "the", "the", "of", "of", "Ä",
    "café", "CAFE", "naïve", "running", "runs", "沙丘", "沙漠之丘", "スパイス", "모래", "x1",
  ]

  mutating func word() -> String { Self.words.randomElement(using: &random) ?? "" }

  mutating func words(_ range: ClosedRange<Int>) -> String {
    (0..<Int.random(in: range, using: &random)).map { _ in word() }
      .joined(separator: [" ", ", ", "-"].randomElement(using: &random) ?? " ")
  }

  mutating func query(depth: Int = 2) -> TextQuery {
    switch Int.random(in: 0..<(depth == 0 ? 6 : 11), using: &random) {
    case 0...2: return .phrase(words(1...1))
    case 3: return .phrase(words(2...3))
    case 4: return .prefix(String(word().prefix(Int.random(in: 1...4, using: &random))))
    case 5:
      let count = Int.random(in: 1...3, using: &random)
      return .near(
        (0..<count).map { _ in words(1...2) }, within: Int.random(in: 0...4, using: &random))
    case 6: return .field(["title", "body"].randomElement(using: &random) ?? "", query(depth: 0))
    case 7: return .not(query(depth: depth - 1), query(depth: depth - 1))
    case 8, 9:
      return .and((0..<Int.random(in: 1...3, using: &random)).map { _ in query(depth: depth - 1) })
    default:
      return .or((0..<Int.random(in: 1...3, using: &random)).map { _ in query(depth: depth - 1) })
    }
  }
}
