// The copy of a store that workloads read and write. The original is only read, as by a backup.

import Foundation
import TreeRing
import TreeRingLog

/// A copy of a store in a temporary folder, open for writing.
final class BenchCopy {
  private let path: String
  private let memory: Int?
  private(set) var store: Store

  private init(path: String, memory: Int?) throws {
    self.path = path
    self.memory = memory
    store = try StoreAccess.open(path, .readWrite, memory: memory)
    try store.checkpoint()
  }

  /// Calls `body` with a copy, which is removed afterwards, also after Ctrl-C.
  ///
  /// - Parameters:
  ///   - folder: an existing folder for the copy; nil for that of temporary files.
  ///   - memory: the memory budget in bytes; nil for the default.
  static func with<R>(
    of original: String, in folder: String?, memory: Int?, _ body: (BenchCopy) throws -> R
  ) throws -> R {
    try StoreAccess.checkExists(original, "Check the path.")
    let disk = PosixFileSystem()
    if let folder, try !disk.exists(folder) {
      throw Failure(.noInput, "There is no folder at \(folder). Name one that exists.")
    }
    let work = CopyWork("Copying")
    let scratch = try ComparisonFolder(in: folder)
    defer { scratch.remove() }
    let path = scratch.path + "/store"
    _ = try work.run {
      try CommitLog.backUp(of: original, to: path, fileSystem: disk, mayLink: true) {
        (copied) throws(TreeRingError) in
        guard work.goOn(copied) else { throw TreeRingError(.cancelled, "Interrupted.") }
      }
    }
    let copy = try BenchCopy(path: path, memory: memory)
    defer { try? copy.store.close() }
    return try body(copy)
  }

  /// Closes the copy and opens it again.
  /// - Parameter fromLog: true to remove the page file in between, so that every tree is rebuilt
  ///   from the log.
  func reopen(fromLog: Bool = false) throws {
    try store.close()
    let pages = path + "/pages"
    if fromLog, try PosixFileSystem().exists(pages) { try PosixFileSystem().unlink(pages) }
    store = try StoreAccess.open(path, .readWrite, memory: memory)
  }
}
