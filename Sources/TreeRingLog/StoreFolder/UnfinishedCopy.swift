// The marker of an unfinished copy of a store: the file UNFINISHED in the copy's folder. It is
// durable before any other file is created there, and is removed last. The process that makes the
// copy holds the lock of the file. An interrupted copy does not open as a store. An operation of
// the same kind starts it again; whoever wants to use it as it is removes the file.

/// The marker of an unfinished copy.
package final class UnfinishedCopy: Sendable {
  /// The operation that makes the copy.
  package enum Kind: String, Sendable {
    case backup, restore, salvage, replay, comparison
    /// A base from another machine. What has arrived stays for the next attempt.
    case transfer
  }

  static let name = "UNFINISHED"
  private static let title = "treering "

  private let folder: String
  private let fileSystem: any FileSystem
  private let lock: any FileLock
  private var path: String { "\(folder)/\(Self.name)" }

  private init(_ folder: String, _ fileSystem: any FileSystem, _ lock: any FileLock) {
    self.folder = folder
    self.fileSystem = fileSystem
    self.lock = lock
  }

  /// Creates the folder if it is missing, marks it, and removes the leftovers of an unfinished
  /// operation of the same kind, except for a transfer.
  ///
  /// - Throws: as `checkMayBegin`; `locked` if another process makes a copy there; `io`, `noSpace`.
  package static func begin(
    _ kind: Kind, in folder: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> UnfinishedCopy {
    try checkMayBegin(kind, in: folder, fileSystem: fileSystem)
    try fileSystem.makeDirectory(folder)
    let path = "\(folder)/\(name)"
    let lock = try fileSystem.lock(path)
    do throws(TreeRingError) {
      // The previous holder may have finished, or have left a copy of another kind.
      try lock.check()
      try checkMayBegin(kind, in: folder, fileSystem: fileSystem)
      let words =
        "This folder holds an unfinished copy of a store. Run the same command again, or remove "
        + "the folder.\n"
      try lock.write(Array("\(title)\(kind.rawValue)\n\(words)".utf8), at: 0)
      let file = try fileSystem.open(path, .readWrite)
      defer { file.close() }
      try file.sync(.full)
      try fileSystem.syncDirectory(folder)
      try fileSystem.syncFolder(above: folder)
      if kind != .transfer { try clear(folder, fileSystem) }
    } catch {
      lock.release()
      throw error
    }
    return UnfinishedCopy(folder, fileSystem, lock)
  }

  /// Throws `alreadyExists` unless the folder is absent or empty, or holds an unfinished copy of
  /// this kind.
  package static func checkMayBegin(
    _ kind: Kind, in folder: String, fileSystem: any FileSystem
  ) throws(TreeRingError) {
    if let found = try self.kind(in: folder, fileSystem: fileSystem) {
      guard found == kind.rawValue || found.isEmpty else {
        throw TreeRingError(
          .alreadyExists,
          "\(folder) holds an unfinished \(found), not a \(kind.rawValue). Name a new folder, or "
            + "remove this one.", file: folder)
      }
      return
    }
    switch try StoreFolder(folder, fileSystem: fileSystem) {
    case .absent, .empty: return
    case .store, .damaged, .foreign:
      throw TreeRingError(
        .alreadyExists, "\(folder) is not empty. Name a new folder; nothing is overwritten.",
        file: folder)
    }
  }

  /// Throws `unfinishedCopy` if the folder holds one.
  package static func check(_ folder: String, fileSystem: any FileSystem) throws(TreeRingError) {
    guard let kind = try kind(in: folder, fileSystem: fileSystem) else { return }
    let work = kind.isEmpty ? "copy" : kind
    throw TreeRingError(
      .unfinishedCopy,
      "\(folder) holds an unfinished \(work) of a store. Run the same command again, or remove the "
        + "folder. To use the incomplete copy, remove the file \(name).",
      file: "\(folder)/\(name)")
  }

  /// The kind of the unfinished copy in a folder; empty if the kind was not written yet; nil if
  /// there is no unfinished copy.
  package static func kind(
    in folder: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> String? {
    guard let file = try fileSystem.openIfPresent("\(folder)/\(name)") else { return nil }
    defer { file.close() }
    let start = try file.start(count: 64).prefix { $0 != 10 }
    if start.allSatisfy({ $0 == 0 }) { return "" }
    // A file of that name by another program is ignored.
    let line = String(decoding: start, as: UTF8.self)
    guard line.hasPrefix(title) else { return nil }
    return String(line.dropFirst(title.utf8.count))
  }

  /// Removes the leftovers of an earlier unfinished copy.
  private static func clear(
    _ folder: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) {
    let names = try fileSystem.list(folder)
    for part in ["log", BackupSwitch.folderName] where names.contains(part) {
      let own = try fileSystem.list("\(folder)/\(part)").filter(BackupSwitch.isOwn)
      for name in own { try fileSystem.unlink("\(folder)/\(part)/\(name)") }
      try fileSystem.syncDirectory("\(folder)/\(part)")
    }
    for name in ["pages", BackupSwitch.markerName] where names.contains(name) {
      try fileSystem.unlink("\(folder)/\(name)")
    }
    if names.contains(BackupSwitch.folderName) {
      // A folder with other files stays.
      try? fileSystem.removeDirectory("\(folder)/\(BackupSwitch.folderName)")
    }
    try fileSystem.syncDirectory(folder)
  }

  /// Completes the copy: removes the marker. Everything in the copy must be durable.
  package func finish() throws(TreeRingError) {
    try fileSystem.unlink(path)
    try fileSystem.syncDirectory(folder)
    lock.release()
  }

  /// Releases the lock, so that another process can start the copy again. Does nothing after
  /// `finish`.
  package func release() { lock.release() }
}
