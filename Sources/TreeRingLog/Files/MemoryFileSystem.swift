// Files in memory, which end with the process: for `Store.inMemory()`, previews and tests. Syncs
// succeed and do nothing. A removed file stays readable through its openings.

internal import TreeRingPlatform

/// Folders and files in memory. Copies of the value share their files.
package final class MemoryFileSystem: FileSystem {
  private struct State {
    var directories: Set<String> = [""]
    var files: [String: MemoryContents] = [:]
    var locks: Set<String> = []
  }
  private let state = Mutex(State())

  package init() {}

  /// The normal form of a path: "a//b/" and "a/b" are one path.
  private static func normal(_ path: String) -> String {
    let absolute = path.hasPrefix("/") ? "/" : ""
    return absolute + path.split(separator: "/").joined(separator: "/")
  }

  private static func parent(_ path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "" }
    return String(path[..<slash])
  }

  private static func missing(_ path: String) -> TreeRingError {
    TreeRingError(.notFound, "\(path) does not exist in memory. Check the path.", file: path)
  }

  private static func taken(_ path: String) -> TreeRingError {
    TreeRingError(.alreadyExists, "\(path) exists in memory. Choose another name.", file: path)
  }

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    let key = Self.normal(path)
    let contents = try state.withLock { state throws(TreeRingError) in
      if let contents = state.files[key] {
        guard mode != .createNew else { throw Self.taken(path) }
        return contents
      }
      let parent = Self.parent(key)
      guard mode == .createNew, parent.isEmpty || state.directories.contains(parent) else {
        throw Self.missing(path)
      }
      let contents = MemoryContents()
      state.files[key] = contents
      return contents
    }
    return MemoryFile(path: path, contents: contents)
  }

  package func exists(_ path: String) throws(TreeRingError) -> Bool {
    let key = Self.normal(path)
    return state.withLock { $0.files[key] != nil || $0.directories.contains(key) }
  }

  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    let key = Self.normal(directory)
    return try state.withLock { state throws(TreeRingError) in
      guard state.directories.contains(key) else { throw Self.missing(directory) }
      let paths = Array(state.files.keys) + Array(state.directories)
      return paths.filter { !$0.isEmpty && $0 != key && Self.parent($0) == key }
        .map { String($0.dropFirst(key.isEmpty ? 0 : key.count + 1)) }
    }
  }

  package func makeDirectory(_ path: String) throws(TreeRingError) {
    let key = Self.normal(path)
    state.withLock { _ = $0.directories.insert(key) }
  }

  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    let (from, to) = (Self.normal(path), Self.normal(newPath))
    try state.withLock { state throws(TreeRingError) in
      guard let contents = state.files.removeValue(forKey: from) else { throw Self.missing(path) }
      state.files[to] = contents
    }
  }

  package func unlink(_ path: String) throws(TreeRingError) {
    let key = Self.normal(path)
    let found = state.withLock { $0.files.removeValue(forKey: key) != nil }
    if !found { throw Self.missing(path) }
  }

  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    let (from, to) = (Self.normal(path), Self.normal(newPath))
    try state.withLock { state throws(TreeRingError) in
      guard let contents = state.files[from] else { throw Self.missing(path) }
      guard state.files[to] == nil else { throw Self.taken(newPath) }
      state.files[to] = contents
    }
  }

  package func removeDirectory(_ path: String) throws(TreeRingError) {
    let key = Self.normal(path)
    try state.withLock { state throws(TreeRingError) in
      guard state.directories.contains(key) else { throw Self.missing(path) }
      let isEmpty =
        !state.files.keys.contains { Self.parent($0) == key }
        && !state.directories.contains { $0 != key && Self.parent($0) == key }
      guard isEmpty else {
        throw TreeRingError(
          .io, "Cannot remove the folder \(path): it is not empty.", file: path)
      }
      state.directories.remove(key)
    }
  }

  package func syncDirectory(_ path: String) throws(TreeRingError) {}

  package func lock(_ path: String) throws(TreeRingError) -> any FileLock {
    let key = Self.normal(path)
    let contents = try state.withLock { state throws(TreeRingError) in
      guard state.locks.insert(key).inserted else { throw SystemErrors.locked(path) }
      let contents = state.files[key] ?? MemoryContents()
      state.files[key] = contents
      return contents
    }
    return MemoryLock(file: MemoryFile(path: path, contents: contents)) { [self] in
      state.withLock { _ = $0.locks.remove(key) }
    }
  }

  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    let key = Self.normal(path)
    return state.withLock { $0.locks.contains(key) }
  }

  /// The bytes of a file; nil if it is missing.
  package func contents(of path: String) -> [UInt8]? {
    let key = Self.normal(path)
    return state.withLock { $0.files[key] }?.state.withLock { $0.bytes }
  }

  /// Replaces the bytes of a file, which is created if missing; for tests. Existing openings keep
  /// the old bytes.
  package func setContents(of path: String, to bytes: [UInt8]) {
    let key = Self.normal(path)
    state.withLock { state in
      let contents = MemoryContents()
      contents.state.withLock { $0.bytes = bytes }
      state.files[key] = contents
    }
  }
}

/// The bytes of one file, shared by all its openings.
final class MemoryContents: Sendable {
  struct State: Sendable {
    var bytes: [UInt8] = []
    var mappings = HeapMappings()
  }
  let state = Mutex(State())
}

private final class MemoryLock: FileLock {
  private let file: MemoryFile
  private let unlock: Mutex<(@Sendable () -> Void)?>
  init(file: MemoryFile, unlock: @escaping @Sendable () -> Void) {
    self.file = file
    self.unlock = Mutex(unlock)
  }
  deinit { release() }
  func write(_ bytes: [UInt8], at offset: UInt64) throws(TreeRingError) {
    try file.write(bytes, at: offset)
  }
  func check() throws(TreeRingError) {}
  func release() {
    let action = unlock.withLock { held in
      defer { held = nil }
      return held
    }
    action?()
  }
}
