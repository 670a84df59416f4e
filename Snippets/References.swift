// References between rows: by a field with a cascade, and by a closure that removes the key.
import TreeRing

struct Author: Codable { var name: String }
struct Book: Codable { var title: String, author: String, shelf: String? }
let authors = Bucket<Author>("authors")
let books = Bucket<Book>("books")
let shelves = Bucket<Author>("shelves")
let store = try Store.inMemory()

// snippet.show
let author = try Reference(on: books, field: "author", to: authors, onDelete: .cascade)
try store.define("author", author)

try store.write { tx in
  try tx.put(Author(name: "Frank Herbert"), for: "herbert", in: authors)
  try tx.put(Book(title: "Dune", author: "herbert", shelf: nil), for: "dune", in: books)
}
let byHerbert = try store.snapshot().index("author").rows(in: "herbert")
try store.write { tx in try tx.delete("herbert", in: authors) }
print(byHerbert.count, try store.snapshot().count(in: books))  // 1 0
// snippet.hide

let shelf = GroupIndex(
  "shelf", on: books, version: 1, to: shelves,
  onDelete: .nullify { book, _ in book.shelf = nil },
  keys: { book in book.shelf })
try store.register(shelf)
try store.write { tx in
  try tx.put(Author(name: "top"), for: "top", in: shelves)
  try tx.put(Author(name: "Philip K. Dick"), for: "dick", in: authors)
  try tx.put(Book(title: "Ubik", author: "dick", shelf: "top"), for: "ubik", in: books)
}
try store.write { tx in try tx.delete("top", in: shelves) }
let ubik = try store.snapshot().get("ubik", in: books)
precondition(ubik?.title == "Ubik" && ubik?.shelf == nil)
