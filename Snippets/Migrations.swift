// Rows of several versions, and the golden stores of a program's tests; see docs/migrations.md.
import Foundation
// snippet.show
import TreeRing
// snippet.hide
import TreeRingTesting
// snippet.show

/// The second version of the program; the first had no genre.
struct BookV2: Codable { var title: String, genre: String }

struct Book: Codable {
  var title: String, genre: String, pages: Int
  init(_ old: BookV2, pages: Int) {
    (title, genre, self.pages) = (old.title, old.genre, pages)
  }
}

let books = Bucket<Book>(
  "books", version: 3,
  migrations: [
    Migration(from: 1, to: 2, fields: { try $0.setDefault("genre", "unknown") }),
    Migration(from: 2, to: 3) { (old: BookV2) in Book(old, pages: 0) },
  ])

let store = try Store(at: "library.ring", options: StoreOptions(buckets: [books]))
let book = try store.snapshot().get("dune", in: books)  // of any version, at any commit
try store.migrate(books)  // optional: rewrites old rows, some hundred a commit
// snippet.hide
precondition(book == nil)

struct BookV1: Codable { var title: String }
let old = try Store.inMemory()
try old.write { try $0.put(BookV1(title: "Dune"), for: "dune", in: Bucket<BookV1>("books")) }
let migrated = try old.snapshot().get("dune", in: books)
precondition(migrated?.genre == "unknown")
let progress = try old.migrate(books)
precondition(progress.rewritten == 1)

let folder = URL(filePath: FileManager.default.currentDirectoryPath).appending(path: "Golden")
let dune = Book(BookV2(title: "Dune", genre: "sci-fi"), pages: 412)
for _ in 1...2 {
  let golden = GoldenStores(in: folder)
  let report = try golden.check(books, samples: [("dune", dune)])
  precondition(report.problems.isEmpty)
}
