// A call that can fail, without `try`.

import TreeRing

func newest(of store: Store) throws -> Snapshot {
  store.snapshot()
}
