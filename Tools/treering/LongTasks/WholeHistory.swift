// Commands that read all of a store's history beside a writer that may drop part of it at the same
// time. A follower pins the history after the page file's root, not the history before it.

import TreeRing
import TreeRingLog

/// Work on all of a store's history.
enum WholeHistory {
  private static let attempts = 5

  /// Calls `body` with the store, opened for reading. If history that `body` needs is dropped
  /// during the call, reopens the store and calls `body` again.
  ///
  /// - Throws: the errors of `body`; a failure with exit code 75 if history is dropped faster than
  ///   it can be read.
  static func reading<R>(_ path: String, _ body: (Store) throws -> R) throws -> R {
    var overtaken: (horizon: CommitNumber, error: TreeRingError)?
    for _ in 0..<attempts {
      let store = try StoreAccess.open(path, .readOnly)
      defer { try? store.close() }
      let horizon = store.horizon
      if let overtaken, overtaken.horizon == horizon { throw overtaken.error }
      do {
        return try body(store)
      } catch let error as TreeRingError where error.code == .beyondHorizon {
        overtaken = (horizon, error)
      }
    }
    throw Failure(
      .locked,
      "Another process compacts \(path) faster than its history can be read. Try again later.")
  }
}
