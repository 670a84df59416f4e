// A cache of open files of sealed segments. A file is opened at its first read. Above a limit the
// cache evicts the least recently read one.

internal import TreeRingPlatform

final class SegmentFiles: Sendable {
  private static let limit = 64
  private let fileSystem: any FileSystem
  private struct State: Sendable {
    /// In order of use, the most recently read last.
    var files: [any File] = []
    /// The number of calls that removed files from the cache.
    var removals = 0
  }
  private let state = Mutex(State())

  init(fileSystem: any FileSystem) { self.fileSystem = fileSystem }

  /// The file at `path`, open for reading. It stays usable as long as the caller holds it.
  func file(_ path: String) throws(TreeRingError) -> any File {
    let (found, removals) = state.withLock { state -> ((any File)?, Int) in
      guard let index = state.files.lastIndex(where: { $0.path == path }) else {
        return (nil, state.removals)
      }
      let file = state.files.remove(at: index)
      state.files.append(file)
      return (file, state.removals)
    }
    if let found { return found }
    let file = try fileSystem.open(path, .readOnly)
    state.withLock { state in
      // Files removed since the open may include this one, so the cache does not keep it.
      guard state.removals == removals else { return }
      state.files.append(file)
      if state.files.count > Self.limit { state.files.removeFirst() }
    }
    return file
  }

  /// Evicts the file at `path`, whose name was removed or given to another file.
  func forget(_ path: String) {
    state.withLock { state in
      state.removals += 1
      state.files.removeAll { $0.path == path }
    }
  }

  func closeAll() {
    state.withLock { state in
      state.removals += 1
      state.files.removeAll()
    }
  }
}
