// A file system that lets something else happen before each call on names, on the same thread.

package import TreeRingLog

/// Passes every call on to another file system, after calling a closure.
package struct HookedFileSystem: FileSystem {
  private let base: any FileSystem
  private let before: @Sendable () -> Void

  package init(_ base: any FileSystem, before: @escaping @Sendable () -> Void) {
    self.base = base
    self.before = before
  }

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    before()
    return try base.open(path, mode)
  }
  package func exists(_ path: String) throws(TreeRingError) -> Bool {
    before()
    return try base.exists(path)
  }
  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    before()
    return try base.list(directory)
  }
  package func makeDirectory(_ path: String) throws(TreeRingError) {
    before()
    try base.makeDirectory(path)
  }
  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    before()
    try base.rename(path, to: newPath)
  }
  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    before()
    try base.link(path, to: newPath)
  }
  package func unlink(_ path: String) throws(TreeRingError) {
    before()
    try base.unlink(path)
  }
  package func removeDirectory(_ path: String) throws(TreeRingError) {
    before()
    try base.removeDirectory(path)
  }
  package func syncDirectory(_ path: String) throws(TreeRingError) {
    before()
    try base.syncDirectory(path)
  }
  package func lock(_ path: String) throws(TreeRingError) -> any FileLock {
    before()
    return try base.lock(path)
  }
  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    before()
    return try base.isLocked(path)
  }
}
