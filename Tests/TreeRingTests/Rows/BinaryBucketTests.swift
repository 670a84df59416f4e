// Buckets of binary rows in a store: indexes by closures and by fields, and a change of coder.

import Foundation
import TestSupport
import Testing

@testable import TreeRing

@Suite("Buckets of binary rows", .leavesSoundStores) struct BinaryBucketTests {
  private struct Book: Codable, Equatable, Sendable {
    struct Place: Codable, Equatable, Sendable { var shelf: Int, room: String? }
    var title: String
    var genre: String?
    var sales: Double
    var place: Place
    var added: Date
    var tags: [String]
    var isLent: Bool
  }

  private static let text = Bucket<Book>("books", coder: .json(version: 3))
  private static let bytes = Bucket<Book>("books", coder: .binary(version: 4))

  private func books(_ seed: UInt64) -> [Book] {
    var random = SeededGenerator(seed: seed)
    return (0..<60).map { _ in
      Book(
        title: random.text(),
        genre: random.chance() ? ["é", "sea", "\"", "1.5"][Int(random.next() % 4)] : nil,
        sales: Double(Int(random.next() % 64)) / 4,
        place: Book.Place(shelf: random.edge(), room: random.chance() ? random.text() : nil),
        added: Date(timeIntervalSinceReferenceDate: random.double()),
        tags: random.list { $0.text() },
        isLent: random.chance())
    }
  }

  /// Defines indexes by fields of every kind in a store.
  private func define(_ store: Store) throws {
    for (name, group, order, conditions) in [
      ("genre", "genre", "sales:desc,title", []), ("lent", "isLent", "added", []),
      ("shelf", "place.shelf", "place.room:desc", ["isLent=true,false"]),
      ("sales", "sales", "place.shelf", ["genre=sea,1.5"]), ("place", "place", "title", []),
    ] as [(String, String, String, [String])] {
      try store.define(
        name, FieldIndex(bucket: "books", group: group, order: order, where: conditions))
    }
    try store.define("filtered", FieldFilter(of: "genre", where: ["place.room=a,,é"]))
  }

  @Test("Indexes by fields have the same groups and orders as over JSON")
  func fields() throws {
    for seed in seeds(1...8) {
      var stores: [Store] = []
      for bucket in [Self.text, Self.bytes] {
        let store = try Store.inMemory()
        try define(store)
        try store.write { tx in
          for (number, book) in books(seed).enumerated() {
            try tx.put(book, for: Key("\(number)"), in: bucket)
          }
        }
        stores.append(store)
      }
      for name in ["genre", "lent", "shelf", "sales", "place", "filtered"] {
        let (a, b) = (try stores[0].snapshot().index(name), try stores[1].snapshot().index(name))
        let groups = try a.groups()
        #expect(try b.groups() == groups, "seed \(seed)")
        for group in groups {
          #expect(
            try a.rows(in: group).map(\.key) == b.rows(in: group).map(\.key), "seed \(seed) \(name)"
          )
        }
        if name != "place" { #expect(!groups.isEmpty, "seed \(seed) \(name)") }
      }
      #expect(try stores[1].checkInvariants() == [])
    }
  }

  @Test("Either coder reads the rows of the other, so that rows migrate at their next put")
  func migration() throws {
    let index = GroupIndex("byShelf", on: Self.bytes, version: 1) { book in
      Place(in: book.genre ?? "-", by: .ascending(book.place.shelf))
    }
    let store = try Store.inMemory(options: StoreOptions(indexes: [index]))
    let books = books(1)
    try store.write { tx in
      for (number, book) in books.enumerated() {
        try tx.put(book, for: Key("\(number)"), in: number % 2 == 0 ? Self.text : Self.bytes)
      }
    }
    for bucket in [Self.text, Self.bytes] {
      for (number, book) in books.enumerated() {
        #expect(try store.snapshot().get(Key("\(number)"), in: bucket) == book)
      }
    }
    #expect(try store.snapshot().row("0", in: "books")?.coder == 3)
    try store.write { try $0.put(object: books[0], for: "0", in: Self.bytes) }
    let row = try #require(try store.snapshot().row("0", in: "books"))
    #expect(row.coder == 4 && row.object.starts(with: [0xD9, 0xD9, 0xF7]))
    #expect(try Self.text.decode(row) == books[0])
    #expect(try store.statistics().undecodable == [:])
    #expect(try store.checkInvariants() == [])
  }

  @Test("The JSON and binary coders of one type share decoded rows, those of two types do not")
  func identities() {
    #expect(Bucket<Book>("a", coder: .binary()).coder.identity == Self.bytes.coder.identity)
    #expect(Bucket<Int>("a", coder: .binary()).coder.identity != Self.bytes.coder.identity)
    #expect(Self.text.coder.identity == Self.bytes.coder.identity)
  }

  @Test("A damaged row throws an error of the decoder, and is counted as undecodable")
  func damaged() throws {
    let index = GroupIndex("byGenre", on: Self.bytes, version: 1) { book in
      Place(in: book.genre ?? "-", by: .ascending(book.title))
    }
    let store = try Store.inMemory(options: StoreOptions(indexes: [index]))
    try store.write { try $0.put([0xD9, 0xD9, 0xF7, 0xA1], for: "a", in: Bucket.bytes("books")) }
    #expect(throws: DecodingError.self) { try store.snapshot().get("a", in: Self.bytes) }
    #expect(try store.statistics().undecodable.map(\.value) == [1])
  }
}
