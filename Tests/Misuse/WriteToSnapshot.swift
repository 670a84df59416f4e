// A write to a snapshot or to the store.

import TreeRing

func add(_ book: Book, to store: Store) throws {
  let snapshot = try store.snapshot()
  try snapshot.put(book, for: "a", in: books)
  try store.put(book, for: "a", in: books)
}
