// Reads of the newest commit under a pin limit. A snapshot may expire before the reader has
// finished with it; then the reader starts again with a newer commit.

internal import TreeRingLog

extension Store {
  /// Consecutive expirations of the newest commit's snapshot before `snapshotExpired` is thrown.
  static let newestAttempts = 32

  /// Calls `body` with a snapshot of the newest commit, and again with a new snapshot whenever that
  /// one expires. The number of attempts is bounded, since every snapshot may expire under a limit
  /// of age.
  ///
  /// - Throws: The errors of `body`; `snapshotExpired` if the task is cancelled while a snapshot
  ///   expires, or if every attempt expires because reading takes longer than the `pinLimit`
  ///   allows.
  package func readingNewest<R>(_ body: (Snapshot) throws -> R) throws -> R {
    var attempt = 1
    while true {
      do {
        return try body(try snapshot())
      } catch let error as TreeRingError
        where error.code == .snapshotExpired && attempt < Self.newestAttempts && !Task.isCancelled
      { attempt += 1 }
    }
  }
}
