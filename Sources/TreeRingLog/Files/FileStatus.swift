// The identity, kind and length of a file.

internal import CTreeRing
internal import TreeRingPlatform

/// The status of a file, without its times, since asking for them makes syncs slower (status.c).
struct FileStatus {
  private let status: treering_file_status

  /// The status of an open file, even if another file has its name now.
  /// - Parameter path: The file's name for messages.
  init(of descriptor: Int32, named path: String) throws(TreeRingError) {
    var status = treering_file_status()
    let number = treering_status_of_descriptor(descriptor, &status)
    guard number == 0 else { throw SystemErrors.error(number, "inspect", path) }
    self.status = status
  }

  /// The status of the file that has a path.
  /// - Parameters:
  ///   - follows: Whether a symbolic link stands for the file that it leads to, or for itself.
  ///   - name: The file's name for messages.
  init(at path: String, follows: Bool = false, named name: String) throws(TreeRingError) {
    var status = treering_file_status()
    let number = treering_status_of_path(path, follows, &status)
    guard number == 0 else { throw SystemErrors.error(number, "inspect", name) }
    self.status = status
  }

  var byteCount: UInt64 { status.byteCount }

  /// Whether the file still has a name.
  var isNamed: Bool { status.linkCount > 0 }

  /// Whether both are the status of the same file, if it still exists.
  func isSame(as other: FileStatus) -> Bool {
    status.device == other.status.device && status.inode == other.status.inode
  }

  /// The kind of file, in words; nil for a regular file.
  var otherKind: String? {
    switch mode_t(truncatingIfNeeded: status.mode) & S_IFMT {
    case S_IFREG: nil
    case S_IFLNK: "a symbolic link"
    case S_IFDIR: "a folder"
    case S_IFIFO: "a FIFO"
    case S_IFSOCK: "a socket"
    default: "a device"
    }
  }
}
