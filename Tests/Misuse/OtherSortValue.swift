// A condition on another type than that of the sort value.

import TreeRing

func best(in snapshot: Snapshot) throws -> [Book] {
  try snapshot[salesRank].rows(in: .fantasy, where: .between("10"..."20"))
}
