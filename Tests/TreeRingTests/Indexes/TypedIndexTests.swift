// Handles of indexes of every kind: their declarations, and their agreement with the definitions in
// the store.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

private struct Article: Codable, Hashable, Sendable {
  var name: String
  var n = 0
  var shelf: String?
  var tags: [String] = []
  var expires: Date?
}

private let articles = Bucket<Article>("articles")

@Suite("Typed indexes", .leavesSoundStores)
struct TypedIndexTests {
  private let byTag = Index(
    "byTag", on: articles, version: 1, groups: \.tags, by: .descending(\.n), .ascending(\.name))

  private func fill(_ store: Store) throws {
    try store.write { tx in
      try tx.put(Article(name: "a", n: 1, tags: ["x", "y"]), for: "a", in: articles)
      try tx.put(Article(name: "b", n: 2, shelf: "s", tags: ["y"]), for: "b", in: articles)
      try tx.put(Article(name: "c", n: 2, tags: ["y"]), for: "c", in: articles)
    }
  }

  @Test("A row may be in several groups, and further values order equal ones")
  func groups() throws {
    let store = try Store.tiny(indexes: [byTag])
    try fill(store)
    let reader = try store.snapshot()[byTag]
    #expect(try reader.rows(in: "y").map(\.name) == ["b", "c", "a"])
    #expect(try reader.rows(in: "x").map(\.name) == ["a"])
    #expect(try reader.groups().map(\.group) == ["x", "y"])
    #expect(try reader.rank(of: 1, in: "y") == 2)
  }

  @Test("An index may be in the order of insertion, newest first")
  func created() throws {
    let newest = Index(
      "newest", on: articles, version: 1, group: { _ in "all" }, by: .created.reversed)
    let store = try Store.tiny(indexes: [newest])
    for name in ["b", "a", "c"] {
      try store.write { try $0.put(Article(name: name), for: name, in: articles) }
    }
    #expect(try store.snapshot()[newest].rows(in: "all", limit: 2).map(\.name) == ["c", "a"])
  }

  @Test("A unique index gives one row or nil, and refuses a second row")
  func unique() throws {
    let byName = UniqueIndex("byName", on: articles, version: 1, of: \.name)
    let byShelf = UniqueIndex(named: "byShelf", on: articles, of: String.self)
    let store = try Store.tiny(indexes: [byName])
    try store.define("byShelf", FieldIndex(on: articles, group: "shelf", order: []).unique())
    try fill(store)
    let snapshot = try store.snapshot()
    #expect(try snapshot[byName].row("b")?.n == 2)
    #expect(try snapshot[byName].row("z") == nil)
    #expect(try snapshot[byName].key("b") == "b")
    #expect(try snapshot[byName].count == 3)
    #expect(try snapshot[byShelf].row("s")?.name == "b")
    let refused = code {
      try store.write { tx in
        try tx.put(Article(name: "b"), for: "d", in: articles)
        #expect(code { _ = try tx[byName].row("b") } == nil)
      }
    }
    #expect(refused == .notUnique)
    try store.define("plain", FieldIndex(on: articles, group: "name", order: []))
    let plain = UniqueIndex(named: "plain", on: articles, of: String.self)
    #expect(code { try snapshot[plain] } == .notFound)
    #expect(code { try store.snapshot()[plain] } == .invalidInput)
  }

  @Test("Filters, references, expiries and manual indexes have handles")
  func kinds() throws {
    let shelves = Bucket<Article>("shelves")
    let store = try Store.tiny(indexes: [byTag])
    try store.write { try $0.put(Article(name: "s"), for: "s", in: shelves) }
    try store.define("shelf", Reference(on: articles, field: "shelf", to: shelves))
    try store.define("expiry", Expiry(on: articles, field: "expires"))
    try store.define("manual", ManualIndex(on: articles))
    try store.define(
      "only b", FieldFilter(of: "byTag", where: [FieldIndex.Condition("name", in: ["b"])]))
    try fill(store)
    let date = Date(timeIntervalSince1970: 4e9)
    try store.write { tx in
      try tx.put(Article(name: "d", expires: date), for: "d", in: articles)
      try tx.group(7, of: "manual").append(RowID("c", in: articles))
    }
    let snapshot = try store.snapshot()
    let shelf = Index(named: "shelf", on: articles, group: Key.self)
    #expect(try snapshot[shelf].rows(in: "s").map(\.name) == ["b"])
    let expiry = Index(
      named: "expiry", on: articles, group: GroupName.self, by: .ascending(Timestamp.self))
    let due = try snapshot[expiry].rows(in: Expiry.group, where: .between(...Timestamp(date)))
    #expect(due.map(\.name) == ["d"])
    #expect(try snapshot[expiry].count(in: Expiry.group, where: .before(Timestamp(date))) == 0)
    let manual = Index(named: "manual", on: articles, group: Int.self)
    #expect(try snapshot[manual].rows(in: 7).map(\.name) == ["c"])
    let filter = Index(named: "only b", on: articles, group: String.self, by: .descending(Int.self))
    #expect(try snapshot[filter].rows(in: "y", where: .equal(2)).map(\.name) == ["b"])
    let dates = Index(named: "expiry", on: articles, group: String.self, by: .ascending(Date.self))
    #expect(code { try snapshot[dates] } == .invalidInput)
    let ordered = Index(named: "manual", on: articles, group: Int.self, by: .ascending(Int.self))
    #expect(code { try snapshot[ordered] } == .invalidInput)
  }

  @Test("A handle that contradicts the definition is refused")
  func contradictions() throws {
    let store = try Store.tiny(indexes: [byTag])
    try fill(store)
    try store.define("n", FieldIndex(on: articles, group: "name", order: [.init("n")]))
    try store.define("unordered", FieldIndex(on: articles, group: "name", order: []))
    let snapshot = try store.snapshot()
    let down = Index(named: "n", on: articles, group: String.self, by: .descending(Int.self))
    #expect(error { try snapshot[down] }?.message.contains("ordered by n ascending") == true)
    let other = Index(named: "n", on: Bucket<Article>("others"), group: String.self)
    #expect(code { try snapshot[other] } == .invalidInput)
    let none = Index(named: "unordered", on: articles, group: String.self, by: .ascending(Int.self))
    #expect(code { try snapshot[none] } == .invalidInput)
    let dates = Index(named: "n", on: articles, group: Date.self)
    #expect(code { _ = try snapshot[dates].groups() } == .invalidInput)
    let later = Index("byTag", on: articles, version: 2, groups: \.tags, by: .ascending(\.n))
    #expect(code { try snapshot[later] } == .invalidInput)
    try store.register(later)
    #expect(try store.snapshot()[later].rows(in: "y").map(\.n) == [1, 2, 2])
    let numbers = Index(named: "n", on: articles, group: Int.self)
    #expect(code { _ = try snapshot[numbers].groups() } == .invalidInput)
    let plain = Index(named: "n", on: articles, group: String.self)
    #expect(try snapshot[plain].rows(in: "a").count == 1)
  }

  @Test("Values longer than a sort key are compared by its bytes")
  func longValues() throws {
    let byName = Index("byName", on: articles, version: 1, group: \.n, by: .ascending(\.name))
    let store = try Store.tiny(indexes: [byName])
    let long = String(repeating: "a", count: 600)
    try store.write { tx in
      for name in [long, long + "b", "b"] {
        try tx.put(Article(name: name), for: name.count, in: articles)
      }
    }
    let reader = try store.snapshot()[byName]
    #expect(try reader.count(in: 0, where: .equal(long)) == 2)
    #expect(try reader.count(in: 0, where: .prefix(long)) == 2)
    #expect(try reader.count(in: 0, where: .after(long)) == 1)
    #expect(try reader.rank(of: long, in: 0) == 0)
  }

  @Test("One-sided conditions on fields select scalars of the same kind")
  func mixedFields() throws {
    let rows = Bucket<[UInt8]>.bytes("rows")
    let store = try Store.tiny()
    try store.define("v", FieldIndex(on: rows, group: "g", order: [.init("v")]))
    try store.define(
      "down", FieldIndex(on: rows, group: "g", order: [.init("v", descending: true)]))
    let values = ["null", "false", "true", "-3", "0", "7.5", "\"a\"", "\"b\"", "[1]"]
    try store.write { tx in
      for (number, value) in values.enumerated() {
        try tx.put(Array("{\"g\":1,\"v\":\(value)}".utf8), for: number, in: rows)
      }
    }
    let snapshot = try store.snapshot()
    func check<Value: SortValue>(_ condition: ValueCondition<Value>, _ count: Int) throws {
      let up = Index(named: "v", on: rows, group: Int.self, by: .ascending(Value.self))
      let down = Index(named: "down", on: rows, group: Int.self, by: .descending(Value.self))
      #expect(try snapshot[up].count(in: 1, where: condition) == count)
      #expect(try snapshot[down].count(in: 1, where: condition) == count)
    }
    try check(ValueCondition<Double>.between((-1)...), 2)
    try check(ValueCondition<Int>.between(...0), 2)
    try check(ValueCondition<String>.after("a"), 1)
    try check(ValueCondition<String>.prefix(""), 2)
    try check(ValueCondition<Bool>.after(false), 1)
    try check(ValueCondition<Int>.absent, 1)
  }

  @Test("The natural closure of an index compiles")
  func naturalClosures() throws {
    let several = GroupIndex("several", on: articles, version: 1) { i in
      if i.n == 0 { return nil }
      return Place(in: i.name, by: .ascending(i.n))
    }
    let optional = GroupIndex("optional", on: articles, version: 1) { i in
      guard let shelf = i.shelf else { return nil }
      return Place(in: shelf)
    }
    let metadata = GroupIndex("metadata", on: articles, version: 1) { i in
      if i.metadata == nil { return nil }
      return Place(in: i.row.name)
    }
    let computed = GroupIndex("computed", on: articles, version: 1) { i in
      let double = i.n * 2
      return Place(in: double, by: .ascending(i.name))
    }
    let store = try Store.tiny(indexes: [several, optional, metadata, computed])
    try fill(store)
    let snapshot = try store.snapshot()
    #expect(try snapshot.index("several").groups() == ["a", "b", "c"])
    #expect(try snapshot.index("optional").groups() == ["s"])
    #expect(try snapshot.index("metadata").isEmpty)
    #expect(try snapshot.index("computed").count(in: 4) == 2)
  }
}
