// The processes that follow this store, as seen by its compaction and erasing.

internal import TreeRingLog

extension Store {
  /// The roots that other processes read. Leaves out this store's own if it is open for reading.
  /// Empty for a store in memory.
  ///
  /// - Parameter withinLimit: Whether to leave out those that have passed the pin limit and so no
  ///   longer hold history.
  /// - Throws: `io` if they cannot be listed; then no history may be dropped.
  func followers(withinLimit: Bool = true) throws(TreeRingError) -> [ReaderInfo] {
    guard let path else { return [] }
    let registry = ReaderRegistry(folder: path, fileSystem: fileSystem)
    var own = follower?.readerNames ?? []
    let newest = newestCommit
    let readers = try registry.readers(removingDead: options.mode != .readOnly)
    // Its thread may have made or removed a file meanwhile.
    own.formUnion(follower?.readerNames ?? [])
    return readers.filter { reader in
      if own.contains(reader.name) { return false }
      guard withinLimit else { return true }
      let behind = newest > reader.commit ? newest - reader.commit : 0
      return
        !(options.pinLimit?.isPassed(age: reader.age(at: options.clock()), behind: behind) ?? false)
    }
  }
}

extension ReaderInfo {
  /// A description for people.
  var description: String {
    let who = process.map { "process \($0)" } ?? "a process"
    return since == nil
      ? "\(who), which follows the store"
      : "\(who), which has followed the store from there for \(age(at: .now).components.seconds) s"
  }
}
