// A file system that runs a hook on the same thread before each call on names, or when a file has
// been opened.

package import TreeRingLog
internal import TreeRingPlatform

/// Forwards every call to another file system, after calling a closure; calls another closure with
/// each opened file.
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
  ///   - before: called with the path of the call.
  ///   - opened: called with each opened file.
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
  package func lockStore(_ path: String) throws(TreeRingError) -> any FileLock {
    before(path)
    return try base.lockStore(path)
  }
  package func absolute(_ path: String) -> String { base.absolute(path) }
  package func watch(_ path: String) -> (any FileWatch)? { base.watch(path) }
  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    before(path)
    return try base.isLocked(path)
  }
}

/// A hook to run before a call; it can be set while the file system is in use.
package final class CallHook: Sendable {
  private let body = Mutex<(@Sendable (_ path: String) -> Bool)?>(nil)

  package init() {}

  /// Calls `body` before each later call until `body` returns true. Calls that `body` makes do not
  /// count.
  package func set(_ body: @escaping @Sendable (_ path: String) -> Bool) {
    self.body.withLock { $0 = body }
  }

  /// Runs the hook; called before each call.
  package func call(_ path: String) {
    let body = self.body.withLock { body in
      defer { body = nil }
      return body
    }
    guard let body, !body(path) else { return }
    self.body.withLock { $0 = $0 ?? body }
  }
}
