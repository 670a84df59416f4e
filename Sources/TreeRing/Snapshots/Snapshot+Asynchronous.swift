// The asynchronous forms of a snapshot's reads that may take more than a moment, on threads of the
// library. Rows, groups and counts are read in any thread, in some microseconds each.

public import TreeRingLog

extension Snapshot {
  /// Builds an index that the snapshot's commit did not maintain, without blocking the caller's
  /// thread, so that its readers find it. O(1) if it is there, otherwise O(n log n), or
  /// O(rows that differ · log n) from an index at a commit nearby.
  ///
  ///     let past = try await store.snapshot(at: .date(monday))
  ///     try await past.buildIndex("by author")
  ///     let books = try past.index("by author").rows(in: "Le Guin")
  ///
  /// - Throws: `notFound` if no index of that name is in force; `indexDefinedInCode` if its closure
  ///   is not registered; `cancelled` if the task is cancelled before the work begins.
  public func buildIndex(_ name: String) async throws(TreeRingError) {
    try await WorkerPool.reading.run { [self] _ throws(TreeRingError) in
      try pin.store.checkOpen()
      _ = try pin.store.trees(of: definition(ofIndex: name), at: pin)
    }
  }

  /// Every row that differs between another snapshot and this one, without blocking the caller's
  /// thread. Otherwise it equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before it is done.
  public func diff(from old: Snapshot) async throws -> [RowDifference] {
    try await WorkerPool.reading.runThrowing { [self] stop in
      var all: [RowDifference] = []
      try diff(from: old) {
        all.append($0)
        return !stop.isSet
      }
      try stop.check()
      return all
    }
  }
}
