// Backing up the store in a folder that another process may open, kill and reopen at any moment of
// the backup.
//
// 1. If a writer is active, the log counts up to the commit that the writer has declared durable.
//    Without a writer it is judged as recovery would judge it. The backup changes nothing in the
//    store's folder, but syncs it (BackupSource.swift).
// 2. A new writer recovers the log: it moves commits from one segment to another and cuts the
//    first. A reader that lists the folder before a recovery and reads after it finds the log too
//    short or damaged. So the backup inspects the writer before and after, and starts again if it
//    has changed.
// 3. A writer that has locked the store but not begun leaves the shared word of its predecessor.
//    The predecessor may have been killed with commits that it had not declared durable. A backup
//    that holds these is not ahead of the store: the backup reads the word again.

internal import Logging

extension CommitLog {
  /// Backs up the store in a folder to another folder, as `backUp` does.
  ///
  /// - Throws: `locked` if other processes keep opening the store, or one takes too long.
  package static func backUp(
    of store: String, to folder: String, fileSystem: any FileSystem, mayLink: Bool,
    as kind: UnfinishedCopy.Kind = .backup, progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> CopyReport {
    try UnfinishedCopy.check(store, fileSystem: fileSystem)
    for _ in 0..<attempts {
      let writer = try SeenWriter.settled(of: store, fileSystem)
      do {
        let log = try forBackup(of: store, fileSystem: fileSystem, writer)
        defer { try? log.close() }
        return try log.backUp(
          to: folder, fileSystem: fileSystem, mayLink: mayLink, as: kind, progress: progress)
      } catch let error as TreeRingError {
        guard try writer.explains(error, store, fileSystem) else { throw error }
        SeenWriter.nap()
      }
    }
    throw SeenWriter.changing(store)
  }

  /// Opens the log of the store in a folder for a backup: for reading, and if another process
  /// writes it, up to the commit that the writer has declared durable.
  ///
  /// - Throws: `locked` if other processes keep opening the store, or one takes too long; otherwise
  ///   as `init`.
  package static func forBackup(
    of store: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> CommitLog {
    try UnfinishedCopy.check(store, fileSystem: fileSystem)
    for _ in 0..<attempts {
      let writer = try SeenWriter.settled(of: store, fileSystem)
      do throws(TreeRingError) {
        return try forBackup(of: store, fileSystem: fileSystem, writer)
      } catch {
        guard try writer.explains(error, store, fileSystem) else { throw error }
        SeenWriter.nap()
      }
    }
    throw SeenWriter.changing(store)
  }

  private static let attempts = 100

  private static func forBackup(
    of store: String, fileSystem: any FileSystem, _ writer: SeenWriter
  ) throws(TreeRingError) -> CommitLog {
    var options = LogOptions(access: .readOnly)
    options.logger.logLevel = .error
    options.through = writer.durable
    let settled = options
    let log = try BackupSwitch.reading(store, fileSystem: fileSystem) {
      (directory) throws(TreeRingError) in
      try CommitLog(directory: directory, fileSystem: fileSystem, options: settled)
    }
    // The folder may have been listed before a recovery and read after it.
    if try writer.hasChanged(store, fileSystem) { throw SeenWriter.changing(store) }
    return log
  }
}
