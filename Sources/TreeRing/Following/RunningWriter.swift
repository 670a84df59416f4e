// The process that writes a store, as other processes see it.

internal import TreeRingLog

enum Writer {
  /// The word published by a running writer; nil if there is none. Waits for a writer that is
  /// opening the store.
  ///
  /// - Throws: `locked` if that takes too long; `io` if the lock cannot be queried. Then a writer
  ///   may be running, and judging the log as recovery would is wrong: it would include what is
  ///   just being written.
  static func says(
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
          .locked, "Another process has been opening the store for some time. Try again later.",
          file: lockPath)
      }
      Follower.nap()
    }
    return nil
  }
}
