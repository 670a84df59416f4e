// The writer of a store, as seen by a process that only reads the store.

internal import TreeRingPlatform

/// The writer of a store at one moment.
struct SeenWriter {
  /// True if a process holds the store's lock.
  private var isThere: Bool
  /// The shared word of the writer or of its predecessor; nil if there has never been one.
  private var word: SharedWord.Value?

  private init(of store: String, _ fileSystem: any FileSystem) throws(TreeRingError) {
    let path = store + "/LOCK"
    isThere = try fileSystem.isLocked(path)
    word = try SharedWord.opened(path, fileSystem)?.value
  }

  /// The current writer once it has opened the store, or the absence of one.
  ///
  /// - Throws: `locked` if the opening takes too long.
  static func settled(
    of store: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> SeenWriter {
    for _ in 0..<2_000 {
      let writer = try SeenWriter(of: store, fileSystem)
      if !writer.isThere || writer.word == nil || writer.durable != nil { return writer }
      nap()
    }
    throw changing(store)
  }

  /// The newest commit that an active writer has declared durable; nil without a writer.
  var durable: CommitNumber? { isThere ? word?.durable : nil }

  /// True if another writer has begun since, or this one has ended.
  func hasChanged(
    _ store: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> Bool {
    let now = try SeenWriter(of: store, fileSystem)
    return now.isThere != isThere || now.word?.incarnation != word?.incarnation
  }

  /// True if the failure may be due to a change of writer, so that another attempt may succeed.
  func explains(
    _ error: TreeRingError, _ store: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> Bool {
    switch error.code {
    case .corruption, .notFound, .locked: return try hasChanged(store, fileSystem)
    case .conflict:
      // A writer may hold the lock and not have begun: then the word is its predecessor's.
      for _ in 0..<50 where isThere {
        if try hasChanged(store, fileSystem) { return true }
        Self.nap()
      }
      return try hasChanged(store, fileSystem)
    default: return false
    }
  }

  static func nap() { usleep(1_000) }

  static func changing(_ store: String) -> TreeRingError {
    TreeRingError(
      .locked, "\(store) is being opened elsewhere. Try again in a while.", file: store)
  }
}
