// Copies of whole stores: backups while the store is in use, and the way back.

public import TreeRingLog

extension Store {
  /// Backs the store up to a folder, while it is in use. Writing and reading go on; compaction and erasing
  /// wait for it, and it for them.
  ///
  /// The backup holds every commit that was complete when it began, and is itself a store: it can be
  /// opened, and it can be copied elsewhere, file by file, in any order. If the folder holds an older
  /// backup of this store, only what is new is copied, and files that compaction has replaced are
  /// removed. Where the file system allows it sealed segments get a second name instead of a copy, so a
  /// backup on the same device takes little room (and does not outlive that device).
  ///
  /// A crash leaves the older backup or the new one.
  ///
  /// What has been erased from the store stays in backups until they are refreshed.
  ///
  /// - Parameters:
  ///   - folder: a new or empty folder, or one with an older backup of this store.
  ///   - progress: called now and then, at the least after each megabyte; false cancels.
  /// - Throws: `alreadyExists` if the folder holds something else; `conflict` if it reaches further
  ///   than this store; `locked` if it is open for writing; `corruption` if a segment that is copied
  ///   is damaged; `noSpace`, `io`, `cancelled`; `notAllowed` inside the closure of a write.
  @discardableResult
  public func backUp(
    to folder: String, progress: (CopyProgress) -> Bool = { _ in true }
  ) throws(TreeRingError) -> CopyReport {
    try backUp(to: folder, on: PosixFileSystem(), mayLink: path != nil, progress: progress)
  }

  @discardableResult
  package func backUp(
    to folder: String, on fileSystem: any FileSystem, mayLink: Bool,
    progress: (CopyProgress) -> Bool = { _ in true }
  ) throws(TreeRingError) -> CopyReport {
    try checkOpen()
    try writerLock.checkOutside()
    return try typed {
      // What is half erased must not get into a backup.
      try maintenance.alone {
        try log.backUp(to: folder, fileSystem: fileSystem, mayLink: mayLink) {
          try checkOpen()
          try Self.goOn(progress($0))
        }
      }
    }
  }

  /// Makes a store of a backup, by copying it. Each copied segment is read back and checked.
  ///
  /// - Parameters:
  ///   - backup: the folder of the backup, which is not changed.
  ///   - folder: the folder of the new store: a new or an empty one. After a failure what is in it does
  ///     not open as a store.
  ///   - progress: called now and then, at the least after each megabyte; false cancels.
  /// - Throws: `alreadyExists` if the folder holds anything; `notFound` if there is no backup;
  ///   `corruption` if it is damaged (then salvage it); `noSpace`, `io`, `cancelled`.
  @discardableResult
  public static func restore(
    from backup: String, to folder: String, progress: (CopyProgress) -> Bool = { _ in true }
  ) throws(TreeRingError) -> CopyReport {
    try restore(from: backup, to: folder, on: PosixFileSystem(), progress: progress)
  }

  @discardableResult
  package static func restore(
    from backup: String, to folder: String, on fileSystem: any FileSystem,
    progress: (CopyProgress) -> Bool = { _ in true }
  ) throws(TreeRingError) -> CopyReport {
    try checkIsNew(folder, on: fileSystem)
    let log = try CommitLog.forBackup(of: backup, fileSystem: fileSystem)
    return try typed {
      try log.backUp(to: folder, fileSystem: fileSystem, mayLink: false) {
        try goOn(progress($0))
      }
    }
  }

  /// Throws unless a folder is empty or not there.
  static func checkIsNew(
    _ folder: String, on fileSystem: any FileSystem
  ) throws(TreeRingError) {
    guard try fileSystem.exists(folder) else { return }
    guard try fileSystem.list(folder).isEmpty else {
      throw TreeRingError(
        .alreadyExists, "\(folder) is not empty. Name a new folder; nothing is overwritten.",
        file: folder)
    }
  }

  static func goOn(_ isWanted: Bool) throws(TreeRingError) {
    guard isWanted else {
      throw TreeRingError(.cancelled, "The work was cancelled; what it works from is unchanged.")
    }
  }
}
