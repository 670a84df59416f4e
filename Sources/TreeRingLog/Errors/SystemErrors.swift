// All decisions about the operating system's error numbers: their meaning and the remedy.

internal import TreeRingPlatform

enum SystemErrors {
  /// The error number of the last failed call on this thread.
  static var last: Int32 { errno }

  /// True if the call was interrupted and must be repeated.
  static func isInterrupted(_ number: Int32) -> Bool { number == EINTR }

  /// True if this file system does not support the call.
  static func isUnsupported(_ number: Int32) -> Bool {
    number == ENOTSUP || number == EOPNOTSUPP || number == EINVAL || number == ENOSYS
  }

  /// True if a file cannot get a second name, because of the file system, the user's rights or the
  /// number of names. The caller copies instead.
  static func isUnlinkable(_ number: Int32) -> Bool {
    isUnsupported(number) || number == EPERM || number == EXDEV || number == EMLINK
  }

  /// True if the file system cannot lock folders, although it can lock files.
  static func isUnlockable(_ number: Int32) -> Bool { isUnsupported(number) || number == EBADF }

  /// True if a sync is refused because the file system cannot be written or has nothing to sync.
  static func isUnsyncable(_ number: Int32) -> Bool { isUnsupported(number) || number == EROFS }

  /// The error number that a full device gives.
  static var noSpace: Int32 { ENOSPC }

  /// The error number of a failed device.
  static var inputOutput: Int32 { EIO }

  /// The error of a refused call.
  ///
  /// - Parameters:
  ///   - number: the system's error number.
  ///   - verb: the attempted action, such as "write to".
  static func error(
    _ number: Int32, _ verb: String, _ path: String, offset: UInt64? = nil
  ) -> TreeRingError {
    let (code, remedy): (TreeRingError.Code, String)
    switch number {
    case EWOULDBLOCK, EAGAIN: return locked(path)
    case ENOSPC, EDQUOT: (code, remedy) = (.noSpace, " Make room and try again.")
    case ENOENT, ENOTDIR: (code, remedy) = (.notFound, " Check the path.")
    case EEXIST: (code, remedy) = (.alreadyExists, " Choose another name.")
    case EACCES, EPERM, EROFS: (code, remedy) = (.io, " Check its owner and mode.")
    case EIO: (code, remedy) = (.io, " Check the device, and copy the store from it.")
    case EMFILE, ENFILE:
      (code, remedy) = (.io, " Close files, or raise the limit of open files.")
    default: (code, remedy) = (.io, "")
    }
    let reason = String(cString: strerror(number))
    return TreeRingError(
      code, "Cannot \(verb) \(path): \(reason).\(remedy)", file: path, offset: offset, errno: number
    )
  }

  /// Throws the error of the last failed call unless `result` is 0.
  static func check(
    _ result: Int32, _ verb: String, _ path: String
  ) throws(TreeRingError) {
    guard result == 0 else { throw error(last, verb, path) }
  }

  /// The error of a lock held by another process.
  static func locked(_ path: String) -> TreeRingError {
    TreeRingError(
      .locked, "\(path) is locked: the store is open for writing elsewhere. Close it there first.",
      file: path)
  }
}
