// Backs up the store in a folder while other processes may open it, be killed, and open it again.
//
// 1. Beside an active writer, the backup takes the log up to the commit that the writer has
//    declared durable. Without a writer it takes the log as recovery would leave it. The backup
//    changes nothing in the store's folder, but syncs it (BackupSource.swift).
// 2. A new writer recovers the log: it moves commits from one segment to another and cuts the
//    first. A reader that lists the folder before a recovery and reads after it finds the log too
//    short or damaged. So the backup compares the writer before and after, and starts again if it
//    has changed.
// 3. A writer that has locked the store but not written its shared word leaves that of its
//    predecessor. The predecessor may have been killed with commits that it had not declared
//    durable. An earlier backup that holds these only appears to be ahead of the store: the backup
//    reads the word again.

internal import Logging

extension CommitLog {
  /// Backs up the store in one folder to another folder, as the instance method does.
  ///
  /// - Throws: `locked` if other processes keep opening the store, or one takes too long.
  package static func backUp(
    of store: String, to folder: String, fileSystem: any FileSystem, mayLink: Bool,
    as kind: UnfinishedCopy.Kind = .backup,
    progress: (CopyProgress) throws(TreeRingError) -> Void = { _ in }
  ) throws(TreeRingError) -> CopyReport {
    try withWriter(of: store, fileSystem) { (writer) throws(TreeRingError) in
      let log = try forBackup(of: store, fileSystem: fileSystem, writer)
      defer { try? log.close() }
      return try log.backUp(
        to: folder, fileSystem: fileSystem, mayLink: mayLink, as: kind, progress: progress)
    }
  }

  /// Opens the log of the store in a folder for a backup: for reading, and if another process
  /// writes it, up to the commit that the writer has declared durable.
  ///
  /// - Throws: `locked` if other processes keep opening the store, or one takes too long; otherwise
  ///   as `init`.
  package static func forBackup(
    of store: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> CommitLog {
    try withWriter(of: store, fileSystem) { (writer) throws(TreeRingError) in
      try forBackup(of: store, fileSystem: fileSystem, writer)
    }
  }

  /// Calls `body` with the settled writer of a store, again if a change of writer explains its
  /// error.
  private static func withWriter<R>(
    of store: String, _ fileSystem: any FileSystem,
    _ body: (ObservedWriter) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    try UnfinishedCopy.check(store, fileSystem: fileSystem)
    for _ in 0..<100 {
      let writer = try ObservedWriter.settled(of: store, fileSystem)
      do throws(TreeRingError) {
        return try body(writer)
      } catch {
        guard try writer.explains(error, store, fileSystem) else { throw error }
        ObservedWriter.pause()
      }
    }
    throw ObservedWriter.changingError(store)
  }

  private static func forBackup(
    of store: String, fileSystem: any FileSystem, _ writer: ObservedWriter
  ) throws(TreeRingError) -> CommitLog {
    var options = LogOptions(access: .readOnly)
    options.logger.logLevel = .error
    options.through = writer.durable
    let settled = options
    let log = try BackupSwitch.reading(store, fileSystem: fileSystem) {
      (directory) throws(TreeRingError) in
      try CommitLog(directory: directory, fileSystem: fileSystem, options: settled)
    }
    // A recovery may have run between the listing of the folder and the reads.
    if try writer.hasChanged(store, fileSystem) { throw ObservedWriter.changingError(store) }
    return log
  }
}
