// A file system that lets something else happen before each call on names, or when a file has been opened,
// on the same thread.

internal import Synchronization
package import TreeRingLog

/// Passes every call on to another file system, after calling a closure; calls another with each file opened.
package struct HookedFileSystem: FileSystem {
  private let base: any FileSystem
  private let before: @Sendable (_ path: String) -> Void
  private let opened: @Sendable (any File) -> Void

  package init(
    _ base: any FileSystem, before: @escaping @Sendable () -> Void = {},
    opened: @escaping @Sendable (any File) -> Void = { _ in }
  ) {
    self.init(base, beforeCall: { _ in before() }, opened: opened)
  }

  /// - Parameters:
  ///   - before: called with the path that the call is about.
  ///   - opened: called with each file opened.
  package init(
    _ base: any FileSystem, beforeCall before: @escaping @Sendable (_ path: String) -> Void,
    opened: @escaping @Sendable (any File) -> Void = { _ in }
  ) {
    self.base = base
    self.before = before
    self.opened = opened
  }

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    before(path)
    let file = try base.open(path, mode)
    opened(file)
    return file
  }
  package func exists(_ path: String) throws(TreeRingError) -> Bool {
    before(path)
    return try base.exists(path)
  }
  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    before(directory)
    return try base.list(directory)
  }
  package func makeDirectory(_ path: String) throws(TreeRingError) {
    before(path)
    try base.makeDirectory(path)
  }
  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    before(path)
    try base.rename(path, to: newPath)
  }
  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    before(path)
    try base.link(path, to: newPath)
  }
  package func unlink(_ path: String) throws(TreeRingError) {
    before(path)
    try base.unlink(path)
  }
  package func removeDirectory(_ path: String) throws(TreeRingError) {
    before(path)
    try base.removeDirectory(path)
  }
  package func syncDirectory(_ path: String) throws(TreeRingError) {
    before(path)
    try base.syncDirectory(path)
  }
  package func lock(_ path: String) throws(TreeRingError) -> any FileLock {
    before(path)
    return try base.lock(path)
  }
  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    before(path)
    return try base.isLocked(path)
  }
}

/// Something that is to happen before a call, told while the file system is in use already.
package final class CallHook: Sendable {
  private let body = Mutex<(@Sendable (_ path: String) -> Bool)?>(nil)

  package init() {}

  /// From now on `body` is called before each call, until it returns true; not for calls of its own.
  package func set(_ body: @escaping @Sendable (_ path: String) -> Bool) {
    self.body.withLock { $0 = body }
  }

  /// To be called before each call.
  package func call(_ path: String) {
    let body = self.body.withLock { body in
      defer { body = nil }
      return body
    }
    guard let body, !body(path) else { return }
    self.body.withLock { $0 = $0 ?? body }
  }
}
