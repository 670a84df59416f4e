// The process that writes a store, as other processes find it.

internal import TreeRingLog

enum RunningWriter {
  /// The word published by a running writer; nil if there is none. Waits for a writer that is
  /// opening the store.
  ///
  /// - Throws: `locked` if that takes too long; `io` if the lock cannot be queried. Then a writer
  ///   may be running, and reading the log to its end would include unfinished commits.
  static func publishedWord(
    _ word: SharedWord?, lockPath: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> SharedWord.Value? {
    var naps = 0
    while try fileSystem.isLocked(lockPath) {
      guard let word else { return nil }
      let value = word.value
      if value.durable != nil { return value }
      naps += 1
      guard naps < 10_000 else {
        throw TreeRingError(
          .locked, "Another process is still opening the store. Try again when it has finished.",
          file: lockPath)
      }
      Follower.nap()
    }
    return nil
  }
}
