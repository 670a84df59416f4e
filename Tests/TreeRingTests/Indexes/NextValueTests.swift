// Conditions on several sort values, and on the values of unique indexes, against filtered rows.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

private struct Book: Codable, Hashable, Sendable {
  var shelf: String
  var author: String
  var year: Int?
  var title: String
}

private let books = Bucket<Book>("books")

@Suite("Conditions on further values", .leavesSoundStores)
struct NextValueTests {
  private let declared = Index(
    "declared", on: books, version: 1, group: \.shelf, by: .descending(\.author),
    .ascending(\.year, nils: .last), .ascending(\.title), .created)
  private let fields = Index(
    named: "fields", on: books, group: String.self, by: .descending(String.self))

  private func store(_ random: inout SeededGenerator) throws -> Store {
    let store = try Store.tiny(indexes: [declared.summing { $0.year ?? 0 }])
    try store.define(
      "fields",
      FieldIndex(
        on: books, group: "shelf",
        order: [.init("author", descending: true), .init("year"), .init("title")]))
    let texts = ["", "a", "ab", "b", "\u{0}", "é"]
    for _ in 0..<12 {
      try store.write { tx in
        for _ in 0..<8 {
          func text() -> String { texts.randomElement(using: &random) ?? "" }
          let year = Bool.random(using: &random) ? Int.random(in: -3...3, using: &random) : nil
          let book = Book(shelf: "s", author: text(), year: year, title: text() + text())
          try tx.put(book, for: Int.random(in: 0..<90, using: &random), in: books)
        }
      }
    }
    return store
  }

  /// A condition, and the same as a predicate.
  private typealias Wanted = (
    text: String, condition: ValueCondition<String>, fits: (Book) -> Bool
  )

  private func wanted(
    _ text: String, _ condition: ValueCondition<String>, _ fits: @escaping (Book) -> Bool
  ) -> Wanted {
    (text, condition, fits)
  }

  private var all: [Wanted] {
    [
      wanted("author and year", .equal("a", and: .equal(2))) { $0.author == "a" && $0.year == 2 },
      wanted("before", .equal("ab", and: .before(1))) { $0.author == "ab" && ($0.year ?? 9) < 1 },
      wanted("after", .equal("", and: .after(-1))) { $0.author == "" && ($0.year ?? -9) > -1 },
      wanted("range", .equal("é", and: .between(-2...1))) {
        $0.author == "é" && (-2...1).contains($0.year ?? 9)
      },
      wanted("absent", .equal("b", and: ValueCondition<Int>.absent)) {
        $0.author == "b" && $0.year == nil
      },
      wanted("several", .oneOf(["a", "\u{0}", "a"], and: .oneOf([0, 3, 1]))) {
        ["a", "\u{0}"].contains($0.author) && [0, 1, 3].contains($0.year)
      },
      wanted("none", .oneOf([], and: .after(0))) { _ in false },
      wanted("third", .equal("a", and: .oneOf([1, 2], and: .prefix("a")))) {
        $0.author == "a" && [1, 2].contains($0.year) && $0.title.hasPrefix("a")
      },
      wanted("third after", .oneOf(["a", "b"], and: .equal(1, and: .after("aa")))) {
        ["a", "b"].contains($0.author) && $0.year == 1
          && Array("aa".utf8).lexicographicallyPrecedes(Array($0.title.utf8))
      },
    ]
  }

  private func check(
    _ reader: TypedIndexReader<Book, String, String>, _ label: String
  ) throws {
    let rows = try reader.entries(in: "s")
    for (text, condition, fits) in all {
      let fitting = rows.filter { fits($0.row) }.map(\.key)
      let label = "\(label), \(text)"
      #expect(try reader.entries(in: "s", where: condition).map(\.key) == fitting, "\(label)")
      #expect(try reader.count(in: "s", where: condition) == fitting.count, "\(label)")
      let last = try reader.entries(in: "s", where: condition, reversed: true, limit: 2)
      #expect(last.map(\.key) == Array(fitting.reversed().prefix(2)), "\(label)")
      #expect(try reader.count(in: "none", where: condition) == 0, "\(label)")
    }
  }

  @Test(
    "A condition on the next values selects the rows that a filter does, in code and by fields",
    arguments: seeds(1...6))
  func conditions(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try store(&random)
    for point in [ReadPoint.commit(8), .commit(store.newestCommit)] {
      let snapshot = try store.snapshot(at: point)
      try check(snapshot[declared.summing { $0.year ?? 0 }], "declared, seed \(seed)")
      try check(snapshot[fields], "fields, seed \(seed)")
    }
    let reader = try store.snapshot()[declared.summing { $0.year ?? 0 }]
    let sum = try reader.entries(in: "s").map(\.row)
      .filter { $0.author == "a" && ($0.year ?? 0) > 0 }.reduce(0) { $0 + ($1.year ?? 0) }
    #expect(try reader.sum(in: "s", where: .equal("a", and: .after(0))).units == Int128(sum))
  }

  @Test("A condition on a value that the handle does not know is refused")
  func refusals() throws {
    var random = SeededGenerator(seed: 3)
    let snapshot = try store(&random).snapshot()
    func code(_ body: () throws -> Void) -> TreeRingError.Code? {
      do {
        try body()
        return nil
      } catch {
        return (error as? TreeRingError)?.code
      }
    }
    let declared = declared.summing { $0.year ?? 0 }
    func count(_ condition: ValueCondition<String>) throws {
      _ = try snapshot[declared].count(in: "s", where: condition)
    }
    #expect(code { try count(.equal("a", and: .equal("x"))) } == .invalidInput)
    let created = ValueCondition<Int>.equal(1, and: .equal("t", and: .equal(5)))
    #expect(code { try count(.equal("a", and: created)) } == .invalidInput)
    let named = Index(
      named: "declared", on: books, group: String.self, by: .descending(String.self))
    #expect(
      code { _ = try snapshot[named].count(in: "s", where: .equal("a", and: .equal(1))) }
        == .invalidInput)
    #expect(try snapshot[named].count(in: "s", where: .equal("none")) == 0)
  }

  @Test("A unique index gives the rows of several values, of ranges and of beginnings")
  func uniqueValues() throws {
    let byTitle = UniqueIndex("byTitle", on: books, version: 1, of: \.title)
    let byField = UniqueIndex(named: "byField", on: books, of: String.self)
    let store = try Store.tiny(indexes: [byTitle])
    try store.define("byField", FieldIndex(on: books, group: "title", order: []).unique())
    let titles = ["", "A", "Aa", "A\u{0}", "A\u{0}b", "B", "Bé", "C", "a", "é"]
    try store.write { tx in
      for (number, title) in titles.shuffled().enumerated() {
        try tx.put(
          Book(shelf: "s", author: "x", year: nil, title: title), for: number, in: books)
      }
    }
    let sorted = titles.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
    func isBefore(_ a: String, _ b: String) -> Bool {
      Array(a.utf8).lexicographicallyPrecedes(Array(b.utf8))
    }
    let snapshot = try store.snapshot()
    for reader in [try snapshot[byTitle], try snapshot[byField]] {
      func check(_ condition: ValueCondition<String>, _ fits: (String) -> Bool) throws {
        let fitting = sorted.filter(fits)
        #expect(try reader.rows(where: condition).map(\.title) == fitting)
        #expect(try reader.count(where: condition) == fitting.count)
        let last = try reader.rows(where: condition, reversed: true, limit: 3).map(\.title)
        #expect(last == Array(fitting.reversed().prefix(3)))
      }
      #expect(try reader.rows(["C", "none", "A", "C"]).map(\.title) == ["C", "A", "C"])
      for text in titles + ["AA", "Z"] {
        try check(.equal(text)) { $0 == text }
        try check(.before(text)) { isBefore($0, text) }
        try check(.after(text)) { isBefore(text, $0) }
        try check(.between(text...)) { !isBefore($0, text) }
        try check(.between(...text)) { !isBefore(text, $0) }
        try check(.prefix(text)) { Array($0.utf8).starts(with: Array(text.utf8)) }
        try check(.between("A"..<"B")) { !isBefore($0, "A") && isBefore($0, "B") }
      }
      try check(.oneOf(["B", "none", "A", "B"])) { ["A", "B"].contains($0) }
      try check(.absent) { _ in false }
      #expect(throws: TreeRingError.self) { try reader.rows(where: .equal("A", and: .equal(1))) }
    }
  }
}
