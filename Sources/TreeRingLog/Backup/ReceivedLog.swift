// The copy of a log that arrives piece by piece from another machine. The folder does not open as a
// store before everything is there and was checked (UnfinishedCopy.swift). A transfer that is begun
// again keeps the pieces that have the checksums of its manifest, which may be a newer one.

/// The folder of a log that arrives.
package final class ReceivedLog: Sendable {
  private let folder: String
  private let fileSystem: any FileSystem
  private let copy: UnfinishedCopy
  private var logFolder: String { folder + "/log" }

  /// Begins or continues a transfer.
  ///
  /// - Throws: `alreadyExists` if the folder holds anything but an unfinished transfer; `locked` if
  ///   another process fills it; `io`, `noSpace`.
  package init(in folder: String, fileSystem: any FileSystem) throws(TreeRingError) {
    self.folder = folder
    self.fileSystem = fileSystem
    copy = try UnfinishedCopy.begin(.transfer, in: folder, fileSystem: fileSystem)
    do throws(TreeRingError) {
      if try !fileSystem.exists(folder + "/log") {
        try fileSystem.makeDirectory(folder + "/log")
      }
      // Even if it exists: a failed attempt may have made it without a sync.
      try fileSystem.syncDirectory(folder)
    } catch {
      copy.release()
      throw error
    }
  }

  /// The pieces of a file that have not arrived, or differ. Reads what is there.
  package func missingPieces(
    of file: LogManifest.File, in manifest: LogManifest
  ) throws(TreeRingError) -> [Int] {
    let target = try open(file)
    defer { target.close() }
    let size = try target.size()
    if size > file.byteCount { try target.truncate(to: file.byteCount) }
    var missing: [Int] = []
    for (piece, checksum) in file.checksums.enumerated() {
      let range = manifest.range(of: piece, in: file)
      guard range.upperBound <= size else {
        missing.append(piece)
        continue
      }
      var bytes = [UInt8](repeating: 0, count: range.count)
      let read = bytes.withUnsafeMutableBytes { buffer in
        Result { () throws(TreeRingError) in try target.read(into: buffer, at: range.lowerBound) }
      }
      if try read.get() != bytes.count || crc32c(bytes) != checksum { missing.append(piece) }
    }
    return missing
  }

  /// Writes a piece that has the checksum of the manifest.
  package func write(
    _ bytes: [UInt8], as piece: Int, of file: LogManifest.File, in manifest: LogManifest
  ) throws(TreeRingError) {
    let target = try open(file)
    defer { target.close() }
    try target.write(bytes, at: manifest.range(of: piece, in: file).lowerBound)
  }

  /// Reads back and checks every file, removes those of earlier manifests, and makes the folder a
  /// store. O(bytes of the log).
  ///
  /// - Throws: `corruption` if a file is damaged, or the log is not that of the manifest.
  package func finish(_ manifest: LogManifest) throws(TreeRingError) {
    var last: CommitNumber = 0
    for file in manifest.files {
      guard let name = SegmentName(fileName: file.name) else { continue }
      let target = try open(file)
      defer { target.close() }
      let scan = try SegmentScan.scan(target, name: name)
      guard scan.flaw == nil, scan.end.offset == file.byteCount,
        scan.header.storeID == manifest.storeID
      else {
        throw .flaw(
          scan.flaw ?? .outOfOrder, file: target.path, offset: scan.end.offset,
          commit: scan.lastCommit + 1)
      }
      last = scan.lastCommit
      try target.sync(.whole)
    }
    guard last == manifest.lastCommit else {
      throw .corruptLog(
        "it ends with commit \(last), and should with \(manifest.lastCommit)", file: logFolder,
        offset: 0)
    }
    let names = Set(manifest.files.map(\.name))
    for name in try fileSystem.list(logFolder)
    where SegmentName(fileName: name) != nil && !names.contains(name) {
      try fileSystem.unlink("\(logFolder)/\(name)")
    }
    try fileSystem.syncDirectory(logFolder)
    try copy.finish()
  }

  /// Ends an attempt. What has arrived stays.
  package func release() { copy.release() }

  private func open(_ file: LogManifest.File) throws(TreeRingError) -> any File {
    let path = "\(logFolder)/\(file.name)"
    return try fileSystem.open(path, fileSystem.exists(path) ? .readWrite : .createNew)
  }
}
