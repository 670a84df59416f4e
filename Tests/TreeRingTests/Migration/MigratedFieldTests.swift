// Definitions by fields over rows of several versions: they read rows as they are stored, since
// every process evaluates them, also one without the migrations. Rewriting the rows makes the
// migrated fields theirs.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

private struct Old: Codable { var name: String, owner: String?, ends: Double? }
private struct New: Codable, Equatable { var title: String, author: String?, expires: Double? }

private enum Books {
  static let old = Bucket<Old>("books")
  static let new = Bucket<New>(
    "books", version: 2,
    migrations: [
      Migration(
        from: 1, to: 2,
        fields: { fields in
          fields.rename("name", to: "title")
          fields.rename("owner", to: "author")
          fields.rename("ends", to: "expires")
        })
    ])
  static let authors = Bucket<[UInt8]>.bytes("authors")
}

@Suite("Fields of migrated rows", .leavesSoundStores) struct MigratedFieldTests {
  private let clock = ExpiryClock()

  /// A store with eight rows of version 1, k0 to k7, and one of version 2, n.
  private func store(author: String? = nil) throws -> Store {
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: ExpiryTests.options(clock))
    try store.write { tx in
      if let author { try tx.put(Array("{}".utf8), for: Key(author), in: Books.authors) }
      for number in 0..<8 {
        let ends = ExpiryClock.timestamp(10).date.timeIntervalSinceReferenceDate
        try tx.put(
          Old(name: "word \(number % 2)", owner: author, ends: ends), for: "k\(number)",
          in: Books.old)
      }
      try tx.put(New(title: "word 0", author: author, expires: nil), for: "n", in: Books.new)
    }
    return store
  }

  private func keys(_ rows: [StoredRow]) -> [String] { rows.map(\.key.description) }

  @Test(
    "An index by fields has a row by its stored fields, and by the migrated ones once rewritten")
  func fieldIndexes() throws {
    let store = try store()
    try store.define("title", FieldIndex(on: Books.new, group: "title", order: []))
    try store.define("name", FieldIndex(on: Books.new, group: "name", order: []))
    try store.define(TextIndex("words", on: Books.new, fields: ["title"]))
    let before = store.newestCommit
    let query = try TextQuery("word")
    func counts(_ snapshot: Snapshot) throws -> [Int] {
      let title = Index(named: "title", on: Books.new, group: String.self)
      // The rows of the index are of the present form all the same.
      for row in try snapshot[title].rows(in: "word 0") { #expect(row.title == "word 0") }
      return [
        try snapshot.index("title").count, try snapshot.index("name").count,
        try snapshot.text("words").find(query, limit: 20).count,
      ]
    }
    #expect(try counts(store.snapshot()) == [1, 8, 1])
    var isFirst = true
    try store.migrate(Books.new, batchCount: 3) { _ in
      defer { isFirst = false }
      return !isFirst
    }
    let half = try counts(store.snapshot())
    #expect(half[0] + half[1] == 9 && half[0] == half[2] && half[1] > 0 && half[1] < 8, "\(half)")
    try store.migrate(Books.new)
    #expect(try counts(store.snapshot()) == [9, 0, 9])
    #expect(
      try keys(store.snapshot().index("title").rows(in: "word 1")) == ["k1", "k3", "k5", "k7"])
    // Earlier commits keep the rows, and so the fields, that they had.
    #expect(try counts(store.snapshot(at: .commit(before))) == [1, 8, 1])
    #expect(try store.checkInvariants() == [])
  }

  @Test(
    "A reference by a migrated field protects a row once it is rewritten, and nullifies as stored")
  func references() throws {
    let store = try store(author: "ann")
    let author = try Reference(
      on: Books.new, field: "author", to: Books.authors, onDelete: .nullify)
    let required = try Reference(
      on: Books.new, field: "author", to: Books.authors, isRequired: true)
    do {
      try store.define("author", required)
      Issue.record("rows without the field fulfil a required reference")
    } catch let error as TreeRingError {
      #expect(error.code == .referenceMissing)
    }
    try store.define("author", author)
    try store.define(
      "owner", Reference(on: Books.new, field: "owner", to: Books.authors, onDelete: .nullify))
    #expect(try store.snapshot().index("author").count(in: "ann") == 1)
    let beforeDelete = store.newestCommit
    try store.write { try $0.delete("ann", in: Books.authors) }
    // The fields that the rows store have lost the key, and their versions are as they were.
    let rows = try store.snapshot().rows(in: Books.new).map(\.row)
    #expect(rows.count == 9 && rows.allSatisfy { $0.author == nil && $0.title.hasPrefix("word") })
    let coders = try store.snapshot().index("author")
    #expect(coders.isEmpty)
    try store.snapshot().forEachRow(in: "books") { row in
      #expect(row.coder == (row.key == "n" ? 2 : 0))
      return true
    }
    try store.revert(to: .commit(beforeDelete))
    try store.migrate(Books.new)
    #expect(try store.snapshot().index("author").count(in: "ann") == 9)
    try store.define("author", required.withVersion(2))
    #expect(try store.checkInvariants() == [])
  }

  @Test("Rows expire by a migrated field once they are rewritten: in the commit that does that")
  func expiry() throws {
    let store = try store()
    try store.define("expiry", Expiry(on: Books.new, field: "expires"))
    clock.seconds = 20
    #expect(try store.sweep() == 0)
    try store.write {
      try $0.put(New(title: "m", author: nil, expires: nil), for: "m", in: Books.new)
    }
    #expect(try store.snapshot().count(in: "books") == 10)
    try store.migrate(Books.new)
    #expect(try store.snapshot().rows(in: Books.new).map(\.key.description) == ["m", "n"])
  }
}
