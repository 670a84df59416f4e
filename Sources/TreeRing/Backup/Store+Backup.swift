// Backups of a store in use, and restoring a store from a backup.

public import TreeRingLog

extension Store {
  /// Backs the store up to a folder, while it is in use. Writes and reads continue. Compaction and
  /// erasing wait for the backup, and the backup for them.
  ///
  /// The backup holds every commit that was complete when it began, and is itself a store. It can
  /// be opened, and it can be copied elsewhere, file by file, in any order. If the folder holds an
  /// older backup of this store, only new data is copied, and files that compaction has replaced
  /// are removed. Where the file system allows it, sealed segments are hard links instead of
  /// copies. So a backup on the same device takes little room, and is lost with that device.
  ///
  /// A crash leaves either the older backup or the new one. If there was no older one, it leaves a
  /// folder that does not open, in which the next backup begins again.
  ///
  /// Rows erased from the store stay in backups until these are refreshed.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Parameters:
  ///   - folder: A new or empty folder, or one with an older backup of this store.
  ///   - progress: Called now and then, at least after each megabyte; return false to cancel.
  /// - Throws: `alreadyExists` if the folder holds something else; `conflict` if the older backup
  ///   has commits that this store lacks; `locked` if it is open for writing; `corruption` if a
  ///   copied segment is damaged; `noSpace`, `io`, `cancelled`; `notAllowed` inside the closure of
  ///   a write.
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
    // A row that is half erased must not get into a backup.
    return try maintenance.hold { () throws(TreeRingError) in
      try log.backUp(to: folder, fileSystem: fileSystem, mayLink: mayLink) {
        (copied) throws(TreeRingError) in
        try checkOpen()
        try Self.checkContinues(progress(copied))
      }
    }
  }

  /// Copies a backup to a new store. Each copied segment is read back and checked.
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Parameters:
  ///   - backup: The folder of the backup, which is not changed.
  ///   - folder: The folder of the new store: a new or empty one, or one left by an unfinished
  ///     restore. After a failure its contents do not open as a store.
  ///   - progress: Called now and then, at least after each megabyte; return false to cancel.
  /// - Throws: `alreadyExists` if the folder holds anything else; `locked` if another process
  ///   restores to it; `notFound` if there is no backup; `unfinishedCopy` if the backup was never
  ///   finished; `corruption` if it is damaged (then salvage it); `noSpace`, `io`, `cancelled`.
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
    try UnfinishedCopy.checkMayBegin(.restore, in: folder, fileSystem: fileSystem)
    return try CommitLog.backUp(
      of: backup, to: folder, fileSystem: fileSystem, mayLink: false, as: .restore
    ) { (copied) throws(TreeRingError) in
      try checkContinues(progress(copied))
    }
  }

  static func checkContinues(_ isWanted: Bool) throws(TreeRingError) {
    guard isWanted else {
      throw TreeRingError(
        .cancelled, "The copy was cancelled; the store that it copies is unchanged.")
    }
  }
}
