// The operating system's files. Folders get mode 0700, files 0600; no descriptor survives exec.
//
// - Only regular files are opened. A symbolic link is not followed, and opening a FIFO does not
//   wait. So another program cannot make TreeRing read or write outside the store's folder.
// - A relative path starts at the working folder of the moment when this value was created. So it
//   always means the same file. Messages contain the path as it was given.

internal import TreeRingPlatform

/// The disk.
package struct PosixFileSystem: FileSystem {
  /// The working folder for relative paths, with a final slash; empty if there is none.
  private let workingFolder: String

  /// The disk, with the current working folder for relative paths.
  package init() {
    guard let name = getcwd(nil, 0) else {
      workingFolder = ""
      return
    }
    defer { free(name) }
    let folder = String(cString: name)
    workingFolder = folder.hasSuffix("/") ? folder : folder + "/"
  }

  package func absolute(_ path: String) -> String {
    path.isEmpty || path.hasPrefix("/") ? path : workingFolder + path
  }

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    let flags: Int32 =
      switch mode {
      case .readOnly: O_RDONLY
      case .readWrite: O_RDWR
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      }
    return try openFile(path, flags)
  }

  package func exists(_ path: String) throws(TreeRingError) -> Bool {
    do throws(TreeRingError) {
      _ = try FileStatus(at: absolute(path), named: path)
      return true
    } catch  where error.code == .notFound { return false }
  }

  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    guard let stream = opendir(absolute(directory)) else {
      throw SystemErrors.error(SystemErrors.last, "list", directory)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        guard errno == 0 else { throw SystemErrors.error(errno, "list", directory) }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)
        ) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
  }

  package func makeDirectory(_ path: String) throws(TreeRingError) {
    do throws(TreeRingError) {
      try SystemErrors.check(mkdir(absolute(path), 0o700), "make the folder", path)
    } catch  where error.code == .alreadyExists {}
  }

  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    let result = TreeRingPlatform.rename(absolute(path), absolute(newPath))
    try SystemErrors.check(result, "rename", path)
  }

  package func unlink(_ path: String) throws(TreeRingError) {
    try SystemErrors.check(TreeRingPlatform.unlink(absolute(path)), "remove", path)
  }

  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    let result = TreeRingPlatform.link(absolute(path), absolute(newPath))
    guard result != 0 else { return }
    let number = SystemErrors.last
    guard SystemErrors.isUnlinkable(number) else {
      throw SystemErrors.error(number, "link to", path)
    }
    throw TreeRingError(
      .notSupported, "\(path) cannot have the second name \(newPath). Copy it instead.",
      file: path, errno: number)
  }

  package func removeDirectory(_ path: String) throws(TreeRingError) {
    try SystemErrors.check(rmdir(absolute(path)), "remove the folder", path)
  }

  package func syncDirectory(_ path: String) throws(TreeRingError) {
    let descriptor = try openDescriptor(path, O_RDONLY | O_DIRECTORY, "open the folder")
    let file = PosixFile(descriptor: descriptor, path: path)
    defer { file.close() }
    try SystemErrors.check(fsync(descriptor), "sync the folder", path)
  }

  package func lock(_ path: String) throws(TreeRingError) -> any FileLock {
    let file = try locked(try openFile(path, O_RDWR | O_CREAT), path)
    return PosixLock(PosixLock.Held(file: file, path: absolute(path)))
  }

  package func lockStore(_ path: String) throws(TreeRingError) -> any FileLock {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    // The folder first: its lock also excludes a process that finds LOCK missing or replaced.
    let descriptor = try openDescriptor(folder, O_RDONLY | O_DIRECTORY, "open the folder")
    let opened = PosixFile(descriptor: descriptor, path: folder)
    var held: PosixFile?
    do throws(TreeRingError) {
      held = try locked(opened, path)
    } catch {
      // Some network file systems lock only files open for writing, which is impossible for
      // folders.
      guard let number = error.errno, SystemErrors.isUnlockable(number) else { throw error }
    }
    do throws(TreeRingError) {
      let file = try locked(try openFile(path, O_RDWR | O_CREAT), path)
      return PosixLock(
        PosixLock.Held(file: file, path: absolute(path)),
        folder: PosixLock.Held(file: opened, path: absolute(folder)), locksFolder: held != nil)
    } catch {
      opened.unlock()
      throw error
    }
  }

  /// Locks an open file or folder; errors name `path`.
  private func locked(_ file: PosixFile, _ path: String) throws(TreeRingError) -> PosixFile {
    // Another process's `isLocked` may hold the lock for a call or two.
    for attempt in 1... {
      guard let number = try file.tryLock(LOCK_EX) else { break }
      let error = SystemErrors.error(number, "lock", path)
      guard error.code == .locked, attempt < 5 else { throw error }
      usleep(1_000)
    }
    return file
  }

  package func watch(_ path: String) -> (any FileWatch)? { PosixWatch(absolute(path)) }

  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    let probe: PosixFile
    do throws(TreeRingError) {
      probe = try openFile(path, O_RDONLY)
    } catch  where error.code == .notFound { return false }
    defer { probe.close() }
    // A shared lock, so that two concurrent probes do not mistake each other for the holder.
    guard let number = try probe.tryLock(LOCK_SH) else {
      probe.unlock()
      return false
    }
    // On a file system without locks no store is open for writing.
    if SystemErrors.isUnsupported(number) { return false }
    let error = SystemErrors.error(number, "probe the lock of", path)
    guard error.code == .locked else { throw error }
    return true
  }

  // MARK: Opening

  /// Opens a regular file.
  /// - Throws: `notAStore` if the name belongs to anything else, which is left unchanged.
  private func openFile(_ path: String, _ flags: Int32) throws(TreeRingError) -> PosixFile {
    let descriptor: Int32
    do throws(TreeRingError) {
      descriptor = try openDescriptor(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, "open")
    } catch {
      if error.code != .alreadyExists, let status = try? FileStatus(at: absolute(path), named: path)
      {
        try checkIsFile(status, path)
      }
      throw error
    }
    let file = PosixFile(descriptor: descriptor, path: path)
    try checkIsFile(try file.status(), path)
    return file
  }

  private func checkIsFile(_ status: FileStatus, _ path: String) throws(TreeRingError) {
    guard let kind = status.otherKind else { return }
    throw TreeRingError(
      .notAStore,
      "\(path) is \(kind), but must be a regular file. Nothing was changed. Move it away, or "
        + "restore the store's file from a backup.", file: path)
  }

  private func openDescriptor(
    _ path: String, _ flags: Int32, _ verb: String
  ) throws(TreeRingError) -> Int32 {
    let all = flags | O_CLOEXEC
    while true {
      let descriptor = TreeRingPlatform.open(absolute(path), all, 0o600)
      if descriptor >= 0 { return descriptor }
      let number = SystemErrors.last
      guard SystemErrors.isInterrupted(number) else {
        throw SystemErrors.error(number, verb, path)
      }
    }
  }
}
