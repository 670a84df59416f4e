// A row of another type than that of the bucket.

import TreeRing

func add(_ author: Author, to store: Store) throws {
  try store.write { tx in
    try tx.put(author, for: "a", in: books)
  }
}
