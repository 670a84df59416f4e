// State that is not `Sendable`, in the closure of an asynchronous write.

import TreeRing

final class Model { var count = 0 }

func count(_ store: Store, _ model: Model) async throws {
  try await store.write { tx in
    model.count += 1
  }
}
