// The process that writes a store, as others see it.

internal import TreeRingLog

enum Writer {
  /// What a writer says that is at work; nil if there is none. Waits for one that is opening the store.
  ///
  /// - Throws: `locked` if that takes too long; `io` if it cannot be told whether there is one: without one
  ///   the log would be judged as recovery would, with what is just being written.
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
