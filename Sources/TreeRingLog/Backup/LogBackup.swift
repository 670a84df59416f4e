// A backup: a folder OUT whose `log/` holds the same segments, so that OUT opens as a store.
//
// 1. Lock OUT, complete an interrupted switch, inspect an earlier backup.
// 2. Without one, mark OUT as unfinished (UnfinishedCopy.swift), so that it does not open. Copy
//    every file, the first segment last, and remove the mark.
// 3. If the new log only adds to the earlier one, copy the new files one by one, oldest first:
//    after each, OUT is a whole store. The log only adds if every old file stays, except that the
//    last may have grown, and if the horizon is not after OUT's last commit.
// 4. Otherwise compaction or recovery has replaced files, or recovery has moved commits out of the
//    last one. Replacing files one by one would mix generations of different times, which are no
//    whole log. So assemble the new log in OUT/next, with hard links to files that OUT has already,
//    and switch to it atomically (BackupSwitch.swift).
//
// A file gets its name when it is whole and synced. Files of the same name, size and header have
// the same content: segments have a random salt, and are not written again once they are sealed.

extension CommitLog {
  /// Backs up the log to a folder, as `Store.backUp` describes.
  ///
  /// - Parameters:
  ///   - folder: the backup's folder; the log goes into its subfolder `log`.
  ///   - fileSystem: the file system of that folder.
  ///   - mayLink: whether the backup may contain hard links to sealed segments instead of copies.
  ///   - kind: the operation that the mark on the unfinished folder names. Every kind but `backup`
  ///     requires a new or empty folder.
  ///   - progress: called between pieces of at most a megabyte; its errors are rethrown.
  package func backUp(
    to folder: String, fileSystem: any FileSystem, mayLink: Bool,
    as kind: UnfinishedCopy.Kind = .backup,
    progress: (CopyProgress) throws(TreeRingError) -> Void = { _ in }
  ) throws(TreeRingError) -> CopyReport {
    try withCurrentFiles { () throws(TreeRingError) in
      try backUpOnce(folder, fileSystem, mayLink: mayLink, as: kind, progress)
    }
  }

  /// Calls `body`. Refreshes a log that is open for reading and calls it again, if the error may
  /// result from files that the writer, in another process, has rewritten or recovered.
  func withCurrentFiles<R>(
    _ body: () throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    for _ in 0..<Recovery.attempts where core.options.access == .readOnly {
      do throws(TreeRingError) {
        return try body()
      } catch {
        guard try isOutdated(error) else { throw error }
        try refresh()
      }
    }
    return try body()
  }

  /// Whether an error may result from files that changed after the log was opened for reading.
  private func isOutdated(_ error: TreeRingError) throws(TreeRingError) -> Bool {
    if error.code == .notFound { return true }
    guard error.code == .corruption else { return false }
    let found = try core.fileSystem.list(core.directory).filter {
      SegmentName(fileName: $0) != nil
    }
    return Set(found.map { "\(core.directory)/\($0)" }) != Set(segments.map(\.path))
  }

  private func backUpOnce(
    _ folder: String, _ fileSystem: any FileSystem, mayLink: Bool, as kind: UnfinishedCopy.Kind,
    _ progress: (CopyProgress) throws(TreeRingError) -> Void
  ) throws(TreeRingError) -> CopyReport {
    let core = core
    return try core.rewriting.withLock { _ throws(TreeRingError) in
      return try withoutActuallyEscaping(progress) { progress throws(TreeRingError) in
        let target = BackupTarget(folder: folder, fileSystem: fileSystem, mayLink: mayLink) {
          (copied) throws(TreeRingError) in
          try core.checkOpen()
          try progress(copied)
        }
        let lock = try target.prepare(kind)
        defer {
          lock.release()
          target.copy?.release()
        }
        try target.checkIsElsewhere(core.directory, on: core.fileSystem)
        let source = try backupSource()
        try target.inspect(for: source)
        try target.write(source)
        try target.copy?.finish()
        return target.report
      }
    }
  }
}

/// The destination folder of a backup. For one thread.
final class BackupTarget {
  let folder: String
  let fileSystem: any FileSystem
  private let mayLink: Bool
  private let progress: (CopyProgress) throws(TreeRingError) -> Void
  private(set) var report = CopyReport()
  /// The mark of a new copy; nil if an earlier backup is refreshed.
  private(set) var copy: UnfinishedCopy?
  private var done: UInt64 = 0
  private var total: UInt64 = 0
  private var logFolder: String { folder + "/log" }
  /// The current files of the earlier backup, oldest first, with header and size. The header is nil
  /// if it cannot be read.
  private var old: [(name: SegmentName, header: SegmentHeader?, size: UInt64)] = []
  private var leftovers: [String] = []
  /// The newest commit of the earlier backup.
  private var oldLast: CommitNumber = 0

  init(
    folder: String, fileSystem: any FileSystem, mayLink: Bool,
    progress: @escaping (CopyProgress) throws(TreeRingError) -> Void
  ) {
    self.folder = folder
    self.fileSystem = fileSystem
    self.mayLink = mayLink
    self.progress = progress
  }

  // MARK: Before

  /// Makes and locks the folder. Completes an interrupted switch or removes an unfinished `next`.
  func prepare(_ kind: UnfinishedCopy.Kind) throws(TreeRingError) -> any FileLock {
    let isNew = try isNew(kind)
    if isNew {
      try UnfinishedCopy.checkMayBegin(kind, in: folder, fileSystem: fileSystem)
      try fileSystem.makeDirectory(folder)
    }
    let lock = try fileSystem.lockStore(folder + "/LOCK")
    if isNew { copy = try UnfinishedCopy.begin(kind, in: folder, fileSystem: fileSystem) }
    _ = try BackupSwitch.logFolder(of: folder, fileSystem: fileSystem, mayWrite: true)
    if try !fileSystem.exists(logFolder) {
      try fileSystem.makeDirectory(logFolder)
    }
    // Even if the folders exist: a failed attempt may have created them without a sync.
    try fileSystem.syncDirectory(folder)
    try fileSystem.syncFolder(above: folder)
    return lock
  }

  /// Whether there is no earlier backup to refresh. Changes nothing.
  private func isNew(_ kind: UnfinishedCopy.Kind) throws(TreeRingError) -> Bool {
    if kind != .backup { return true }
    switch try StoreFolder(folder, fileSystem: fileSystem) {
    case .absent, .empty: return true
    case .store: return try UnfinishedCopy.kind(in: folder, fileSystem: fileSystem) != nil
    case .damaged: throw unreadable
    case .foreign:
      throw TreeRingError(
        .alreadyExists,
        "\(folder) is not a backup. Nothing was changed. Name a new or empty folder, or an earlier "
          + "backup of the same store.", file: folder)
    }
  }

  private var unreadable: TreeRingError {
    TreeRingError(
      .alreadyExists,
      "The backup in \(folder) is damaged: it has no readable segment. Name a new folder.",
      file: folder)
  }

  /// Throws if the folder is the store's own.
  func checkIsElsewhere(
    _ directory: String, on other: any FileSystem
  ) throws(TreeRingError) {
    let name = "\(UInt64.random(in: 0...UInt64.max))\(Format.temporarySuffix)"
    try fileSystem.open("\(logFolder)/\(name)", .createNew).close()
    let isSame = Result { () throws(TreeRingError) in try other.exists("\(directory)/\(name)") }
    try fileSystem.unlink("\(logFolder)/\(name)")
    guard try !isSame.get() else {
      throw TreeRingError(
        .alreadyExists, "A store cannot be backed up to its own folder. Name another one.",
        file: folder)
    }
  }

  /// Inspects the earlier backup and refuses one of another store.
  func inspect(for source: BackupSource) throws(TreeRingError) {
    let files = LogFiles(try fileSystem.list(logFolder))
    leftovers = files.leftovers
    for name in files.names {
      let file = try fileSystem.open("\(logFolder)/\(name.fileName)", .readOnly)
      let header = try? SegmentScan.header(of: file, name: name).0
      if let header, header.storeID != source.storeID {
        throw TreeRingError(
          .alreadyExists,
          "\(folder) holds another store, or a backup of one. Name a new folder.", file: folder)
      }
      old.append((name, header, try file.size()))
    }
    guard old.isEmpty || old.contains(where: { $0.header != nil }) else { throw unreadable }
    let end = try lastSegment()
    oldLast = end?.lastCommit ?? 0
    guard oldLast <= source.lastCommit else {
      throw TreeRingError(
        .conflict,
        "\(folder) ends at commit \(oldLast), but the store at \(source.lastCommit): it is not an "
          + "older backup of the store. Name a new folder.", file: folder, commit: oldLast,
        current: source.lastCommit)
    }
    if let last = end?.last, try !source.holds(last) {
      throw TreeRingError(
        .conflict,
        "Commit \(last.commit) in \(folder) differs from that of the store: one of the two was "
          + "restored and has continued separately. Name a new folder.",
        file: folder, commit: last.commit,
        current: source.lastCommit)
    }
  }

  /// The last segment of the earlier backup; nil if it cannot be read.
  private func lastSegment() throws(TreeRingError) -> SegmentScan? {
    guard let last = old.last, last.header != nil else { return nil }
    let file = try fileSystem.open("\(logFolder)/\(last.name.fileName)", .readOnly)
    defer { file.close() }
    return try SegmentScan.scan(file, name: last.name)
  }

  // MARK: Writing

  func write(_ source: BackupSource) throws(TreeRingError) {
    total = source.parts.reduce(0) { $0 + $1.byteCount }
    report.lastCommit = source.lastCommit
    report.byteCount = total
    report.segmentCount = source.parts.count
    // The page file belongs to the previous log. Opening the backup for writing makes a new one.
    if try fileSystem.exists(folder + "/pages") { try fileSystem.unlink(folder + "/pages") }
    if old.isEmpty {
      // The first segment comes last: without it the folder does not open.
      for part in source.parts.reversed() {
        if part.name == source.parts.first?.name { try fileSystem.syncDirectory(logFolder) }
        try put(part, in: logFolder)
      }
    } else if onlyAdds(source) {
      for part in source.parts where try !keep(part) {
        try put(part, in: logFolder)
        // So that after a crash no segment is present without those before it.
        try fileSystem.syncDirectory(logFolder)
      }
    } else {
      return try writeAside(source)
    }
    // Even without new files: a failed attempt may have left the kept files' names unsynced.
    try fileSystem.syncDirectory(logFolder)
    try remove(leftovers, of: source)
  }

  /// Whether every file of the earlier backup stays (the last one may grow), and the backup is
  /// whole after each added file.
  private func onlyAdds(_ source: BackupSource) -> Bool {
    for (index, file) in old.enumerated() {
      guard index < source.parts.count, file.name == source.parts[index].name,
        file.header == source.parts[index].header
      else { return false }
      if index + 1 < old.count, file.size != source.parts[index].byteCount { return false }
    }
    // Recovery may have cut the last file and copied its tail to a new segment. Until that segment
    // is copied too, OUT would lack those commits.
    guard oldLast <= source.parts[old.count - 1].lastCommit else { return false }
    return source.horizon <= oldLast
  }

  /// Whether the earlier backup already holds this part.
  private func alreadyHolds(_ part: BackupPart) -> Bool {
    old.contains {
      $0.name == part.name && $0.header == part.header && $0.size == part.byteCount
    }
  }

  private func keep(_ part: BackupPart) throws(TreeRingError) -> Bool {
    guard alreadyHolds(part) else { return false }
    report.keptByteCount += part.byteCount
    try advance(by: part.byteCount)
    return true
  }

  private func writeAside(_ source: BackupSource) throws(TreeRingError) {
    let next = folder + "/" + BackupSwitch.folderName
    try fileSystem.makeDirectory(next)
    for part in source.parts {
      if alreadyHolds(part) {
        try FileCopy.linkOrCopy(
          "\(logFolder)/\(part.name.fileName)", to: "\(next)/\(part.name.fileName)",
          fileSystem: fileSystem)
        _ = try keep(part)
      } else {
        try put(part, in: next)
        // A file that replaces another is read whole, even if it is a hard link.
        if old.contains(where: { $0.name.firstCommit == part.name.firstCommit }) {
          try checkIsWhole(part, in: next)
        }
      }
    }
    try fileSystem.syncDirectory(next)
    try fileSystem.syncDirectory(folder)
    let kept = Set(source.parts.map(\.name))
    report.removedFiles = old.map(\.name).filter { !kept.contains($0) }
      .map { "\(logFolder)/\($0.fileName)" }
    try BackupSwitch.begin(folder, fileSystem: fileSystem)
    _ = try BackupSwitch.logFolder(of: folder, fileSystem: fileSystem, mayWrite: true)
  }

  private func remove(_ names: [String], of source: BackupSource) throws(TreeRingError) {
    guard !names.isEmpty else { return }
    let replaced = Set(names.compactMap { SegmentName(fileName: $0)?.firstCommit })
    for part in source.parts where replaced.contains(part.name.firstCommit) {
      try checkIsWhole(part, in: logFolder)
    }
    for name in names where try fileSystem.exists("\(logFolder)/\(name)") {
      try fileSystem.unlink("\(logFolder)/\(name)")
      report.removedFiles.append("\(logFolder)/\(name)")
    }
    try fileSystem.syncDirectory(logFolder)
  }

  /// Puts one file into a folder; replaces a file of the same name.
  private func put(_ part: BackupPart, in folder: String) throws(TreeRingError) {
    let path = "\(folder)/\(part.name.fileName)"
    let temporary = SegmentName.path(path, with: Format.temporarySuffix)
    if try fileSystem.exists(temporary) { try fileSystem.unlink(temporary) }
    if mayLink, part.isSealed, try link(part.linkPath, to: temporary) {
      try fileSystem.rename(temporary, to: path)
      report.linkedByteCount += part.byteCount
      return try advance(by: part.byteCount)
    }
    do throws(TreeRingError) {
      let source = try part.open()
      let file = try fileSystem.open(temporary, .createNew)
      defer { file.close() }
      try FileCopy.copy(
        source, count: part.end, to: file, then: part.mark, advance: advance(by:))
      try check(file, part)
      try fileSystem.rename(temporary, to: path)
      report.copiedByteCount += part.byteCount
    } catch {
      try? fileSystem.unlink(temporary)
      throw error
    }
  }

  /// Creates a hard link. Returns false if the file system does not support that, or if another
  /// process has rewritten the file, which may still be open for copying.
  private func link(_ path: String, to newPath: String) throws(TreeRingError) -> Bool {
    do throws(TreeRingError) {
      try fileSystem.link(path, to: newPath)
      return true
    } catch  where [.notSupported, .notFound].contains(error.code) { return false }
  }

  private func checkIsWhole(
    _ part: BackupPart, in folder: String
  ) throws(TreeRingError) {
    let file = try fileSystem.open("\(folder)/\(part.name.fileName)", .readOnly)
    defer { file.close() }
    try check(file, part)
  }

  /// Reads a copy back, because a backup of damaged segments is useless.
  private func check(_ file: any File, _ part: BackupPart) throws(TreeRingError) {
    let scan = try SegmentScan.scan(file, name: part.name)
    guard scan.header == part.header, scan.flaw == nil, scan.end.offset == part.byteCount else {
      throw .flaw(
        scan.flaw ?? .outOfOrder, file: part.path, offset: scan.end.offset,
        commit: scan.lastCommit + 1)
    }
  }

  private func advance(by count: UInt64) throws(TreeRingError) {
    done += count
    try progress(CopyProgress(doneByteCount: done, byteCount: total))
  }
}
