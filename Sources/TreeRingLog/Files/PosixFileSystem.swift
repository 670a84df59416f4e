// The operating system's files. Folders get mode 0700, files 0600; no descriptor survives exec.

internal import CTreeRing
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// The disk.
package struct PosixFileSystem: FileSystem {
  package init() {}

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    let flags: Int32 =
      switch mode {
      case .readOnly: O_RDONLY
      case .readWrite: O_RDWR
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      }
    return PosixFile(descriptor: try openDescriptor(path, flags, "open"), path: path)
  }

  package func exists(_ path: String) throws(TreeRingError) -> Bool {
    if access(path, F_OK) == 0 { return true }
    let error = SystemErrors.error(SystemErrors.last, "look at", path)
    guard error.code == .notFound else { throw error }
    return false
  }

  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    guard let stream = opendir(directory) else {
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
    guard mkdir(path, 0o700) != 0 else { return }
    let error = SystemErrors.error(SystemErrors.last, "make the folder", path)
    guard error.code == .alreadyExists else { throw error }
  }

  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    #if canImport(Darwin)
      let result = Darwin.rename(path, newPath)
    #elseif canImport(Musl)
      let result = Musl.rename(path, newPath)
    #else
      let result = Glibc.rename(path, newPath)
    #endif
    guard result == 0 else { throw SystemErrors.error(SystemErrors.last, "rename", path) }
  }

  package func unlink(_ path: String) throws(TreeRingError) {
    #if canImport(Darwin)
      let result = Darwin.unlink(path)
    #elseif canImport(Musl)
      let result = Musl.unlink(path)
    #else
      let result = Glibc.unlink(path)
    #endif
    guard result == 0 else { throw SystemErrors.error(SystemErrors.last, "remove", path) }
  }

  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    #if canImport(Darwin)
      let result = Darwin.link(path, newPath)
    #elseif canImport(Musl)
      let result = Musl.link(path, newPath)
    #else
      let result = Glibc.link(path, newPath)
    #endif
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
    guard rmdir(path) == 0 else {
      throw SystemErrors.error(SystemErrors.last, "remove the folder", path)
    }
  }

  package func syncDirectory(_ path: String) throws(TreeRingError) {
    let descriptor = try openDescriptor(path, O_RDONLY | O_DIRECTORY, "open the folder")
    let file = PosixFile(descriptor: descriptor, path: path)
    defer { file.close() }
    guard fsync(descriptor) == 0 else {
      throw SystemErrors.error(SystemErrors.last, "sync the folder", path)
    }
  }

  package func lock(_ path: String) throws(TreeRingError) -> any FileLock {
    let descriptor = try openDescriptor(path, O_RDWR | O_CREAT, "open")
    let file = PosixFile(descriptor: descriptor, path: path)
    // Somebody's `isLocked` may hold it for the length of a call or two.
    for attempt in 1... {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { break }
      let error = SystemErrors.error(SystemErrors.last, "lock", path)
      guard error.code == .locked, attempt < 5 else { throw error }
      usleep(1_000)
    }
    return PosixLock(file: file)
  }

  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    let descriptor: Int32
    do throws(TreeRingError) {
      descriptor = try openDescriptor(path, O_RDONLY, "open")
    } catch {
      guard error.code == .notFound else { throw error }
      return false
    }
    // Shared, so that two who ask at the same time do not take each other for the holder.
    let probe = PosixFile(descriptor: descriptor, path: path)
    defer { probe.close() }
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return false }
    let number = SystemErrors.last
    // A file system without locks: nobody holds one, and no store there is open for writing.
    if SystemErrors.isUnsupported(number) { return false }
    let error = SystemErrors.error(number, "probe the lock of", path)
    guard error.code == .locked else { throw error }
    return true
  }

  private func openDescriptor(
    _ path: String, _ flags: Int32, _ verb: String
  ) throws(TreeRingError) -> Int32 {
    while true {
      #if canImport(Darwin)
        let descriptor = Darwin.open(path, flags | O_CLOEXEC, 0o600)
      #elseif canImport(Musl)
        let descriptor = Musl.open(path, flags | O_CLOEXEC, 0o600)
      #else
        let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
      #endif
      if descriptor >= 0 { return descriptor }
      let number = SystemErrors.last
      guard SystemErrors.isInterrupted(number) else {
        throw SystemErrors.error(number, verb, path)
      }
    }
  }
}

/// Holds the descriptor that carries the lock.
private final class PosixLock: FileLock {
  private let file: PosixFile
  init(file: PosixFile) { self.file = file }
  func release() { file.close() }
}

/// A descriptor and its path.
final class PosixFile: File {
  let path: String
  /// -1 once closed.
  private let descriptor: Atomic<Int32>

  init(descriptor: Int32, path: String) {
    self.descriptor = Atomic(descriptor)
    self.path = path
  }

  deinit { close() }

  func close() {
    let open = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    guard open >= 0 else { return }
    #if canImport(Darwin)
      _ = Darwin.close(open)
    #elseif canImport(Musl)
      _ = Musl.close(open)
    #else
      _ = Glibc.close(open)
    #endif
  }

  private func opened() throws(TreeRingError) -> Int32 {
    let open = descriptor.load(ordering: .acquiring)
    guard open >= 0 else {
      throw TreeRingError(.closed, "\(path) has been closed.", file: path)
    }
    return open
  }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int {
    let open = try opened()
    var done = 0
    while done < buffer.count, let base = buffer.baseAddress {
      let count = pread(open, base + done, buffer.count - done, off_t(offset) + off_t(done))
      if count > 0 {
        done += count
      } else if count == 0 {
        break
      } else if !SystemErrors.isInterrupted(SystemErrors.last) {
        throw SystemErrors.error(SystemErrors.last, "read", path, offset: offset)
      }
    }
    return done
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError) {
    let open = try opened()
    var done = 0
    while done < bytes.count, let base = bytes.baseAddress {
      let count = pwrite(open, base + done, bytes.count - done, off_t(offset) + off_t(done))
      if count > 0 {
        done += count
      } else if count == 0 {
        throw SystemErrors.error(SystemErrors.noSpace, "write to", path, offset: offset)
      } else if !SystemErrors.isInterrupted(SystemErrors.last) {
        throw SystemErrors.error(SystemErrors.last, "write to", path, offset: offset)
      }
    }
  }

  func sync(_ strength: SyncStrength) throws(TreeRingError) {
    let open = try opened()
    #if canImport(Darwin)
      var result = fcntl(open, strength == .full ? F_FULLFSYNC : F_BARRIERFSYNC)
      if result != 0, SystemErrors.isUnsupported(SystemErrors.last) { result = fsync(open) }
    #else
      let result = fdatasync(open)
    #endif
    guard result == 0 else { throw SystemErrors.error(SystemErrors.last, "sync", path) }
  }

  func size() throws(TreeRingError) -> UInt64 {
    let open = try opened()
    var status = stat()
    guard fstat(open, &status) == 0 else {
      throw SystemErrors.error(SystemErrors.last, "look at", path)
    }
    return UInt64(status.st_size)
  }

  func truncate(to size: UInt64) throws(TreeRingError) {
    let open = try opened()
    while ftruncate(open, off_t(size)) != 0 {
      let number = SystemErrors.last
      guard SystemErrors.isInterrupted(number) else {
        throw SystemErrors.error(number, "truncate", path, offset: size)
      }
    }
  }

  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool {
    let number = treering_allocate(try opened(), offset, count)
    if number == 0 { return true }
    if SystemErrors.isUnsupported(number) { return false }
    throw SystemErrors.error(number, "reserve room in", path, offset: offset)
  }

  func map(
    at offset: UInt64, count: Int, writable: Bool
  ) throws(TreeRingError) -> any FileMapping {
    precondition(count > 0, "an empty mapping of \(path)")
    return try PosixMapping(
      descriptor: try opened(), path: path, offset: offset, count: count, writable: writable)
  }
}
