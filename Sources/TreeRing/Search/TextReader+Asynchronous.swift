// The asynchronous forms of searches, on threads of the library.

public import TreeRingLog

extension TextReader {
  /// The best hits of a search, without blocking the caller's thread. Otherwise it equals the
  /// blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func find(
    _ query: TextQuery, limit: Int = 20
  ) async throws(TreeRingError) -> [TextHit] {
    try await WorkerPool.reading.run { _ throws(TreeRingError) in
      try find(query, limit: limit)
    }
  }

  /// The best hits of a search given as text, without blocking the caller's thread.
  public func find(_ text: String, limit: Int = 20) async throws(TreeRingError) -> [TextHit] {
    try await find(try TextQuery(text), limit: limit)
  }

  /// Hits in the order of a group of another index, without blocking the caller's thread. Otherwise
  /// it equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func find(
    _ query: TextQuery, in index: IndexReader, group: GroupName, limit: Int = 20,
    reversed: Bool = false
  ) async throws(TreeRingError) -> [TextHit] {
    try await WorkerPool.reading.run { _ throws(TreeRingError) in
      try find(query, in: index, group: group, limit: limit, reversed: reversed)
    }
  }

  /// The number of rows that a search finds, without blocking the caller's thread. Otherwise it
  /// equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func count(of query: TextQuery) async throws(TreeRingError) -> Int {
    try await WorkerPool.reading.run { _ throws(TreeRingError) in try count(of: query) }
  }

  /// The rows of hits, without blocking the caller's thread. Otherwise it equals the blocking form.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled before the work begins.
  public func rows<Row: Sendable>(
    of hits: [TextHit], in bucket: Bucket<Row>
  ) async throws -> [(key: Key, row: Row)] {
    try await WorkerPool.reading.runThrowing { _ in try rows(of: hits, in: bucket) }
  }
}
