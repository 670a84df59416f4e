// A store in fifteen lines: rows, a group index, and a look back.
// snippet.show
import TreeRing

struct Book: Codable { var title: String, genre: String, sales: Int }

let books = Bucket<Book>("books")
let salesRank = GroupIndex("SalesRank", on: books, version: 1) { book in
  Place(in: book.genre, by: .descending(book.sales), .ascending(book.title))
}

let store = try Store(at: "library.ring", indexes: [salesRank])
let first = try store.write { tx in
  try tx.put(Book(title: "Dune", genre: "sci-fi", sales: 20), for: "dune", in: books)
  try tx.put(Book(title: "Ubik", genre: "sci-fi", sales: 9), for: "ubik", in: books)
}
try store.write { tx in try tx.delete("dune", in: books) }

let then = try store.snapshot(at: .commit(first.commit))
print(try then.get("dune", in: books)?.title ?? "gone")  // Dune
print(try store.snapshot().index("SalesRank").count(in: "sci-fi"))  // 1
