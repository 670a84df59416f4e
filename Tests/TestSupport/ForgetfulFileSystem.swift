// A file system that imitates a mistake: it syncs a folder only if this process has changed a name
// in it. Names left by a process that was killed before its sync then stay unsynced, and a power
// failure may take them. Tests open stores through it to prove that they would detect such a
// mistake.

package import TreeRingLog
internal import TreeRingPlatform

/// Forwards every call, except the sync of a folder in which this process changed no name.
package struct ForgetfulFileSystem: FileSystem {
  private final class Changed: Sendable {
    let folders = Mutex<Set<String>>([])
  }
  private let base: any FileSystem
  private let changed = Changed()

  package init(_ base: any FileSystem) { self.base = base }

  private func note(_ path: String) {
    let folder = SimulatedNames.parent(SimulatedNames.normal(path))
    changed.folders.withLock { _ = $0.insert(folder) }
  }

  package func syncDirectory(_ path: String) throws(TreeRingError) {
    let folder = SimulatedNames.normal(path)
    guard changed.folders.withLock({ $0.remove(folder) }) != nil else { return }
    try base.syncDirectory(path)
  }

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    if mode == .createNew { note(path) }
    return try base.open(path, mode)
  }
  package func makeDirectory(_ path: String) throws(TreeRingError) {
    if try !base.exists(path) { note(path) }
    try base.makeDirectory(path)
  }
  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    note(newPath)
    try base.rename(path, to: newPath)
  }
  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    note(newPath)
    try base.link(path, to: newPath)
  }
  package func unlink(_ path: String) throws(TreeRingError) {
    note(path)
    try base.unlink(path)
  }
  package func removeDirectory(_ path: String) throws(TreeRingError) {
    note(path)
    try base.removeDirectory(path)
  }
  package func exists(_ path: String) throws(TreeRingError) -> Bool { try base.exists(path) }
  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    try base.list(directory)
  }
  package func lock(_ path: String) throws(TreeRingError) -> any FileLock { try base.lock(path) }
  package func lockStore(_ path: String) throws(TreeRingError) -> any FileLock {
    try base.lockStore(path)
  }
  package func absolute(_ path: String) -> String { base.absolute(path) }
  package func watch(_ path: String) -> (any FileWatch)? { base.watch(path) }
  package func isLocked(_ path: String) throws(TreeRingError) -> Bool { try base.isLocked(path) }
}
