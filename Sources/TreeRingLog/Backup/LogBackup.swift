// A backup: a folder OUT whose `log/` holds the same segments, so that OUT opens as a store.
//
// 1. Take OUT's lock, end a switch that was interrupted, look at what an earlier backup left there.
// 2. If nothing is there yet, put every file there, the first segment last: until it comes, OUT does not
//    open. If the new log only adds to it (every file is to stay, the last one may have grown, and the
//    horizon is not beyond what OUT reaches), put the new files there one by one, oldest first: after
//    each, OUT is a whole store that ends a little later.
// 3. Otherwise (compaction or recovery has replaced files, or recovery has moved commits out of the last
//    one) no order of single steps keeps OUT whole, since generations of different times do not fit
//    together. Then the whole log is put together in OUT/next, by second names for what is there already,
//    and takes over at once: BackupSwitch.swift.
//
// A file gets its name when it is whole and synced. Files of the same name, size and header are the
// same file: segments carry a random salt and are never written again.

internal import Logging

extension CommitLog {
  /// Backs the log up to a folder, as `Store.backUp` says.
  ///
  /// - Parameters:
  ///   - folder: the backup's folder; the log goes into `log` in it.
  ///   - fileSystem: where that folder is.
  ///   - mayLink: whether sealed segments may get a second name there instead of a copy.
  ///   - progress: called between pieces of a megabyte at most; what it throws passes through.
  package func backUp(
    to folder: String, fileSystem: any FileSystem, mayLink: Bool,
    progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> CopyReport {
    for _ in 0..<8 where core.options.access == .readOnly {
      do {
        return try backUpOnce(folder, fileSystem, mayLink: mayLink, progress)
      } catch let error as TreeRingError where error.code == .notFound {
        // Another process, which writes this log, has rewritten a segment meanwhile.
        try refresh()
      }
    }
    return try backUpOnce(folder, fileSystem, mayLink: mayLink, progress)
  }

  /// Opens the log of the store in a folder for a backup: for reading, and if another process writes it,
  /// up to what that has said is durable.
  ///
  /// - Throws: `locked` if another process is just opening it; else as `init`.
  package static func forBackup(
    of folder: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> CommitLog {
    var options = LogOptions(access: .readOnly)
    options.logger.logLevel = .error
    let lock = folder + "/LOCK"
    if try fileSystem.isLocked(lock), let word = try SharedWord.opened(lock, fileSystem) {
      guard let durable = word.value.durable else {
        throw TreeRingError(
          .locked, "\(folder) is just being opened elsewhere. Try again in a while.", file: folder)
      }
      options.through = durable
    }
    let settled = options
    return try BackupSwitch.reading(folder, fileSystem: fileSystem) {
      (directory) throws(TreeRingError) in
      try CommitLog(directory: directory, fileSystem: fileSystem, options: settled)
    }
  }

  private func backUpOnce(
    _ folder: String, _ fileSystem: any FileSystem, mayLink: Bool,
    _ progress: (CopyProgress) throws -> Void
  ) throws -> CopyReport {
    core.rewriting.lock()
    defer { core.rewriting.unlock() }
    let core = core
    return try withoutActuallyEscaping(progress) { progress in
      let target = BackupTarget(folder: folder, fileSystem: fileSystem, mayLink: mayLink) {
        try core.checkNotClosed()
        try progress($0)
      }
      let lock = try target.prepare()
      defer { lock.release() }
      try target.checkIsElsewhere(core.directory, on: core.fileSystem)
      let source = try backupSource()
      try target.survey(for: source)
      try target.write(source)
      return target.report
    }
  }
}

/// The folder a backup goes to. One thread.
final class BackupTarget {
  let folder: String
  let fileSystem: any FileSystem
  private let mayLink: Bool
  private let progress: (CopyProgress) throws -> Void
  private(set) var report = CopyReport()
  private var done: UInt64 = 0
  private var total: UInt64 = 0
  private var logFolder: String { folder + "/log" }
  /// The files of the earlier backup that count, oldest first, with header and size; the header is nil
  /// if it cannot be read.
  private var old: [(name: SegmentName, header: SegmentHeader?, size: UInt64)] = []
  private var leftovers: [String] = []
  /// The newest commit of the earlier backup.
  private var oldLast: CommitNumber = 0

  init(
    folder: String, fileSystem: any FileSystem, mayLink: Bool,
    progress: @escaping (CopyProgress) throws -> Void
  ) {
    self.folder = folder
    self.fileSystem = fileSystem
    self.mayLink = mayLink
    self.progress = progress
  }

  // MARK: Before

  /// Makes the folder, locks it, and ends a switch that was interrupted, or removes what was to come before.
  func prepare() throws(TreeRingError) -> any FileLock {
    if try fileSystem.exists(folder) {
      let names = try fileSystem.list(folder)
      let own: Set = ["LOCK", "log", BackupSwitch.folderName, BackupSwitch.markerName]
      let hasLog = try fileSystem.exists(logFolder)
      guard hasLog || names.allSatisfy({ own.contains($0) }) else {
        throw TreeRingError(
          .alreadyExists,
          "\(folder) holds other things than a backup. Name a new or empty folder, or an earlier "
            + "backup of the same store.", file: folder)
      }
    } else {
      try fileSystem.makeDirectory(folder)
    }
    let lock = try fileSystem.lock(folder + "/LOCK")
    _ = try BackupSwitch.logFolder(of: folder, fileSystem: fileSystem, mayWrite: true)
    if try !fileSystem.exists(logFolder) {
      try fileSystem.makeDirectory(logFolder)
    }
    // Also if they are there: an attempt that failed may have made them and gone no further.
    try fileSystem.syncDirectory(folder)
    try fileSystem.syncFolder(above: folder)
    return lock
  }

  /// Throws if the folder is that of the store itself.
  func checkIsElsewhere(
    _ directory: String, on other: any FileSystem
  ) throws(TreeRingError) {
    let name = "\(UInt64.random(in: 0...UInt64.max))\(Format.temporarySuffix)"
    try fileSystem.open("\(logFolder)/\(name)", .createNew).close()
    let isSame: Result<Bool, TreeRingError>
    do {
      isSame = .success(try other.exists("\(directory)/\(name)"))
    } catch {
      isSame = .failure(error)
    }
    try fileSystem.unlink("\(logFolder)/\(name)")
    guard try !isSame.get() else {
      throw TreeRingError(
        .alreadyExists, "A store cannot be backed up to its own folder. Name another one.",
        file: folder)
    }
  }

  /// Looks at the earlier backup, and refuses one of another store.
  func survey(for source: BackupSource) throws(TreeRingError) {
    var newest: [CommitNumber: SegmentName] = [:]
    for file in try fileSystem.list(logFolder) {
      guard let name = SegmentName(fileName: file) else {
        if file.hasSuffix(Format.temporarySuffix) { leftovers.append(file) }
        continue
      }
      if let other = newest[name.firstCommit] {
        leftovers.append(min(other, name).fileName)
      }
      newest[name.firstCommit] = max(name, newest[name.firstCommit] ?? name)
    }
    for name in newest.values.sorted() {
      let file = try fileSystem.open("\(logFolder)/\(name.fileName)", .readOnly)
      let header = try? SegmentScan.header(of: file, name: name).0
      if let header, header.storeID != source.storeID {
        throw TreeRingError(
          .alreadyExists,
          "\(folder) holds another store, or a backup of one. Name a new folder.", file: folder)
      }
      old.append((name, header, try file.size()))
    }
    guard old.isEmpty || old.contains(where: { $0.header != nil }) else {
      throw TreeRingError(
        .alreadyExists,
        "Nothing in \(folder) is readable as a backup of this store. Name a new folder.",
        file: folder)
    }
    oldLast = try lastCommit()
    guard oldLast <= source.lastCommit else {
      throw TreeRingError(
        .conflict,
        "\(folder) reaches to commit \(oldLast), the store only to \(source.lastCommit): it is not "
          + "an older backup of it. Name a new folder.", file: folder, commit: oldLast,
        current: source.lastCommit)
    }
  }

  /// The newest commit of the earlier backup, going by its last segment; 0 if it cannot be told.
  private func lastCommit() throws(TreeRingError) -> CommitNumber {
    guard let last = old.last, last.header != nil else { return 0 }
    let file = try fileSystem.open("\(logFolder)/\(last.name.fileName)", .readOnly)
    let (header, head) = try SegmentScan.header(of: file, name: last.name)
    return try SegmentScan.scan(file, header, head, limit: nil).lastCommit
  }

  // MARK: Writing

  func write(_ source: BackupSource) throws {
    total = source.parts.reduce(0) { $0 + $1.byteCount }
    report.lastCommit = source.lastCommit
    report.byteCount = total
    report.segmentCount = source.parts.count
    // Derived from the log as it was; a new one is made when the backup is opened for writing.
    if try fileSystem.exists(folder + "/pages") { try fileSystem.unlink(folder + "/pages") }
    if old.isEmpty {
      // The first segment comes last: without it nothing opens, and with it all does.
      for part in source.parts.reversed() {
        if part.name == source.parts.first?.name { try fileSystem.syncDirectory(logFolder) }
        try put(part, in: logFolder)
      }
      try fileSystem.syncDirectory(logFolder)
      try remove(leftovers)
    } else if onlyAdds(source) {
      for part in source.parts where try !keep(part) {
        try put(part, in: logFolder)
        // Whatever a crash leaves, a segment is never there without those before it.
        try fileSystem.syncDirectory(logFolder)
      }
      // What is kept may be there by name only, since an attempt that failed.
      try fileSystem.syncDirectory(logFolder)
      try remove(leftovers)
    } else {
      try writeAside(source)
    }
  }

  /// Whether every file of the earlier backup is to stay, or to grow if it is the last one, and the
  /// backup is whole after each file that is added.
  private func onlyAdds(_ source: BackupSource) -> Bool {
    for (index, file) in old.enumerated() {
      guard index < source.parts.count, file.name == source.parts[index].name,
        file.header == source.parts[index].header
      else { return false }
      if index + 1 < old.count, file.size != source.parts[index].byteCount { return false }
    }
    // Recovery may have cut the last file, and have copied what it took off to a new segment: until that
    // came, OUT would lack those commits.
    guard oldLast <= source.parts[old.count - 1].lastCommit else { return false }
    return source.horizon <= oldLast
  }

  /// Whether a file of the earlier backup is this part already.
  private func isThere(_ part: BackupPart) -> Bool {
    old.contains {
      $0.name == part.name && $0.header == part.header && $0.size == part.byteCount
    }
  }

  private func keep(_ part: BackupPart) throws -> Bool {
    guard isThere(part) else { return false }
    report.keptByteCount += part.byteCount
    try advance(by: part.byteCount)
    return true
  }

  private func writeAside(_ source: BackupSource) throws {
    let next = folder + "/" + BackupSwitch.folderName
    try fileSystem.makeDirectory(next)
    for part in source.parts {
      if isThere(part) {
        try FileCopy.linkOrCopy(
          "\(logFolder)/\(part.name.fileName)", to: "\(next)/\(part.name.fileName)",
          fileSystem: fileSystem)
        _ = try keep(part)
      } else {
        try put(part, in: next)
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

  private func remove(_ names: [String]) throws(TreeRingError) {
    guard !names.isEmpty else { return }
    for name in names where try fileSystem.exists("\(logFolder)/\(name)") {
      try fileSystem.unlink("\(logFolder)/\(name)")
      report.removedFiles.append("\(logFolder)/\(name)")
    }
    try fileSystem.syncDirectory(logFolder)
  }

  /// Puts one file into a folder, in place of one of the same name.
  private func put(_ part: BackupPart, in folder: String) throws {
    let path = "\(folder)/\(part.name.fileName)"
    let aside = path.dropLast(Format.segmentSuffix.utf8.count) + Format.temporarySuffix
    let temporary = String(aside)
    if try fileSystem.exists(temporary) { try fileSystem.unlink(temporary) }
    if mayLink, part.isSealed, try link(part.path, to: temporary) {
      try fileSystem.rename(temporary, to: path)
      report.linkedByteCount += part.byteCount
      return try advance(by: part.byteCount)
    }
    do {
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

  /// False where there are no second names.
  private func link(_ path: String, to newPath: String) throws(TreeRingError) -> Bool {
    do throws(TreeRingError) {
      try fileSystem.link(path, to: newPath)
      return true
    } catch  where error.code == .notSupported { return false }
  }

  /// Reads a copy back: a backup of damaged segments is none.
  private func check(_ file: any File, _ part: BackupPart) throws(TreeRingError) {
    let (header, head) = try SegmentScan.header(of: file, name: part.name)
    let scan = try SegmentScan.scan(file, header, head, limit: nil)
    guard header == part.header, scan.flaw == nil, scan.end.offset == part.byteCount else {
      throw .flaw(
        scan.flaw ?? .outOfOrder, file: part.path, offset: scan.end.offset,
        commit: scan.lastCommit + 1)
    }
  }

  private func advance(by count: UInt64) throws {
    done += count
    try progress(CopyProgress(doneByteCount: done, byteCount: total))
  }
}
