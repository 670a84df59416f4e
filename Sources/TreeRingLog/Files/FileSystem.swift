// The only door to the disk. Everything that reads, writes, syncs, names or locks a file goes
// through these two protocols, so a test can stand in for the disk and lose power at any call.
//
// Durability, as callers may assume it and as a test system must give it:
// - bytes written or made room for are on the device after `sync` of that file, not before;
// - a name made, changed or removed is on the device after `syncDirectory`, not before;
// - unsynced writes reach the device in any order, whole or in part, or not at all;
// - after a failed `sync` nothing is known about the bytes it was to keep.

/// How a file is opened.
package enum OpenMode: Hashable, Sendable {
  case readOnly
  case readWrite
  /// For reading and writing; `alreadyExists` if it is there.
  case createNew
}

/// How strong a sync is.
package enum SyncStrength: Hashable, Sendable {
  /// On the device when the call returns.
  case full
  /// Ordered before all later writes. As strong as `full` where the system has nothing weaker.
  case barrier
}

/// A set of files in folders. Paths use "/".
package protocol FileSystem: Sendable {
  func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File
  func exists(_ path: String) throws(TreeRingError) -> Bool
  /// The names in a folder, without "." and "..", in no order; `notFound` if there is no folder.
  func list(_ directory: String) throws(TreeRingError) -> [String]
  /// Makes a folder; nothing happens if it is there. Folders above it must exist.
  func makeDirectory(_ path: String) throws(TreeRingError)
  /// Puts a file under a new name in the same folder, in place of what had it.
  func rename(_ path: String, to newPath: String) throws(TreeRingError)
  /// Gives a file a second name, as good as its first; `notSupported` where that cannot be, so that
  /// the caller copies instead. `alreadyExists` if the name is taken.
  func link(_ path: String, to newPath: String) throws(TreeRingError)
  func unlink(_ path: String) throws(TreeRingError)
  /// Removes an empty folder.
  func removeDirectory(_ path: String) throws(TreeRingError)
  /// Makes the names in a folder durable.
  func syncDirectory(_ path: String) throws(TreeRingError)
  /// Takes an exclusive lock on a file, made if missing; `locked` if somebody holds it. It ends
  /// when the returned object is released or goes, or with the process.
  func lock(_ path: String) throws(TreeRingError) -> any FileLock
  /// Whether somebody, also this process, holds the lock on a file. False if there is no such file.
  func isLocked(_ path: String) throws(TreeRingError) -> Bool
}

extension FileSystem {
  /// Makes the name of a folder durable in the folder that holds it.
  package func syncFolder(above path: String) throws(TreeRingError) {
    let parts = path.split(separator: "/").dropLast().joined(separator: "/")
    try syncDirectory(path.hasPrefix("/") ? "/" + parts : parts.isEmpty ? "." : parts)
  }
}

/// An open file. Calls may come from any thread at once.
package protocol File: AnyObject, Sendable {
  var path: String { get }
  /// Reads at most `buffer.count` bytes; fewer only at the end of the file.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int
  /// Writes all bytes or throws; after a throw any part of them may have been written.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError)
  func sync(_ strength: SyncStrength) throws(TreeRingError)
  func size() throws(TreeRingError) -> UInt64
  func truncate(to size: UInt64) throws(TreeRingError)
  /// Reserves room for `count` bytes from `offset` on, which must be the file's end; they read as
  /// zero and belong to the file. False if this system cannot; the file is unchanged then.
  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool
  /// Brings `count` bytes from `offset` on, a multiple of the system's page size, into memory: there
  /// they are at all times what `read` returns. The mapping may reach beyond the file's end; bytes
  /// there may not be touched until the file holds them. It outlives `close`.
  func map(
    at offset: UInt64, count: Int, writable: Bool
  ) throws(TreeRingError) -> any FileMapping
  /// Closes the file; later calls throw `closed`. It closes by itself when it goes.
  func close()
}

/// A part of a file in memory. It is unmapped when it goes, so whoever uses its bytes holds it.
package protocol FileMapping: AnyObject, Sendable {
  /// The mapped bytes; they may be stored to only if the mapping was made writable.
  var bytes: UnsafeMutableRawBufferPointer { get }
}

/// A held lock.
package protocol FileLock: AnyObject, Sendable {
  func release()
}
