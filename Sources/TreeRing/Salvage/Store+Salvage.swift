// Copies all readable commits of a damaged store into a new one.
//
// 1. Each readable commit is copied under its own number, by a write that applies it. Operations
//    that can no longer be applied become stubs.
// 2. A lost commit becomes a commit without operations and with a note. So does a commit that
//    compaction had removed, until the end, when the new log is rewritten for the old horizon
//    (Salvager.swift).
// 3. The page file too may show how far the log reached, because a checkpoint first syncs the log.
//
// The damaged store is only read.

internal import Logging
public import TreeRingLog

extension Store {
  /// Copies every readable commit of a damaged store into a new one, under the same numbers.
  ///
  /// The report lists operations that were left out: those that can no longer be applied (metadata
  /// of a row whose put is lost), and those whose own value is damaged. The damaged store is not
  /// changed. It must not be open for writing.
  ///
  /// It also lists the lost commits that the log is known to have held, and the reasons why more
  /// may be missing: the end of a log that was not closed is not known. States that can no longer
  /// be rebuilt lie before the new store's horizon. Time and space are proportional to the damaged
  /// log's bytes.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Parameters:
  ///   - damaged: The folder of the damaged store.
  ///   - folder: The folder of the new store: a new or empty one, or one left by an unfinished
  ///     salvage. After a failure its contents do not open as a store.
  ///   - progress: Called from time to time; return false to cancel.
  /// - Throws: `alreadyExists` if the folder holds anything else; `notFound` if there is no store
  ///   or no segment in it; `locked` if it is open for writing; `unfinishedCopy`;
  ///   `unsupportedFormat` if a newer version wrote it; `noSpace`, `io`, `cancelled`.
  @discardableResult
  public static func salvage(
    from damaged: String, to folder: String, progress: (CopyProgress) -> Bool = { _ in true }
  ) throws(TreeRingError) -> SalvageReport {
    try salvage(from: damaged, to: folder, on: PosixFileSystem(), progress: progress)
  }

  @discardableResult
  package static func salvage(
    from damaged: String, to folder: String, on fileSystem: any FileSystem,
    options: StoreOptions = StoreOptions(), progress: (CopyProgress) -> Bool = { _ in true }
  ) throws(TreeRingError) -> SalvageReport {
    try UnfinishedCopy.checkMayBegin(.salvage, in: folder, fileSystem: fileSystem)
    try UnfinishedCopy.check(damaged, fileSystem: fileSystem)
    guard try !fileSystem.isLocked(damaged + "/LOCK") else {
      throw TreeRingError(
        .locked, "Another process has \(damaged) open for writing. Close it there first.",
        file: damaged)
    }
    let log = try BackupSwitch.logFolder(of: damaged, fileSystem: fileSystem, mayWrite: false)
    guard try fileSystem.exists(log) else {
      throw TreeRingError(
        .notFound, "There is no store at \(damaged). Check the path.", file: damaged)
    }
    return try withoutActuallyEscaping(progress) { progress throws(TreeRingError) in
      let salvager = Salvager(
        source: log, reaches: reaches(of: damaged, on: fileSystem), folder: folder,
        fileSystem: fileSystem, options: options, progress: progress)
      return try typed { try salvager.run() }
    }
  }

  /// The commits that the log had reached, according to the metas of the page file. An unreadable
  /// meta may have been the newest, so its commit is unknown.
  private static func reaches(of folder: String, on fileSystem: any FileSystem) -> [LogReach] {
    do throws(TreeRingError) {
      let file = try PageFile.open(folder + "/pages", fileSystem: fileSystem, mode: .readOnly)
      defer { file.close() }
      let (valid, flaws) = try file.metas()
      let isWhole = flaws.isEmpty && (valid.count == 2 || valid.first?.sequence == 1)
      return valid.map {
        LogReach(storeID: $0.storeID, commit: $0.position.commit, isNewest: isWhole)
      }
    } catch { return [] }
  }
}
