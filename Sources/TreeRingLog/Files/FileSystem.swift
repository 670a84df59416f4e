// The only interface to the disk. All code that reads, writes, syncs, names or locks a file uses
// these protocols. So a test can replace the disk and simulate a power failure at any call.
//
// Callers may assume the following durability, and a simulated disk must provide no more:
// - written or reserved bytes are on the device after `sync` of that file, not before;
// - a shorter length is on the device after a `whole` sync of that file; after a weaker one a crash
//   may restore the old length;
// - a created, changed or removed name is on the device after `syncDirectory`, not before;
// - unsynced writes reach the device in any order, whole or in part, or not at all;
// - a failed `sync` leaves the state of the bytes on the device unknown.

/// The mode in which a file is opened.
package enum OpenMode: Hashable, Sendable {
  case readOnly
  case readWrite
  /// Reading and writing; `alreadyExists` if the file exists.
  case createNew
}

/// The strength of a sync.
package enum SyncStrength: Hashable, Sendable {
  /// The bytes and the length are on the device when the call returns. Required for a file that was
  /// cut.
  case whole
  /// The bytes are on the device when the call returns. After a crash a file that was cut may have
  /// its old length and its old bytes.
  case full
  /// Ordered before all later writes. As strong as `full` if the system has nothing weaker.
  case barrier
}

/// A set of files in folders. Paths use "/".
package protocol FileSystem: Sendable {
  func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File
  func exists(_ path: String) throws(TreeRingError) -> Bool
  /// The absolute form of a path: it means the same file to every value of this type.
  func absolute(_ path: String) -> String
  /// The names in a folder, without "." and "..", in no order; `notFound` if the folder is missing.
  func list(_ directory: String) throws(TreeRingError) -> [String]
  /// Creates a folder, unless it exists. The folders above it must exist.
  func makeDirectory(_ path: String) throws(TreeRingError)
  /// Gives a file a new name in the same folder; replaces a file of that name.
  func rename(_ path: String, to newPath: String) throws(TreeRingError)
  /// Gives a file a second name, equivalent to its first. Throws `notSupported` where that is
  /// impossible, so that the caller copies instead, and `alreadyExists` if the name is taken.
  func link(_ path: String, to newPath: String) throws(TreeRingError)
  func unlink(_ path: String) throws(TreeRingError)
  /// Removes an empty folder.
  func removeDirectory(_ path: String) throws(TreeRingError)
  /// Makes the names in a folder durable.
  func syncDirectory(_ path: String) throws(TreeRingError)
  /// Takes an exclusive lock on a file, which is created if missing; throws `locked` if another
  /// holder has it. The lock ends when the returned object is released or deallocated, or with the
  /// process.
  func lock(_ path: String) throws(TreeRingError) -> any FileLock
  /// Takes the lock of a store: that of its LOCK file, which is created if missing, and that of the
  /// file's folder, if the system supports it. Unlike LOCK, the folder cannot be removed without
  /// the store. Throws `locked` if another holder has either.
  func lockStore(_ path: String) throws(TreeRingError) -> any FileLock
  /// Starts to watch a file for changes; nil where that is impossible, so that the caller polls.
  func watch(_ path: String) -> (any FileWatch)?
  /// Whether a process, even this one, holds the lock on a file. False if the file is missing.
  func isLocked(_ path: String) throws(TreeRingError) -> Bool
}

extension FileSystem {
  package func lockStore(_ path: String) throws(TreeRingError) -> any FileLock { try lock(path) }

  package func absolute(_ path: String) -> String { path }

  package func watch(_ path: String) -> (any FileWatch)? { nil }

  /// The names in a folder, without "." and "..", in no order; nil if the folder is missing.
  func listIfPresent(_ directory: String) throws(TreeRingError) -> [String]? {
    do throws(TreeRingError) {
      return try list(directory)
    } catch  where error.code == .notFound { return nil }
  }

  /// A file open for reading; nil if it is missing.
  func openIfPresent(_ path: String) throws(TreeRingError) -> (any File)? {
    do throws(TreeRingError) {
      return try open(path, .readOnly)
    } catch  where error.code == .notFound { return nil }
  }

  /// Makes the names of a log's segments and of its folder durable.
  func syncNames(ofLog directory: String) throws(TreeRingError) {
    try syncDirectory(directory)
    try syncFolder(above: directory)
  }

  /// Makes the name of a folder durable in its parent folder.
  package func syncFolder(above path: String) throws(TreeRingError) {
    let parts = path.split(separator: "/").dropLast().joined(separator: "/")
    try syncDirectory(path.hasPrefix("/") ? "/" + parts : parts.isEmpty ? "." : parts)
  }
}

/// An open file. Calls may come from any thread concurrently.
package protocol File: AnyObject, Sendable {
  var path: String { get }
  /// Reads at most `buffer.count` bytes; fewer only at the end of the file.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int
  /// Writes all bytes or throws. After an error, any part of them may have been written.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError)
  func sync(_ strength: SyncStrength) throws(TreeRingError)
  func size() throws(TreeRingError) -> UInt64
  func truncate(to size: UInt64) throws(TreeRingError)
  /// Reserves room for `count` bytes from `offset` on, which must be the file's end. They read as
  /// zero and belong to the file. Returns false if this system cannot do that; the file is
  /// unchanged then.
  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool
  /// Whether a write over bytes of this file that are on the device changes nothing but these bytes
  /// there. A first write to reserved room does more.
  var overwritesInPlace: Bool { get }
  /// Gives the room of `count` bytes from `offset` on back to the device. They read as zero from
  /// now on, as after a write of zeros, and the file keeps its length. Both are multiples of
  /// 4096. Returns false if this system cannot do that; the file is unchanged then.
  func release(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool
  /// Maps `count` bytes from `offset` on, a multiple of the system's page size, for reading. The
  /// mapping always holds the bytes that `read` returns. It may reach beyond the file's end; those
  /// bytes must not be accessed until the file holds them. It outlives `close`.
  func map(at offset: UInt64, count: Int) throws(TreeRingError) -> any FileMapping
  /// Closes the file; later calls throw `closed`. Deallocation closes it too.
  func close()
}

extension File {
  package var overwritesInPlace: Bool { false }

  package func release(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool { false }

  /// Writes all bytes or throws.
  package func write(_ bytes: [UInt8], at offset: UInt64) throws(TreeRingError) {
    try bytes.withUnsafeBytes { (bytes) throws(TreeRingError) in try write(bytes, at: offset) }
  }

  /// The first `count` bytes; fewer if the file is shorter.
  func start(count: Int) throws(TreeRingError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = bytes.withUnsafeMutableBytes { bytes in
      Result { () throws(TreeRingError) in try read(into: bytes, at: 0) }
    }
    return Array(bytes.prefix(try result.get()))
  }
}

/// A mapped part of a file. Deallocation unmaps it, so a user of its bytes must hold it.
package protocol FileMapping: AnyObject, Sendable {
  /// The mapped bytes. They are read-only: if there is no room, a store to memory ends the process.
  var bytes: UnsafeMutableRawBufferPointer { get }
}

/// The reason why a wait for the changes of a file ended.
package enum FileWatchOutcome: Sendable {
  /// The file has changed.
  case changed
  /// The time is over.
  case timedOut
  /// The file is gone, or the watch was cancelled.
  case ended
}

/// A watch for the changes of a file. It ends when it is deallocated.
package protocol FileWatch: AnyObject, Sendable {
  /// Waits until the file has changed since the previous call, for at most `milliseconds`. One
  /// thread at a time.
  func wait(milliseconds: Int) -> FileWatchOutcome
  /// Ends the watch and the wait of another thread.
  func cancel()
}

/// A held lock.
package protocol FileLock: AnyObject, Sendable {
  /// Writes to the locked file, whatever file has its name now.
  func write(_ bytes: [UInt8], at offset: UInt64) throws(TreeRingError)
  /// Throws `poisoned` if the locked file or folder no longer has its name: another process can
  /// then take a lock of that name.
  func check() throws(TreeRingError)
  /// Ends the lock. A second call does nothing.
  func release()
}
