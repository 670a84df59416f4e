// The words of rows: a text index, searches, and live hits.
// snippet.show
import TreeRing
import TreeRingMappings

struct Book: Codable { var title: String, body: String }

let books = Bucket<Book>("books")
let store = try Store(at: "library.ring")
let search = try TextIndex(
  "search", on: books, fields: [.init("title", weight: 4), "body"], stemmer: .english)
try store.define(search)

try store.write { tx in
  try tx.put(
    Book(title: "Dune", body: "The sand worms of Arrakis guard the spice."), for: "dune", in: books)
  try tx.put(Book(title: "Moby Dick", body: "Call me Ishmael."), for: "moby", in: books)
  try tx.put(Book(title: "沙丘", body: "香料必须流动"), for: "沙丘", in: books)
}

let text = try store.snapshot()[search]
for hit in try text.find("\"sand worm\" NOT fremen") {
  print(hit.id.key, hit.score)  // dune
}
let chinese = try text.find("香料 流动").map(\.id.key)
precondition(chinese == ["沙丘"])

let query = TextQuery.and([
  .near(["worm", "spice"], within: 5), .prefix("arra"), .field("title", .phrase("dune")),
])
let hits = try text.find(query, limit: 10)
let titles = try text.rows(of: hits, in: books).map(\.row.title)
precondition(titles == ["Dune"])

for match in try text.matches(of: query, in: hits[0]) {
  print(match.field, match.snippet(words: 6))  // body …<b>worms</b> of …
}

// At an earlier commit.
let count = try store.snapshot(at: .commit(1))[search].count(of: .phrase("worm"))
precondition(count == 0)

// Live.
var observer = store.observer(of: try TextQuery("worm"), in: "search", limit: 50)
let first = try observer.advance()
precondition(first.isReset && observer.hits.count == 1)
try store.write { tx in
  try tx.put(Book(title: "Worms", body: "A worm."), for: "worms", in: books)
}
let change = try observer.advance()
precondition(change.rows.inserts.count == 1 && observer.hits.map(\.id.key) == ["worms", "dune"])
// snippet.hide
do {
  var observer = store.observer(of: try TextQuery("dune"), in: "search", limit: 50)
  let change = try observer.advance()
  precondition(change.isReset)
}
