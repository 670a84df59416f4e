// Open files of segments that are not written any more: opened when first read, the least recently
// read closed when there are many.

internal import Synchronization

final class SegmentFiles: Sendable {
  private static let limit = 64
  private let fileSystem: any FileSystem
  private struct State: Sendable {
    /// The most recently read last.
    var files: [any File] = []
    /// How often files were let go of.
    var releases = 0
  }
  private let state = Mutex(State())

  init(fileSystem: any FileSystem) { self.fileSystem = fileSystem }

  /// The file at `path`, open for reading. It stays usable for who holds it.
  func file(_ path: String) throws(TreeRingError) -> any File {
    let (found, releases) = state.withLock { state -> ((any File)?, Int) in
      guard let index = state.files.lastIndex(where: { $0.path == path }) else {
        return (nil, state.releases)
      }
      let file = state.files.remove(at: index)
      state.files.append(file)
      return (file, state.releases)
    }
    if let found { return found }
    let file = try fileSystem.open(path, .readOnly)
    state.withLock { state in
      // It may be one of those let go of meanwhile: then only the caller holds it.
      guard state.releases == releases else { return }
      state.files.append(file)
      if state.files.count > Self.limit { state.files.removeFirst() }
    }
    return file
  }

  /// Lets go of the file at `path`. Its name is gone, or others could open it again.
  func forget(_ path: String) {
    state.withLock { state in
      state.releases += 1
      state.files.removeAll { $0.path == path }
    }
  }

  func closeAll() {
    state.withLock { state in
      state.releases += 1
      state.files.removeAll()
    }
  }
}
