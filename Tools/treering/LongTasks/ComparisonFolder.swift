// The temporary folder of a copy of a store, for a comparison or for measurements. Its owner holds
// the lock of a marker in it. So the next run can tell folders of killed programs from those in
// use, and removes them.

import Foundation
import TreeRingLog

/// A folder for a temporary copy of a store.
struct ComparisonFolder {
  let path: String
  private let copy: UnfinishedCopy

  private static let prefix = "treering-replay-"

  /// Makes a folder, and removes those of killed programs.
  /// - Parameter parent: the folder above it; nil for that of temporary files.
  init(in parent: String? = nil) throws {
    let parent = parent ?? FileManager.default.temporaryDirectory.path
    Self.removeLeft(in: parent)
    path =
      URL(fileURLWithPath: parent)
      .appendingPathComponent("\(Self.prefix)\(UUID().uuidString)").path
    copy = try UnfinishedCopy.begin(.comparison, in: path, fileSystem: PosixFileSystem())
  }

  /// Removes the folder and its contents.
  func remove() {
    try? FileManager.default.removeItem(atPath: path)
    copy.release()
  }

  private static func removeLeft(in folder: String) {
    let disk = PosixFileSystem()
    for name in (try? disk.list(folder)) ?? [] where name.hasPrefix(prefix) {
      let path = "\(folder)/\(name)"
      guard let kind = try? UnfinishedCopy.kind(in: path, fileSystem: disk),
        kind == UnfinishedCopy.Kind.comparison.rawValue,
        let copy = try? UnfinishedCopy.begin(.comparison, in: path, fileSystem: disk)
      else { continue }
      try? FileManager.default.removeItem(atPath: path)
      copy.release()
    }
  }
}
