// One writer for each store: an exclusive lock on a file, which ends with the process.

/// Holds a store's LOCK file until released or gone.
package final class StoreLock: Sendable {
  private let held: any FileLock

  /// Takes the lock, making its file if needed; throws `locked` if another writer has it.
  package init(path: String, fileSystem: any FileSystem) throws(TreeRingError) {
    held = try fileSystem.lock(path)
  }

  /// Lets the next writer in. Does nothing the second time.
  package func release() { held.release() }
}
