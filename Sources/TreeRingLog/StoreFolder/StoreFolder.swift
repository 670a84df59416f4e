// Distinguishes a store's folder from any other before anything in it is changed.
//
// A folder is a store's if the page file begins with its magic number, or a segment with those of
// segments: in `log/` or, during the switch of a backup, in `next/`. A folder with only the
// leftovers of a killed creation counts as empty: LOCK without another program's content, `log/`
// with unfinished segments, and the marker of an unfinished copy.

/// The content of a folder with respect to stores.
package enum StoreFolder {
  /// The folder does not exist.
  case absent
  /// The folder is empty or holds only the leftovers of an interrupted creation.
  case empty
  /// The folder holds a store, sound or damaged.
  case store
  /// The folder has files named like segments, but none begins like a segment.
  case damaged(TreeRingError)
  /// The folder holds an item of that name, which is not a store's.
  case foreign(String)

  /// Inspects a folder without changing anything.
  ///
  /// - Parameter isPageFile: whether the file at a path begins as a page file does.
  package init(
    _ folder: String, fileSystem: any FileSystem,
    isPageFile: (String) throws(TreeRingError) -> Bool = { (_) throws(TreeRingError) in false }
  ) throws(TreeRingError) {
    guard let names = try Self.names(in: folder, fileSystem) else {
      self = try fileSystem.exists(folder) ? .foreign(folder) : .absent
      return
    }
    var damage: TreeRingError?
    for part in ["log", BackupSwitch.folderName] where names.contains(part) {
      for name in try Self.names(in: "\(folder)/\(part)", fileSystem) ?? [] {
        guard let segment = SegmentName(fileName: name) else { continue }
        do throws(TreeRingError) {
          if try Self.isSegment("\(folder)/\(part)/\(name)", segment, fileSystem) {
            self = .store
            return
          }
        } catch  where [.corruption, .unsupportedFormat].contains(error.code) {
          damage = damage ?? error
        } catch  where error.code == .notFound {
          // Only a writer removes segments, so the folder is a store's.
          self = .store
          return
        }
      }
    }
    if names.contains("pages"), try isPageFile("\(folder)/pages") {
      self = .store
    } else if let damage {
      self = .damaged(damage)
    } else if let other = try Self.foreign(names, in: folder, fileSystem) {
      self = .foreign(other)
    } else {
      self = .empty
    }
  }

  /// The error for a folder in which a store, or a copy of one, cannot be created.
  package static func refusal(_ name: String, in folder: String) -> TreeRingError {
    let what = name == folder ? "is not a folder" : "holds \(name), which is not part of a store"
    return TreeRingError(
      .notAStore, "\(folder) \(what). Nothing was changed. Name a new or an empty folder.",
      file: folder)
  }

  private static func names(
    in folder: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> [String]? {
    try fileSystem.listIfPresent(folder)?.sorted()
  }

  /// Whether a file begins with the magic numbers of a segment; if not, throws its flaw.
  private static func isSegment(
    _ path: String, _ name: SegmentName, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> Bool {
    let file = try fileSystem.open(path, .readOnly)
    defer { file.close() }
    let start = try file.start(count: Format.Head.version)
    let isOurs = start.withUnsafeBytes { bytes in
      bytes.count == Format.Head.version
        && bytes.number(UInt32.self, at: Format.Head.skippableMagic) == Format.skippableMagic
        && bytes.number(UInt16.self, at: Format.Head.magic) == Format.magic
    }
    if !isOurs { _ = try SegmentScan.header(of: file, name: name) }
    return isOurs
  }

  /// Whether a LOCK file begins with our magic number, or with a part of it and zeros: a crash may
  /// tear the unsynced file anywhere.
  private static func isLock(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> Bool {
    let file = try fileSystem.open(path, .readOnly)
    defer { file.close() }
    return try file.start(count: 8).enumerated().allSatisfy { index, byte in
      byte == 0 || byte == UInt8(truncatingIfNeeded: Format.sharedMagic >> UInt64(8 * index))
    }
  }

  /// The first name that no killed creation can have left; nil if there is none.
  private static func foreign(
    _ names: [String], in folder: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> String? {
    for name in names {
      let path = "\(folder)/\(name)"
      switch name {
      case "LOCK":
        do throws(TreeRingError) {
          if try !isLock(path, fileSystem) { return name }
        } catch  where error.code == .notAStore { return name }
      case UnfinishedCopy.name: continue
      case "log", BackupSwitch.folderName:
        guard let inside = try self.names(in: path, fileSystem) else { return name }
        if let other = inside.first(where: { !$0.hasSuffix(Format.temporarySuffix) }) {
          return "\(name)/\(other)"
        }
      case "readers":
        guard let inside = try self.names(in: path, fileSystem) else { return name }
        // Named by commit, a random part, process, time and the system's uptime, which older
        // readers leave out.
        if let other = inside.first(where: { !(4...5).contains($0.split(separator: "-").count) }) {
          return "\(name)/\(other)"
        }
      default: return name
      }
    }
    return nil
  }
}
