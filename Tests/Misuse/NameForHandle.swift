// The name of an index in place of its handle.

import TreeRing

func best(in snapshot: Snapshot) throws {
  _ = try snapshot["SalesRank"]
}
