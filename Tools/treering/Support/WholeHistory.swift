// Commands that read all of a store's history beside a writer that may give up part of it meanwhile: who
// follows a store keeps what leads on from the page file's root, not what lies before.

import TreeRing
import TreeRingLog

/// Work on all of a store's history.
enum WholeHistory {
  private static let attempts = 5

  /// Calls `body` with the store, opened for reading; again, with the store opened anew, when history that
  /// it was to read has been given up meanwhile.
  ///
  /// - Throws: what `body` throws; a failure with exit code 75 if history is given up faster than it can
  ///   be read.
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
