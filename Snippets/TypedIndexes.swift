// Rows of an index with their types, chosen by their group and their sort value.
// snippet.show
import Foundation
import TreeRing
// snippet.hide
import TreeRingCollections
import TreeRingMappings
// snippet.show

enum Genre: String, Codable, KeyConvertible { case fantasy, crime, poetry }

struct Book: Codable { var title: String, genre: Genre, sales: Int, author: String, due: Date? }

let books = Bucket<Book>("books")
let salesRank = Index(
  "SalesRank", on: books, version: 1, group: \.genre,
  by: .descending(\.sales), .ascending(\.title))
let byTitle = UniqueIndex("ByTitle", on: books, version: 1, of: \.title)
let byDue = Index(
  "ByDue", on: books, version: 1, group: { book in book.author },
  by: .ascending(\.due, nils: .last))
let store = try Store(at: "library.ring", indexes: [salesRank, byTitle, byDue])

// A handle of an index that is defined by fields.
try store.define("ByAuthor", FieldIndex(on: books, group: "author", order: [.init("title")]))
let byAuthor = Index(
  named: "ByAuthor", on: books, group: String.self, by: .ascending(String.self))

let day = Date(timeIntervalSince1970: 1_357_171_200)
try store.write { tx in
  for (number, title) in ["Emma", "Dune", "Ubik", "Dubliners"].enumerated() {
    let book = Book(
      title: title, genre: number < 3 ? .fantasy : .crime, sales: number * 10, author: "ann",
      due: number == 0 ? nil : day + 3600 * Double(number))
    try tx.put(book, for: number, in: books)
  }
}

let snapshot = try store.snapshot()
let rank = try snapshot[salesRank]
let popular = try rank.rows(in: .fantasy, where: .between(10...))  // Ubik, Dune
let best = try rank.rows(in: .fantasy, limit: 1)  // Ubik
let worst = try rank.rows(in: .fantasy, reversed: true, limit: 2)  // Emma, Dune
let place = try rank.rank(of: 15, in: .fantasy)  // 1: one book sells better
let count = try rank.count(in: .fantasy, where: .oneOf([0, 20]))  // 2
let titled = try rank.rows(in: .fantasy, where: .equal(20, and: .prefix("U")))  // Ubik
let genres = try rank.groups().map(\.group)  // crime, fantasy
let emma = try snapshot[byTitle].row("Emma")
let named = try snapshot[byTitle].rows(where: .prefix("Du"))  // Dubliners, Dune
let beginning = try snapshot[byAuthor].rows(in: "ann", where: .prefix("Du"))  // Dubliners, Dune
let soon = try snapshot[byDue].rows(in: "ann", where: .before(day + 7200))  // Dune
let someday = try snapshot[byDue].rows(in: "ann", where: .absent)  // Emma
let second = try snapshot.get(1, in: books)  // Dune
// snippet.hide
let monday = try GroupName(field: day)
precondition(popular.map(\.title) == ["Ubik", "Dune"])
precondition(best.map(\.title) == ["Ubik"] && worst.map(\.title) == ["Emma", "Dune"])
precondition(place == 1 && count == 2 && genres == [.crime, .fantasy])
precondition(emma?.sales == 0 && second?.title == "Dune")
precondition(titled.map(\.title) == ["Ubik"])
precondition(named.map(\.title) == ["Dubliners", "Dune"])
precondition(beginning.map(\.title) == ["Dubliners", "Dune"])
precondition(soon.map(\.title) == ["Dune"] && someday.map(\.title) == ["Emma"])

let shelves = Mappings(of: salesRank, groups: [.fantasy, .crime])
  .range(.fixed(length: 20), of: Genre.crime)
let request = TrackerRequest(salesRank, groups: [.fantasy]).first(20)
var observer = store.observer(of: shelves)
let all = try observer.advance()
precondition(all.after.rowCount == 4)
let tracker = try Tracker(of: request, in: store)
precondition(tracker.rows.map(\.row.title) == ["Ubik", "Dune", "Emma"])
