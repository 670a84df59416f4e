// A declaration without a version.

import TreeRing

let byGenre = Index("ByGenre", on: books, group: \.genre)

let ranked = Index(
  "Ranked", on: books, group: \.genre, by: .descending(\.sales))
