// A group of another type than that of the handle.

import TreeRing

func best(in snapshot: Snapshot) throws -> [Book] {
  try snapshot[salesRank].rows(in: "fantasy")
}
