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
    try check(file, follows: false)
    // The path of the folder itself may contain a symbolic link.
    if let folder { try check(folder, follows: true) }
  }

  /// Throws unless the path of an open file still leads to that file.
  private func check(_ held: Held, follows: Bool) throws(TreeRingError) {
    let own = try held.file.status()
    let named = try? FileStatus(at: held.path, follows: follows, named: held.file.path)
    guard own.isNamed, let named, own.isSame(as: named) else {
      throw Self.lost(held.file.path)
    }
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
