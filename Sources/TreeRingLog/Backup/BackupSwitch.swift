// How a backup changes as a whole. Its new log lies ready in OUT/next, synced; then the file OUT/SWITCH
// is made. From that moment on OUT/next is the log; before it, OUT/log is. What remains, moving the
// files over, is done by the backup itself, or by the next one, or by the next opening for writing:
//
// 1. remove all of OUT/log; 2. give each file of OUT/next a second name
// in OUT/log (or copy it); sync OUT/log; 3. remove OUT/SWITCH, sync OUT; 4. remove OUT/next.
//
// Each step may be done twice. Before the first and the last one OUT is synced: whoever made or removed
// OUT/SWITCH may have ended before that was durable. A folder OUT/next without OUT/SWITCH is a leftover; the
// next backup or opening for writing removes it, for what is erased from the log then may be in there.
//
// Who only reads takes no lock, so the log may change while it is being opened: then it is opened again.
// OUT/next does not change while OUT/SWITCH is there; and a switch changes which segments there are. So
// what was opened is whole if OUT/SWITCH was there before and after, or was not, and the segments have the
// same names.

package enum BackupSwitch {
  static let markerName = "SWITCH"
  static let folderName = "next"

  /// The folder that holds the log of the store in `folder`: `log` in it, unless a switch has begun.
  /// That is ended here if something may be written, and what an unfinished backup has left is removed.
  package static func logFolder(
    of folder: String, fileSystem: any FileSystem, mayWrite: Bool
  ) throws(TreeRingError) -> String {
    let (log, next) = ("\(folder)/log", "\(folder)/\(folderName)")
    guard try fileSystem.exists("\(folder)/\(markerName)") else {
      if mayWrite { try clear(folder, fileSystem: fileSystem) }
      return log
    }
    guard mayWrite else { return next }
    // Were the marker gone again after a crash, `log` would be the log.
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

  /// Calls `body` with the folder that holds the log, to read it; again if that has changed meanwhile.
  /// - Parameter folder: the store's.
  package static func reading<R>(
    _ folder: String, fileSystem: any FileSystem,
    _ body: (_ logFolder: String) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    for _ in 1..<attempts {
      let before = try State(folder, fileSystem)
      let result: Result<R, TreeRingError>
      do throws(TreeRingError) {
        result = .success(try body(before.logFolder))
      } catch {
        result = .failure(error)
      }
      if try State(folder, fileSystem) == before { return try result.get() }
    }
    // A log in use, in which segments come and go all the time.
    return try body(try State(folder, fileSystem).logFolder)
  }

  /// The same for a log that was opened before, in the folder named: it may be in the other one now.
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

  /// Where the log is, and its segments.
  private struct State: Equatable {
    var logFolder: String
    var segments: Set<SegmentName>

    init(_ folder: String, _ fileSystem: any FileSystem) throws(TreeRingError) {
      logFolder = try BackupSwitch.logFolder(of: folder, fileSystem: fileSystem, mayWrite: false)
      do throws(TreeRingError) {
        segments = Set(try fileSystem.list(logFolder).compactMap(SegmentName.init(fileName:)))
      } catch  where error.code == .notFound { segments = [] }
    }
  }

  /// Makes `next` the log.
  static func begin(_ folder: String, fileSystem: any FileSystem) throws(TreeRingError) {
    let marker = try fileSystem.open("\(folder)/\(markerName)", .createNew)
    try marker.sync(.full)
    marker.close()
    try fileSystem.syncDirectory(folder)
  }

  /// Removes `next`, which is not the log; whatever no backup has put there stays.
  private static func clear(
    _ folder: String, fileSystem: any FileSystem
  ) throws(TreeRingError) {
    let next = "\(folder)/\(folderName)"
    let names: [String]
    do throws(TreeRingError) {
      names = try fileSystem.list(next)
    } catch  where error.code == .notFound { return }
    // Were the marker there again after a crash, `next` would be the log.
    try fileSystem.syncDirectory(folder)
    let own = names.filter(isOwn)
    for name in own { try fileSystem.unlink("\(next)/\(name)") }
    guard own.count == names.count else { return try fileSystem.syncDirectory(next) }
    try fileSystem.removeDirectory(next)
    try fileSystem.syncDirectory(folder)
  }

  /// Whether a backup puts files of this name into `next`.
  private static func isOwn(_ name: String) -> Bool {
    SegmentName(fileName: name) != nil || name.hasSuffix(Format.temporarySuffix)
  }
}
