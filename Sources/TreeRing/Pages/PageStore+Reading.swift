// Read sections of a page store, and the failed fetches within them.

package import TreeRingLog

extension PageStore {
  /// The number of failed fetches, on all threads.
  package var fetchFailureCount: UInt64 { supply?.failureCount ?? 0 }
  /// The error of the latest failed fetch.
  package var lastFetchFailure: TreeRingError? { supply?.lastFailure }

  /// Runs a read section. Pointers into pages stay valid inside `body`. Sections may nest.
  /// - Returns: The result of `body`, which read whole pages only.
  /// - Throws: The error of a page that this thread could not read; otherwise errors of `body`.
  @inline(__always)
  package func reading<R>(_ body: () throws -> R) throws -> R {
    guard countsReaders else { return try body() }
    let section = sections.enter()
    defer { sections.leave(section) }
    guard let supply else { return try body() }
    let count = supply.failureCount
    let result: R
    do {
      result = try body()
    } catch {
      // The missing page may have caused this error, so the fetch error takes precedence.
      throw supply.failure(since: count) ?? error
    }
    if let failure = supply.failure(since: count) { throw failure }
    return result
  }

  /// Runs a read section that keeps pointers valid. The caller checks for failed fetches.
  package func withSection<R>(_ body: () throws -> R) rethrows -> R {
    guard countsReaders else { return try body() }
    let section = sections.enter()
    defer { sections.leave(section) }
    return try body()
  }

  /// Checks for failed fetches of this thread.
  /// - Parameter count: An earlier `fetchFailureCount`.
  /// - Throws: The error of a page that this thread could not read since then.
  package func checkFetches(since count: UInt64) throws(TreeRingError) {
    if let failure = supply?.failure(since: count) { throw failure }
  }
}
