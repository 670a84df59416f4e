// Errors for an index that is not there name those that would serve.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

private struct Article: Codable, Hashable, Sendable {
  var name: String
  var n = 0
  var shelf: String?
}

private let articles = Bucket<Article>("articles")

@Suite("Advice on indexes", .leavesSoundStores)
struct IndexAdviceTests {
  private let byName = Index("byName", on: articles, version: 1, group: \.name)

  private static let ordered = "ordered (articles: field name by n descending, shelf, sums of n); "
  private static let filters =
    "shelved (articles: filter of ordered where shelf=s, field name by n descending, shelf, sums "
    + "of n); some (articles: field shelf where name=a,b)"

  private func message(_ body: () throws -> Void) -> String {
    do {
      try body()
      return "no error"
    } catch let error as TreeRingError {
      return "\(error.code): \(error.message)"
    } catch {
      return "\(error)"
    }
  }

  private func store() throws -> Store {
    let store = try Store.tiny()
    try store.write { tx in
      try tx.define(
        "ordered",
        FieldIndex(
          on: articles, group: "name",
          order: [.init("n", descending: true), .init("shelf")]
        ).summing("n"))
      try tx.define("shelved", FieldFilter(of: "ordered", where: [.init("shelf", in: ["s"])]))
      try tx.define(
        "some",
        FieldIndex(
          on: articles, group: "shelf", order: [], where: [.init("name", in: ["a", "b"])]))
      try tx.define(
        "other", FieldIndex(on: "others", group: "n", order: [.init("shelf")]).unique())
      try tx.define(TextIndex("words", on: articles, fields: ["name"]))
    }
    return store
  }

  @Test("A handle's error names the indexes of its bucket, with their groups and orders")
  func handles() throws {
    let store = try store()
    let all =
      "notFound: There is no index named byName. The bucket articles has \(Self.ordered)"
      + "\(Self.filters). The handle declares byName: give it to `Store(at:indexes:)` or "
      + "`register`."
    #expect(message { _ = try store.snapshot()[byName] } == all)
    try store.write { tx in #expect(message { _ = try tx[byName] } == all) }
    let named = UniqueIndex(named: "n", on: Bucket<Article>("others"), of: Int.self)
    #expect(
      message { _ = try store.snapshot()[named] }
        == "notFound: There is no index named n. The bucket others has other (others: field n by "
        + "shelf, unique).")
    let nowhere = Index(named: "x", on: Bucket<Article>("none"), group: String.self)
    #expect(
      message { _ = try store.snapshot()[nowhere] }
        == "notFound: There is no index named x. The bucket none has no index with groups.")
  }

  @Test("A name that is a bucket's is answered with its indexes, a field's with those by it first")
  func names() throws {
    let store = try store()
    let snapshot = try store.snapshot()
    #expect(
      message { _ = try snapshot.index("others") }
        == "notFound: There is no index named others. The bucket others has other (others: field n "
        + "by shelf, unique).")
    #expect(
      message { _ = try snapshot.index("nme") }
        == "notFound: There is no index named nme. The store has "
        + "\(Self.ordered)other (others: field n by shelf, unique); \(Self.filters).")
    #expect(
      message { _ = try snapshot.index("name") }.hasPrefix(
        "notFound: There is no index named name. The store has ordered (articles: field name"))
    #expect(
      message { _ = try snapshot.text("x") }
        == "notFound: There is no index named x. The store has words (articles: words of name).")
    #expect(
      message { _ = try Store.tiny().snapshot().index("x") }
        == "notFound: There is no index named x. The store has no index.")
  }

  @Test("A field without an index is answered with those that read it first, then the others")
  func fields() throws {
    let snapshot = try store().snapshot()
    #expect(try snapshot.index(byField: "name", in: articles).name == "ordered")
    let unserved = message { _ = try snapshot.index(byField: "shelf", in: articles) }
    #expect(
      unserved.hasPrefix(
        "notFound: No index of the bucket articles has the field shelf as its group. The bucket "
          + "articles has ordered (articles: field name by n descending, shelf, sums of n); some "
          + "(articles: field shelf where name=a,b); shelved ("), "\(unserved)")
    #expect(unserved.hasSuffix(". Define a FieldIndex whose group is shelf."), "\(unserved)")
  }

  @Test("Of many indexes eight are described, 24 named, and the others counted")
  func many() throws {
    let store = try Store.tiny()
    try store.write { tx in
      for number in 100..<140 {
        try tx.define(
          "i\(number)",
          FieldIndex(on: articles, group: "g\(number)", order: [.init("f\(number)")]))
      }
    }
    let found = message { _ = try store.snapshot().index(byField: "f139", in: articles) }
    #expect(
      found.contains("has i139 (articles: field g139 by f139); i100 (articles: field g100 by"))
    #expect(found.contains("i106 (articles: field g106 by f106); and i107, i108, "))
    #expect(found.contains(", i130, and 8 more. Define"), "\(found)")
  }

  @Test("Conditions are answered with the indexes that serve an equality, or the one to define")
  func conditions() throws {
    let indexes = try store().snapshot().indexes
    func advice(_ conditions: [String], _ bucket: String = "articles") throws -> String {
      try indexes.advice(on: conditions, in: bucket)
    }
    #expect(
      try advice(["n>3", "name=a"])
        == "Read the rows by a group of ordered (articles: field name by n descending, shelf, sums "
        + "of n).")
    #expect(
      try advice(["shelf=s", "n<3"])
        == "No index serves the conditions. Define one of the bucket articles by fields, with the "
        + "group shelf and the order n.")
    #expect(
      try advice(["n=1"], "none")
        == "No index serves the conditions. Define one of the bucket none by fields, with the "
        + "group n.")
    #expect(
      try advice(["name^=a"])
        == "No index serves conditions without an equality; add one with FIELD=VALUE.")
  }
}
