// Every decision about the operating system's error numbers: what a refused call means.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

enum SystemErrors {
  /// The error number of the call that has just failed on this thread.
  static var last: Int32 { errno }

  /// True if the call was interrupted and is to be made again.
  static func isInterrupted(_ number: Int32) -> Bool { number == EINTR }

  /// True if the call is one that this file system does not know.
  static func isUnsupported(_ number: Int32) -> Bool {
    number == ENOTSUP || number == EOPNOTSUPP || number == EINVAL || number == ENOSYS
  }

  /// True if a file cannot have a second name there: the file system, the user's rights or the number
  /// of names forbid it. A copy does as well.
  static func isUnlinkable(_ number: Int32) -> Bool {
    isUnsupported(number) || number == EPERM || number == EXDEV || number == EMLINK
  }

  /// The error number that a full device gives.
  static var noSpace: Int32 { ENOSPC }

  /// The error number of a failed device.
  static var inputOutput: Int32 { EIO }

  /// The error of a refused call.
  ///
  /// - Parameters:
  ///   - number: the system's error number.
  ///   - verb: what was tried, as in "write to".
  static func error(
    _ number: Int32, _ verb: String, _ path: String, offset: UInt64? = nil
  ) -> TreeRingError {
    let reason = String(cString: strerror(number))
    switch number {
    case ENOSPC, EDQUOT:
      return TreeRingError(
        .noSpace, "Cannot \(verb) \(path): \(reason). Make room and try again.", file: path,
        offset: offset, errno: number)
    case ENOENT, ENOTDIR:
      return TreeRingError(
        .notFound, "Cannot \(verb) \(path): \(reason).", file: path, offset: offset, errno: number)
    case EEXIST:
      return TreeRingError(
        .alreadyExists, "Cannot \(verb) \(path): \(reason).", file: path, offset: offset,
        errno: number)
    case EWOULDBLOCK, EAGAIN:
      return locked(path)
    case EACCES, EPERM, EROFS:
      return TreeRingError(
        .io, "Cannot \(verb) \(path): \(reason). Check its owner and mode.", file: path,
        offset: offset, errno: number)
    default:
      return TreeRingError(
        .io, "Cannot \(verb) \(path): \(reason).", file: path, offset: offset, errno: number)
    }
  }

  /// The error of a lock that somebody else holds.
  static func locked(_ path: String) -> TreeRingError {
    TreeRingError(
      .locked, "\(path) is locked: the store is open for writing elsewhere. Close it there first.",
      file: path)
  }
}
