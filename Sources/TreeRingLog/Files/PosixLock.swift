// A lock that the operating system holds for a process: of a file, and for a store also of its
// folder.

internal import TreeRingPlatform

/// Holds the descriptors that carry the lock.
final class PosixLock: FileLock {
  /// An open file or folder and its name.
  struct Held: Sendable {
    var file: PosixFile
    var path: String
  }
  private let file: Held
  private let folder: Held?
  private let locksFolder: Bool

  /// The lock of a file that is open and locked, and for a store that of its folder.
  /// - Parameter locksFolder: whether the folder is locked too.
  init(_ file: Held, folder: Held? = nil, locksFolder: Bool = false) {
    self.file = file
    self.folder = folder
    self.locksFolder = locksFolder
  }

  deinit { release() }

  func write(_ bytes: [UInt8], at offset: UInt64) throws(TreeRingError) {
    try file.file.write(bytes, at: offset)
  }

  func check() throws(TreeRingError) {
    var status = stat()
    guard lstat(file.path, &status) == 0, try Self.isSame(file.file, status) else {
      throw Self.lost(file.file.path)
    }
    guard let folder else { return }
    // The path of the folder itself may contain a symbolic link.
    guard stat(folder.path, &status) == 0, try Self.isSame(folder.file, status) else {
      throw Self.lost(folder.file.path)
    }
  }

  private static func isSame(_ file: PosixFile, _ named: stat) throws(TreeRingError) -> Bool {
    let own = try file.status()
    return own.st_nlink > 0 && own.st_dev == named.st_dev && own.st_ino == named.st_ino
  }

  private static func lost(_ path: String) -> TreeRingError {
    TreeRingError(
      .poisoned,
      "\(path) was removed, moved or replaced while the store was open. Another process may be "
        + "writing the store, and later commits may be lost. Close the store and open it again.",
      file: path)
  }

  func release() {
    file.file.unlock()
    if locksFolder { folder?.file.unlock() }
    file.file.close()
    folder?.file.close()
  }
}
