// A file or pipe, read from its beginning to its end.

internal import TreeRingLog
internal import TreeRingPlatform

/// An open file, which is closed with the last reference to it. For one thread at a time.
final class InputFile {
  private let descriptor: Int32
  private let path: String

  /// - Throws: `notFound` if there is no such file or it may not be read.
  init(_ path: String) throws(TreeRingError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw TreeRingError(
        .notFound,
        "The file does not exist or cannot be opened: \(String(cString: strerror(errno))). Check "
          + "the path.", file: path, errno: errno)
    }
    self.descriptor = descriptor
    self.path = path
  }

  deinit { _ = close(descriptor) }

  /// Reads the next bytes, as many as there are at once and the buffer has room for.
  /// - Returns: their number; 0 at the end.
  /// - Throws: `io`, as for a folder.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(TreeRingError) -> Int {
    while true {
      let count = TreeRingPlatform.read(descriptor, buffer.baseAddress, buffer.count)
      if count >= 0 { return count }
      if errno == EINTR { continue }
      throw TreeRingError(
        .io, "Reading failed: \(String(cString: strerror(errno))).", file: path, errno: errno)
    }
  }
}
