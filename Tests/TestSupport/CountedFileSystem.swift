// A file system that counts the reads of its files.

package import TreeRingLog
internal import TreeRingPlatform

/// Forwards every call to another file system and counts the reads.
package struct CountedFileSystem: FileSystem {
  private let base: any FileSystem
  /// The reads of the files opened here.
  package let reads = ReadCounter()

  package init(_ base: any FileSystem) { self.base = base }

  package func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    CountedFile(try base.open(path, mode), reads)
  }
  package func exists(_ path: String) throws(TreeRingError) -> Bool { try base.exists(path) }
  package func list(_ directory: String) throws(TreeRingError) -> [String] {
    try base.list(directory)
  }
  package func makeDirectory(_ path: String) throws(TreeRingError) {
    try base.makeDirectory(path)
  }
  package func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    try base.rename(path, to: newPath)
  }
  package func link(_ path: String, to newPath: String) throws(TreeRingError) {
    try base.link(path, to: newPath)
  }
  package func unlink(_ path: String) throws(TreeRingError) { try base.unlink(path) }
  package func removeDirectory(_ path: String) throws(TreeRingError) {
    try base.removeDirectory(path)
  }
  package func syncDirectory(_ path: String) throws(TreeRingError) {
    try base.syncDirectory(path)
  }
  package func lock(_ path: String) throws(TreeRingError) -> any FileLock { try base.lock(path) }
  package func lockStore(_ path: String) throws(TreeRingError) -> any FileLock {
    try base.lockStore(path)
  }
  package func absolute(_ path: String) -> String { base.absolute(path) }
  package func watch(_ path: String) -> (any FileWatch)? { base.watch(path) }
  package func isLocked(_ path: String) throws(TreeRingError) -> Bool {
    try base.isLocked(path)
  }
}

/// The number of reads and of bytes read.
package final class ReadCounter: Sendable {
  /// A number of reads and of their bytes.
  package struct Count: Hashable, Sendable {
    package var reads = 0
    package var bytes = 0
    /// The reads on threads of Swift's cooperative pool.
    package var readsInTasks = 0
  }
  private let count = Mutex(Count())

  /// The reads since the last call.
  package func take() -> Count {
    count.withLock { count in
      defer { count = Count() }
      return count
    }
  }

  fileprivate func note(_ byteCount: Int) {
    count.withLock { count in
      count.reads += 1
      count.bytes += byteCount
      if withUnsafeCurrentTask(body: { $0 != nil }) { count.readsInTasks += 1 }
    }
  }
}

private final class CountedFile: File {
  private let base: any File
  private let reads: ReadCounter

  init(_ base: any File, _ reads: ReadCounter) {
    self.base = base
    self.reads = reads
  }

  var path: String { base.path }
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int {
    let count = try base.read(into: buffer, at: offset)
    reads.note(count)
    return count
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError) {
    try base.write(bytes, at: offset)
  }
  func sync(_ strength: SyncStrength) throws(TreeRingError) { try base.sync(strength) }
  func size() throws(TreeRingError) -> UInt64 { try base.size() }
  func truncate(to size: UInt64) throws(TreeRingError) { try base.truncate(to: size) }
  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool {
    try base.allocate(count, at: offset)
  }
  var overwritesInPlace: Bool { base.overwritesInPlace }
  func map(at offset: UInt64, count: Int) throws(TreeRingError) -> any FileMapping {
    try base.map(at: offset, count: count)
  }
  func close() { base.close() }
}
