// How a backup changes as a whole. Its new log lies ready in OUT/next, synced; then the file OUT/SWITCH
// is made. From that moment on OUT/next is the log; before it, OUT/log is. What remains, moving the
// files over, is done by the backup itself, or by the next one, or by the next opening for writing:
//
// 1. remove all of OUT/log; 2. give each file of OUT/next a second name
// in OUT/log (or copy it); sync OUT/log; 3. remove OUT/SWITCH, sync OUT; 4. remove OUT/next.
//
// Each step may be done twice. A folder OUT/next without OUT/SWITCH is a leftover.

package enum BackupSwitch {
  static let markerName = "SWITCH"
  static let folderName = "next"

  /// The folder that holds the log of the store in `folder`: `log` in it, unless a switch has begun.
  /// That is ended here if something may be written.
  package static func logFolder(
    of folder: String, fileSystem: any FileSystem, mayWrite: Bool
  ) throws(TreeRingError) -> String {
    guard try fileSystem.exists("\(folder)/\(markerName)") else { return folder + "/log" }
    guard mayWrite else { return "\(folder)/\(folderName)" }
    let (log, next) = ("\(folder)/log", "\(folder)/\(folderName)")
    let wanted = Set(try fileSystem.list(next))
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

  /// Makes `next` the log.
  static func begin(_ folder: String, fileSystem: any FileSystem) throws(TreeRingError) {
    let marker = try fileSystem.open("\(folder)/\(markerName)", .createNew)
    try marker.sync(.full)
    marker.close()
    try fileSystem.syncDirectory(folder)
  }

  /// Removes `next`, which is not the log.
  static func clear(_ folder: String, fileSystem: any FileSystem) throws(TreeRingError) {
    let next = "\(folder)/\(folderName)"
    guard try fileSystem.exists(next) else { return }
    for name in try fileSystem.list(next) { try fileSystem.unlink("\(next)/\(name)") }
    try fileSystem.removeDirectory(next)
    try fileSystem.syncDirectory(folder)
  }
}
