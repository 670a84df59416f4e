// Ranges of a group's rows by typed values, against a count of the rows before each bound.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Bounds in the order of an index by fields", .leavesSoundStores) struct SortBoundTests {
  private struct Item: Codable, Hashable {
    var group: String
    var number: Int?
    var text: String?
  }

  private static let items = Bucket<Item>("items")
  private static let texts = ["", "a", "ab", "a,b", "8", "é", "\u{1F600}", "null"]

  /// The order of two texts or numbers, absent ones first.
  private func order<V>(_ a: V?, _ b: V?, _ isLess: (V, V) -> Bool) -> Int {
    guard let a, let b else { return a == nil ? (b == nil ? 0 : -1) : 1 }
    return isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0
  }

  @Test("Positions are those of the rows within the bounds", arguments: seeds(1...8))
  func agreesWithCount(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let descending = [Bool.random(using: &random), Bool.random(using: &random)]
    let store = try Store.tiny()
    let index = try FieldIndex(
      on: Self.items, group: "group",
      order: [
        FieldIndex.Order("number", descending: descending[0]),
        FieldIndex.Order("text", descending: descending[1]),
      ])
    try store.define("items", index)
    try store.define("all", try FieldFilter(of: "items", where: [String]()))
    for _ in 0..<25 {
      try store.write { tx in
        for _ in 0..<12 {
          let item = Item(
            group: ["x", "y"].randomElement(using: &random) ?? "x",
            number: Int.random(in: 0..<5, using: &random) == 0
              ? nil : .random(in: -9...9, using: &random),
            text: Int.random(in: 0..<5, using: &random) == 0
              ? nil : Self.texts.randomElement(using: &random))
          try tx.put(
            item, for: Key("\(Int.random(in: 0..<90, using: &random))"), in: Self.items)
        }
      }
    }
    for commit in [store.newestCommit, 9, 17] {
      let snapshot = try store.snapshot(at: .commit(commit))
      let reader = try snapshot.index(["items", "all"].randomElement(using: &random) ?? "all")
      let items = try reader.rows(in: "x").map(Self.items.decode)
      /// The number of rows before a bound.
      func count(before number: Int?, _ text: String??) -> Int {
        items.count { item in
          let first = order(item.number, number, <) * (descending[0] ? -1 : 1)
          guard first == 0, let text else { return first < 0 }
          let isLess: (String, String) -> Bool = {
            $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars)
          }
          return order(item.text, text, isLess) * (descending[1] ? -1 : 1) < 0
        }
      }
      for _ in 0..<60 {
        var (bounds, counts): ([String?], [Int]) = ([], [])
        for isUpper in [false, true] {
          if Int.random(in: 0..<4, using: &random) == 0 {
            bounds.append(nil)
            counts.append(isUpper ? items.count : 0)
            continue
          }
          let number =
            Int.random(in: 0..<6, using: &random) == 0
            ? nil : Int.random(in: -10...10, using: &random)
          let typed = number.map { "\($0)" } ?? "null"
          if Bool.random(using: &random) {
            bounds.append(typed)
            counts.append(count(before: number, nil))
          } else {
            let text =
              Int.random(in: 0..<6, using: &random) == 0
              ? nil : Self.texts.randomElement(using: &random)
            bounds.append(typed + "," + (text.map { JSONScanner.quoted($0) } ?? "null"))
            counts.append(count(before: number, .some(text)))
          }
        }
        let positions = try snapshot.positions(
          in: "x", of: reader, from: bounds[0], to: bounds[1])
        #expect(
          positions == counts[0]..<max(counts[0], counts[1]),
          "seed \(seed), commit \(commit), \(bounds), \(descending)")
      }
      #expect(try snapshot.positions(in: "none", of: reader, from: "1", to: "2").isEmpty)
    }
  }

  @Test("Other values and other indexes are refused with a sentence")
  func refusals() throws {
    let store = try Store.tiny(indexes: [byGroup("code")])
    let index = try FieldIndex(
      bucket: "items", group: "group", order: "text,number:desc", where: [])
    try store.define("items", index)
    try store.define("unordered", FieldIndex(bucket: "items", group: "group", order: []))
    try store.define("manual", ManualIndex(on: Self.items))
    try store.write { tx in
      for (number, text) in ["a", "b,c", "8", nil].enumerated() {
        try tx.put(
          Item(group: "x", number: number, text: text), for: Key("\(number)"), in: Self.items)
      }
    }
    let snapshot = try store.snapshot()
    func message(_ name: String, _ bound: String) -> String? {
      let refusal = error {
        try snapshot.positions(in: "x", of: try snapshot.index(name), from: bound, to: nil)
      }
      return refusal?.code == .invalidInput ? refusal?.message : nil
    }
    #expect(message("items", "a,1,2")?.contains("3 values") == true)
    #expect(message("items", "b,1") == nil)
    #expect(message("items", "\"b,c\"") == nil)
    #expect(message("items", "9")?.contains("quotes") == true)
    #expect(message("items", "true")?.contains("strings in “text”") == true)
    #expect(message("items", "\"9\"") == nil)
    #expect(message("items", "null") == nil)
    #expect(message("items", "[1]")?.contains("no value") == true)
    #expect(message("items", "\"a\"b")?.contains("malformed") == true)
    #expect(message("unordered", "a")?.contains("by no field") == true)
    #expect(message("manual", "a")?.contains("not ordered by fields") == true)
    #expect(message("code", "a")?.contains("not ordered by fields") == true)
  }
}
