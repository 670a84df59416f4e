// Open files of sealed segments. A file is opened at its first read; above a limit, the least
// recently read file is closed.

internal import TreeRingPlatform

final class SegmentFiles: Sendable {
  private static let limit = 64
  private let fileSystem: any FileSystem
  private struct State: Sendable {
    /// In order of use, the most recently read last.
    var files: [any File] = []
    /// The number of calls that removed files from the cache.
    var releases = 0
  }
  private let state = Mutex(State())

  init(fileSystem: any FileSystem) { self.fileSystem = fileSystem }

  /// The file at `path`, open for reading. It stays usable as long as the caller holds it.
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
      // If files were removed since the open, this may be one of them: only the caller keeps it
      // then.
      guard state.releases == releases else { return }
      state.files.append(file)
      if state.files.count > Self.limit { state.files.removeFirst() }
    }
    return file
  }

  /// Drops the file at `path`, after its name was removed or replaced by another file's.
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
