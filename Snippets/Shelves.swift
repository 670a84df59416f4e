// Rows placed manually.
import TreeRing

struct Book: Codable { var title: String }
let books = Bucket<Book>("books")
let store = try Store.inMemory()
try store.write { tx in
  try tx.put(Book(title: "Moby Dick"), for: "moby", in: books)
  try tx.put(Book(title: "Emma"), for: "emma", in: books)
}
try store.define("shelves", ManualIndex(on: books))
try store.write { tx in
  try tx.group("unread", of: "shelves").append(RowID("emma", in: books))
}

// snippet.show
try store.define("shelves", ManualIndex(on: books))
try store.write { tx in
  let unread = try tx.group("unread", of: "shelves")
  try unread.append(RowID("moby", in: books))
  try unread.move(RowID("emma", in: books), to: 0)
}
// snippet.hide
print(try store.snapshot().index("shelves").rows(in: "unread").map(\.key))
