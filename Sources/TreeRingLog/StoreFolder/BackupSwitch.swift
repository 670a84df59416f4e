// The atomic switch of a backup to its new log. When the new log is complete and synced in
// OUT/next, the backup creates the file OUT/SWITCH. While that exists, the log is in OUT/next,
// otherwise in OUT/log. This backup, or the next backup or opening for writing, then moves the
// files:
//
// 1. Remove all files of OUT/log.
// 2. Link or copy each file of OUT/next to OUT/log; sync OUT/log.
// 3. Remove OUT/SWITCH; sync OUT; remove OUT/next.
//
// Each step may run twice. OUT is synced before step 1 and before the removal of OUT/next, because
// the process that created or removed OUT/SWITCH may have been killed before it synced. OUT/next
// without OUT/SWITCH is a leftover, which may hold erased data. The next backup or opening for
// writing removes it.
//
// A reader takes no lock. It reopens the log if OUT/SWITCH or the names of the segments differ
// before and after the opening. If they are equal, the log is whole: OUT/next does not change while
// OUT/SWITCH exists, and a switch changes the set of segments.

package enum BackupSwitch {
  static let markerName = "SWITCH"
  static let folderName = "next"

  /// The folder that holds the log of the store in `folder`: its `log`, unless a switch has begun.
  /// If `mayWrite`, completes a switch that has begun and removes the leftovers of an unfinished
  /// backup.
  package static func logFolder(
    of folder: String, fileSystem: any FileSystem, mayWrite: Bool
  ) throws(TreeRingError) -> String {
    let (log, next) = ("\(folder)/log", "\(folder)/\(folderName)")
    guard try fileSystem.exists("\(folder)/\(markerName)") else {
      if mayWrite { try clear(folder, fileSystem: fileSystem) }
      return log
    }
    guard mayWrite else { return next }
    // Otherwise a crash could take the marker, and `log` would be the log again.
    try fileSystem.syncDirectory(folder)
    let wanted = try fileSystem.list(next).filter(isOwn)
    for name in try fileSystem.list(log) {
      try fileSystem.unlink("\(log)/\(name)")
    }
    for name in wanted.sorted() {
      try FileCopy.linkOrCopy("\(next)/\(name)", to: "\(log)/\(name)", fileSystem: fileSystem)
    }
    try fileSystem.syncDirectory(log)
    try fileSystem.unlink("\(folder)/\(markerName)")
    try fileSystem.syncDirectory(folder)
    try clear(folder, fileSystem: fileSystem)
    return log
  }

  /// Calls `body` with the folder that holds the log, to read it; repeats that if the log has
  /// changed.
  /// - Parameter folder: the store's folder.
  package static func reading<R>(
    _ folder: String, fileSystem: any FileSystem,
    _ body: (_ logFolder: String) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    for _ in 1..<attempts {
      let before = try State(folder, fileSystem)
      let result = Result { () throws(TreeRingError) in try body(before.logFolder) }
      if try State(folder, fileSystem) == before { return try result.get() }
    }
    // A log in use, whose segments change all the time.
    return try body(try State(folder, fileSystem).logFolder)
  }

  /// The same for a log opened earlier in `logFolder`: it may be in the other folder now.
  static func reading<R>(
    again logFolder: String, fileSystem: any FileSystem,
    _ body: (_ logFolder: String) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    guard let slash = logFolder.lastIndex(of: "/"),
      ["log", folderName].contains(String(logFolder[slash...].dropFirst()))
    else { return try body(logFolder) }
    return try reading(String(logFolder[..<slash]), fileSystem: fileSystem, body)
  }

  private static let attempts = 10

  /// The folder of the log and the names of its segments.
  private struct State: Equatable {
    var logFolder: String
    var segments: Set<SegmentName>

    init(_ folder: String, _ fileSystem: any FileSystem) throws(TreeRingError) {
      logFolder = try BackupSwitch.logFolder(of: folder, fileSystem: fileSystem, mayWrite: false)
      let names = try fileSystem.listIfPresent(logFolder) ?? []
      segments = Set(names.compactMap(SegmentName.init(fileName:)))
    }
  }

  /// Begins the switch: makes `next` the current log.
  static func begin(_ folder: String, fileSystem: any FileSystem) throws(TreeRingError) {
    let marker = try fileSystem.open("\(folder)/\(markerName)", .createNew)
    try marker.sync(.full)
    marker.close()
    try fileSystem.syncDirectory(folder)
  }

  /// Removes `next`, which is not the log, except files that no backup creates.
  private static func clear(
    _ folder: String, fileSystem: any FileSystem
  ) throws(TreeRingError) {
    let next = "\(folder)/\(folderName)"
    guard let names = try fileSystem.listIfPresent(next) else { return }
    // Otherwise a crash could restore the marker, and `next` would be the log again.
    try fileSystem.syncDirectory(folder)
    let own = names.filter(isOwn)
    for name in own { try fileSystem.unlink("\(next)/\(name)") }
    guard own.count == names.count else { return try fileSystem.syncDirectory(next) }
    try fileSystem.removeDirectory(next)
    try fileSystem.syncDirectory(folder)
  }

  /// Whether a backup creates files of this name in `next`.
  static func isOwn(_ name: String) -> Bool {
    SegmentName(fileName: name) != nil || name.hasSuffix(Format.temporarySuffix)
  }
}
