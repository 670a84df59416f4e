// The rank of a value in an index without an order.

import TreeRing

let shelves = Index("Shelves", on: books, version: 1, group: \.genre)

func rank(in snapshot: Snapshot) throws -> Int {
  try snapshot[shelves].rank(of: 3, in: .fantasy)
}
