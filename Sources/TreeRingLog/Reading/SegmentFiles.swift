// Open files of segments that are not written any more: opened when first read, the least recently
// read closed when there are many.

internal import Synchronization

final class SegmentFiles: Sendable {
  private static let limit = 64
  private let fileSystem: any FileSystem
  /// The most recently read last.
  private let open = Mutex<[any File]>([])

  init(fileSystem: any FileSystem) { self.fileSystem = fileSystem }

  /// The file at `path`, open for reading. It stays usable for who holds it.
  func file(_ path: String) throws(TreeRingError) -> any File {
    let found: (any File)? = open.withLock { files in
      guard let index = files.lastIndex(where: { $0.path == path }) else { return nil }
      let file = files.remove(at: index)
      files.append(file)
      return file
    }
    if let found { return found }
    let file = try fileSystem.open(path, .readOnly)
    open.withLock { files in
      files.append(file)
      if files.count > Self.limit { files.removeFirst() }
    }
    return file
  }

  /// Lets go of the file at `path`, which has been replaced.
  func forget(_ path: String) { open.withLock { $0.removeAll { $0.path == path } } }

  func closeAll() { open.withLock { $0.removeAll() } }
}
