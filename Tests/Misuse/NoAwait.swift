// A call whose name means the asynchronous form in an asynchronous function, without `await`.

import TreeRing

func third(of store: Store) async throws -> Snapshot {
  try store.snapshot(at: .commit(3))
}
