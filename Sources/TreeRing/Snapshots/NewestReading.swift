// Reading the newest commit under a pin limit: its snapshot may expire before all has been read, and then
// there is a newer one.

internal import TreeRingLog

extension Store {
  /// How often a snapshot of the newest commit may expire in a row before that is said.
  package static let newestAttempts = 32

  /// Calls `body` with a snapshot of the newest commit, and again with a new one if that expires meanwhile;
  /// not for ever, since by a limit of age every one of them may.
  ///
  /// - Throws: What `body` throws; `snapshotExpired` if the task is cancelled meanwhile, or one snapshot
  ///   after the other expires because reading takes longer than the `pinLimit` allows.
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
