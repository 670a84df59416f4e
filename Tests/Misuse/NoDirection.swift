// A place ordered by a value without a direction.

import TreeRing

let byTitle = GroupIndex("ByTitle", on: books, version: 1) { book in
  Place(in: book.genre, by: book.title)
}
