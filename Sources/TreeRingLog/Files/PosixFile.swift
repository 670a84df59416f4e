// One open file of the operating system.

internal import CTreeRing
internal import TreeRingPlatform

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
    _ = TreeRingPlatform.close(open)
  }

  private func opened() throws(TreeRingError) -> Int32 {
    let open = descriptor.load(ordering: .acquiring)
    guard open >= 0 else {
      throw TreeRingError(
        .closed, "\(path) has been closed. Open the store again.", file: path)
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
    let isUnsupported = SystemErrors.isUnsupported
    let result =
      switch strength {
      case .barrier: Platform.syncBarrier(open, isUnsupported: isUnsupported)
      case .full: Platform.syncData(open, isUnsupported: isUnsupported)
      case .whole: Platform.syncWhole(open, isUnsupported: isUnsupported)
      }
    try SystemErrors.check(result, "sync", path)
  }

  func size() throws(TreeRingError) -> UInt64 { try status().byteCount }

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

  var overwritesInPlace: Bool {
    treering_overwrites_in_place(descriptor.load(ordering: .acquiring))
  }

  func release(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool {
    let number = treering_release(try opened(), offset, count)
    if number == 0 { return true }
    if SystemErrors.isUnsupported(number) { return false }
    throw SystemErrors.error(number, "release room of", path, offset: offset)
  }

  func map(at offset: UInt64, count: Int) throws(TreeRingError) -> any FileMapping {
    precondition(count > 0, "an empty mapping of \(path)")
    return try PosixMapping(descriptor: try opened(), path: path, offset: offset, count: count)
  }

  /// The status of the open file itself, even if another file has its name now.
  func status() throws(TreeRingError) -> FileStatus {
    try FileStatus(of: try opened(), named: path)
  }

  /// Takes the lock of the file, `LOCK_EX` or `LOCK_SH`, if it is free.
  /// - Returns: the system's error number after a failure; nil after success.
  func tryLock(_ kind: Int32) throws(TreeRingError) -> Int32? {
    let open = try opened()
    while flock(open, kind | LOCK_NB) != 0 {
      let number = SystemErrors.last
      if !SystemErrors.isInterrupted(number) { return number }
    }
    return nil
  }

  /// Releases a lock taken with `tryLock`. A child process forked since then shares the open file
  /// and its lock: closing the descriptor here would not end the lock.
  func unlock() {
    guard let open = try? opened() else { return }
    flock(open, LOCK_UN)
  }
}
