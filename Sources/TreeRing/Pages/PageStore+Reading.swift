// Read sections of a page store, and the failed fetches within them.

package import TreeRingLog

extension PageStore {
  /// The number of failed fetches, on all threads.
  @inline(__always)
  var fetchFailureCount: UInt64 { supply?.failureCount ?? 0 }
  /// The error of the latest failed fetch.
  var lastFetchFailure: TreeRingError? { supply?.lastFailure }

  /// Runs a read section. Pointers into pages stay valid inside `body`. Sections may nest.
  /// - Returns: The result of `body`, which read whole pages only.
  /// - Throws: The error of a page that this thread could not read; otherwise errors of `body`.
  @inline(__always)
  package func reading<R>(_ body: () throws -> R) throws -> R { try inSection(body) { $0 } }

  /// Runs a read section whose body throws only errors of this library; otherwise as `reading`.
  @inline(__always)
  package func read<R>(_ body: () throws(TreeRingError) -> R) throws(TreeRingError) -> R {
    try inSection(body) { $0 }
  }

  /// - Parameter failed: returns the error of a failed fetch as an error of the body's type.
  @inline(__always)
  private func inSection<R, E: Error>(
    _ body: () throws(E) -> R, failed: (TreeRingError) -> E
  ) throws(E) -> R {
    guard countsReaders else { return try body() }
    let section = sections.enter()
    defer { sections.leave(section) }
    let count = fetchFailureCount
    let result: R
    do throws(E) {
      result = try body()
    } catch {
      // The missing page may have caused this error, so the fetch error takes precedence.
      throw fetchFailure(since: count).map(failed) ?? error
    }
    if let failure = fetchFailure(since: count) { throw failed(failure) }
    return result
  }

  /// Runs a read section that keeps pointers valid. The caller checks for failed fetches.
  func withSection<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    guard countsReaders else { return try body() }
    let section = sections.enter()
    defer { sections.leave(section) }
    return try body()
  }

  /// The error of this thread's latest failed fetch since `fetchFailureCount` was `count`.
  @inline(__always)
  private func fetchFailure(since count: UInt64) -> TreeRingError? {
    // A constant for the supply would count a reference to it while the section runs.
    fetchFailureCount == count ? nil : ownFailure(since: count)
  }

  @inline(never)
  private func ownFailure(since count: UInt64) -> TreeRingError? { supply?.failure(since: count) }

  /// Whether this thread could not fetch a page since `fetchFailureCount` was `count`.
  @inline(__always)
  func hasFailedFetch(since count: UInt64) -> Bool { fetchFailure(since: count) != nil }

  /// Checks for failed fetches of this thread.
  /// - Parameter count: An earlier `fetchFailureCount`.
  /// - Throws: The error of a page that this thread could not read since then.
  func checkFetches(since count: UInt64) throws(TreeRingError) {
    if let failure = fetchFailure(since: count) { throw failure }
  }
}
