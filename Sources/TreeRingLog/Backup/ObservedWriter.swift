// The writer of a store, as observed by a process that only reads the store.

internal import TreeRingPlatform

/// The writer of a store at one moment.
struct ObservedWriter {
  /// True if a process holds the store's lock.
  private var isActive: Bool
  /// The shared word of the writer or of its predecessor; nil if there has never been one.
  private var word: SharedWord.Value?

  private init(of store: String, _ fileSystem: any FileSystem) throws(TreeRingError) {
    let path = store + "/LOCK"
    isActive = try fileSystem.isLocked(path)
    word = try SharedWord.opened(path, fileSystem)?.value
  }

  /// Waits until the current writer, if any, has opened the store.
  ///
  /// - Throws: `locked` if the opening takes too long.
  static func settled(
    of store: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> ObservedWriter {
    for _ in 0..<2_000 {
      let writer = try ObservedWriter(of: store, fileSystem)
      if !writer.isActive || writer.word == nil || writer.durable != nil { return writer }
      pause()
    }
    throw changingError(store)
  }

  /// The newest commit that an active writer has declared durable; nil without a writer.
  var durable: CommitNumber? { isActive ? word?.durable : nil }

  /// True if another writer has begun since, or this one has ended.
  func hasChanged(
    _ store: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> Bool {
    let now = try ObservedWriter(of: store, fileSystem)
    return now.isActive != isActive || now.word?.incarnation != word?.incarnation
  }

  /// True if a change of writer may have caused the error, so that another attempt may succeed.
  func explains(
    _ error: TreeRingError, _ store: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> Bool {
    switch error.code {
    case .corruption, .notFound, .locked: return try hasChanged(store, fileSystem)
    case .conflict:
      // A writer that holds the lock may not have written its word yet; the word is its
      // predecessor's.
      for _ in 0..<50 where isActive {
        if try hasChanged(store, fileSystem) { return true }
        Self.pause()
      }
      return try hasChanged(store, fileSystem)
    default: return false
    }
  }

  static func pause() { usleep(1_000) }

  static func changingError(_ store: String) -> TreeRingError {
    TreeRingError(
      .locked, "Another process is opening \(store). Try again in a moment.", file: store)
  }
}
