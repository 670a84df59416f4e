// Conditions, ranks and counts of typed indexes against a sorted array: for every direction and
// position of absent values, by closures and by fields, now, in the past and inside a transaction.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

private struct Sample: Codable, Hashable, Sendable {
  var group: Int
  var number: Int
  var price: Double
  var name: String
  var due: Int?

  static func random(_ random: inout SeededGenerator) -> Sample {
    let letters = ["", "a", "b", "\u{0}", "é", "~", "\""]
    return Sample(
      group: Int.random(in: -1...1, using: &random),
      number: Int.random(in: -4...12, using: &random),
      price: Double(Int.random(in: -9...9, using: &random)) / 4,
      name: (0..<3).map { _ in letters.randomElement(using: &random) ?? "" }.joined(),
      due: Bool.random(using: &random) ? Int.random(in: -3...3, using: &random) : nil)
  }
}

private let samples = Bucket<Sample>("samples")

/// A condition, and the same as a predicate.
private struct Wanted<Value: SortValue & Comparable> {
  let condition: ValueCondition<Value>?
  let fits: (Value?) -> Bool
  let text: String

  static func random(_ random: inout SeededGenerator, _ a: Value, _ b: Value) -> Wanted {
    let (low, high) = (min(a, b), max(a, b))
    func present(_ fits: @escaping (Value) -> Bool) -> (Value?) -> Bool {
      { $0.map(fits) ?? false }
    }
    func wanted(
      _ text: String, _ condition: ValueCondition<Value>?, _ fits: @escaping (Value?) -> Bool
    ) -> Wanted { Wanted(condition: condition, fits: fits, text: "\(text) \(low) \(high)") }
    return switch Int.random(in: 0..<11, using: &random) {
    case 0: wanted("all", nil) { _ in true }
    case 1: wanted("equal", .equal(low), present { $0 == low })
    case 2: wanted("one of", .oneOf([a, b, a]), present { $0 == a || $0 == b })
    case 3: wanted("none of", .oneOf([])) { _ in false }
    case 4: wanted("absent", .absent) { $0 == nil }
    case 5: wanted("before", .before(low), present { $0 < low })
    case 6: wanted("after", .after(low), present { $0 > low })
    case 7: wanted("half-open", .between(low..<high), present { (low..<high).contains($0) })
    case 8: wanted("closed", .between(low...high), present { (low...high).contains($0) })
    case 9: wanted("from", .between(low...), present { $0 >= low })
    default: wanted("through", .between(...high), present { $0 <= high })
    }
  }
}

/// An index and the same order in the model.
private struct Subject<Value: SortValue & Comparable> {
  let index: Index<Sample, Int, Value>
  let value: (Sample) -> Value?
  let isDescending: Bool
  let nils: NilOrder

  func isBefore(_ a: Value?, _ b: Value?) -> Bool {
    switch (a, b) {
    case (nil, nil): false
    case (nil, _): nils == .first
    case (_, nil): nils == .last
    case (let a?, let b?): isDescending ? b < a : a < b
    }
  }

  /// Compares everything that the reader can be asked with the rows.
  func check(
    _ reads: some Readable, _ rows: [Key: Sample], _ random: inout SeededGenerator, _ label: String
  ) throws {
    let reader = try reads[index]
    let groups = Dictionary(grouping: rows, by: \.value.group)
    let counts = groups.map { (Key($0.key), $0.value.count) }.sorted { $0.0 < $1.0 }
    #expect(try reader.groups().map { Key($0.group) } == counts.map(\.0), "\(label)")
    #expect(try reader.groups().map(\.rows) == counts.map(\.1), "\(label)")
    for group in -1...2 {
      let sorted = (groups[group] ?? []).sorted { a, b in
        let (first, second) = (value(a.value), value(b.value))
        if isBefore(first, second) { return true }
        return !isBefore(second, first) && a.key < b.key
      }
      for _ in 0..<6 {
        let values = (0..<2).map { _ in
          sorted.randomElement(using: &random).flatMap { value($0.value) } ?? sure(&random)
        }
        let wanted = Wanted<Value>.random(&random, values[0], sure(&random))
        let fitting = sorted.filter { wanted.fits(self.value($0.value)) }
        let label = "\(label) \(wanted.text) in \(group)"
        let condition = wanted.condition
        #expect(try reader.count(in: group, where: condition) == fitting.count, "\(label)")
        let limit = Int.random(in: 0...4, using: &random)
        let found = try reader.entries(in: group, where: condition)
        #expect(found.map(\.key) == fitting.map(\.key), "\(label)")
        #expect(found.map(\.row) == fitting.map(\.value), "\(label)")
        let last = try reader.rows(in: group, where: condition, reversed: true, limit: limit)
        #expect(last == fitting.map(\.value).reversed().prefix(limit).map(\.self), "\(label)")
        #expect(try reader.first(in: group, where: condition) == fitting.first?.value, "\(label)")
        #expect(try reader.last(in: group, where: condition) == fitting.last?.value, "\(label)")
        let rank = values[1]
        let before = sorted.prefix { isBefore(self.value($0.value), rank) }.count
        #expect(try reader.rank(of: rank, in: group) == before, "\(label) rank of \(rank)")
      }
      if let (position, row) = sorted.enumerated().randomElement(using: &random) {
        #expect(try reader.index(of: row.key, in: group) == position, "\(label)")
      }
    }
  }

  /// A random value.
  private func sure(_ random: inout SeededGenerator) -> Value {
    while true {
      if let value = value(.random(&random)) { return value }
    }
  }
}

@Suite("Typed indexes against a model", .leavesSoundStores)
struct TypedIndexModelTests {
  private static func declared<Value: SortValue & Comparable>(
    _ name: String, _ order: RowOrder<Sample, Value>, _ isDescending: Bool, _ nils: NilOrder,
    _ value: @escaping @Sendable (Sample) -> Value?
  ) -> Subject<Value> {
    Subject(
      index: Index(name, on: samples, version: 1, group: \.group, by: order), value: value,
      isDescending: isDescending, nils: nils)
  }

  private static var numbers: [Subject<Int>] {
    [
      declared("number up", .ascending(\.number), false, .first) { $0.number },
      declared("number down", .descending(\.number), true, .first) { $0.number },
      declared("due up", .ascending(\.due), false, .first) { $0.due },
      declared("due down", .descending(\.due), true, .last) { $0.due },
      declared("due up, nil first", .ascending(\.due, nils: .first), false, .first) { $0.due },
      declared("due up, nil last", .ascending(\.due, nils: .last), false, .last) { $0.due },
      declared("due down, nil first", .descending(\.due, nils: .first), true, .first) { $0.due },
      declared("due down, nil last", .descending(\.due, nils: .last), true, .last) { $0.due },
      fields("number", .ascending(Int.self), .first) { $0.number },
      fields("number", .descending(Int.self), .last) { $0.number },
      fields("due", .ascending(Int.self), .first) { $0.due },
      fields("due", .descending(Int.self), .last) { $0.due },
    ]
  }
  private static var texts: [Subject<String>] {
    [
      declared("name up", .ascending(\.name), false, .first) { $0.name },
      declared("name down", .descending(\.name), true, .first) { $0.name },
      fields("name", .ascending(String.self), .first) { $0.name },
      fields("name", .descending(String.self), .last) { $0.name },
    ]
  }
  private static var prices: [Subject<Double>] {
    [
      declared("price down", .descending(\.price), true, .first) { $0.price },
      fields("price", .ascending(Double.self), .first) { $0.price },
      fields("price", .descending(Double.self), .last) { $0.price },
    ]
  }

  private static func fields<Value: SortValue & Comparable>(
    _ field: String, _ order: ValueOrder<Value>, _ nils: NilOrder,
    _ value: @escaping (Sample) -> Value?
  ) -> Subject<Value> {
    let name = "\(field)\(order.isDescending ? ":desc" : "")"
    return Subject(
      index: Index(named: name, on: samples, group: Int.self, by: order), value: value,
      isDescending: order.isDescending, nils: nils)
  }

  private func check(
    _ reads: some Readable, _ rows: [Key: Sample], _ random: inout SeededGenerator, _ label: String
  ) throws {
    for subject in Self.numbers {
      try subject.check(reads, rows, &random, "\(label), \(subject.index.name):")
    }
    for subject in Self.texts {
      try subject.check(reads, rows, &random, "\(label), \(subject.index.name):")
    }
    for subject in Self.prices {
      try subject.check(reads, rows, &random, "\(label), \(subject.index.name):")
    }
  }

  private func change(
    _ rows: inout [Key: Sample], _ tx: Transaction, _ random: inout SeededGenerator
  ) throws {
    for _ in 0..<8 {
      let key = Key(Int.random(in: 0..<40, using: &random))
      if Int.random(in: 0..<4, using: &random) == 0 {
        rows[key] = nil
        try tx.delete(key, in: samples)
      } else {
        let row = Sample.random(&random)
        rows[key] = row
        try tx.put(row, for: key, in: samples)
      }
    }
  }

  @Test("Conditions select what a filter of the sorted rows does", arguments: seeds(1...6))
  func conditions(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let declared: [GroupIndex] =
      Self.numbers.compactMap(\.index.groupIndex) + Self.texts.compactMap(\.index.groupIndex)
      + Self.prices.compactMap(\.index.groupIndex)
    let store = try Store.tiny(indexes: declared)
    for field in ["number", "due", "name", "price"] {
      for isDescending in [false, true] {
        try store.define(
          "\(field)\(isDescending ? ":desc" : "")",
          FieldIndex(
            on: samples, group: "group", order: [.init(field, descending: isDescending)]))
      }
    }
    var rows: [Key: Sample] = [:]
    var states: [(CommitNumber, [Key: Sample])] = []
    for step in 0..<5 {
      let written = try store.write { tx in
        for part in 0..<2 {
          try change(&rows, tx, &random)
          try check(
            tx, rows, &random, "seed \(seed), step \(step), part \(part) of the transaction")
        }
      }
      states.append((written.commit, rows))
      try check(store.snapshot(), rows, &random, "seed \(seed), step \(step)")
    }
    for (commit, rows) in states.shuffled(using: &random).prefix(2) {
      let snapshot = try store.snapshot(at: .commit(commit))
      try check(snapshot, rows, &random, "seed \(seed), commit \(commit)")
    }
    #expect(try store.checkInvariants() == [])
  }

  @Test("A prefix selects the texts that begin with it", arguments: seeds(1...6))
  func prefixes(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.tiny(indexes: Self.texts.compactMap(\.index.groupIndex))
    for isDescending in [false, true] {
      try store.define(
        "name\(isDescending ? ":desc" : "")",
        FieldIndex(on: samples, group: "group", order: [.init("name", descending: isDescending)]))
    }
    var rows: [Key: Sample] = [:]
    for _ in 0..<6 { try store.write { try change(&rows, $0, &random) } }
    let snapshot = try store.snapshot()
    for subject in Self.texts {
      for prefix in ["", "a", "ab", "\u{0}", "é", "~", "~~~", "zz", "\""] {
        let wanted = rows.filter {
          $0.value.group == 0 && $0.value.name.unicodeScalars.starts(with: prefix.unicodeScalars)
        }
        let found = try snapshot[subject.index].entries(in: 0, where: .prefix(prefix))
        #expect(
          Set(found.map(\.key)) == Set(wanted.keys),
          "seed \(seed), \(subject.index.name): prefix \(prefix)")
        #expect(try snapshot[subject.index].count(in: 0, where: .prefix(prefix)) == wanted.count)
      }
    }
  }
}
