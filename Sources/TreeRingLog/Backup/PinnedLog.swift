// A log at one moment that stays readable while the log goes on. It is a backup that nobody has
// copied yet: sealed segments do not change, and of the active one it takes the synced bytes, with
// a mark after them. Its files are open, so compaction may remove their names. It writes nothing.

/// A log at one moment. It holds one descriptor for each segment until it is deallocated.
package final class PinnedLog: Sendable {
  /// The contents.
  package let manifest: LogManifest
  private let parts: [Part]

  /// An open file, and the mark that follows its bytes.
  fileprivate struct Part: Sendable {
    var name: SegmentName
    var file: any File
    var end: UInt64
    var mark: [UInt8]

    var byteCount: UInt64 { end + UInt64(mark.count) }

    /// Some bytes of the file and its mark.
    ///
    /// - Throws: `conflict` if another process has cut the file.
    func bytes(_ range: Range<UInt64>) throws(TreeRingError) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
      let inFile = range.lowerBound < end ? Int(min(range.upperBound, end) - range.lowerBound) : 0
      let read = bytes.withUnsafeMutableBytes { buffer in
        Result { () throws(TreeRingError) in
          try file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<inFile]), at: range.lowerBound)
        }
      }
      guard try read.get() == inFile else { throw changed }
      let rest = mark.dropFirst(Int(max(range.lowerBound, end) - end))
      bytes.replaceSubrange(inFile..., with: rest.prefix(bytes.count - inFile))
      return bytes
    }

    var changed: TreeRingError {
      TreeRingError(
        .conflict,
        "The file \(name.fileName) has changed since the base began. Begin another base.")
    }
  }

  /// Reads all files once, for their checksums.
  fileprivate init(
    _ source: BackupSource, _ parts: [Part], pieceByteCount: Int
  ) throws(TreeRingError) {
    self.parts = parts
    var files: [LogManifest.File] = []
    for part in parts {
      var file = LogManifest.File(
        name: part.name.fileName, byteCount: part.byteCount, checksums: [])
      var start: UInt64 = 0
      while start < part.byteCount {
        let end = min(start + UInt64(pieceByteCount), part.byteCount)
        file.checksums.append(crc32c(try part.bytes(start..<end)))
        start = end
      }
      files.append(file)
    }
    manifest = try LogManifest(
      storeID: source.storeID, lastCommit: source.lastCommit, pieceByteCount: pieceByteCount,
      files: files)
  }

  /// The bytes of a piece. O(bytes of the piece).
  ///
  /// - Throws: `notFound` if there is no such file or piece; `conflict` if its bytes have changed;
  ///   `io`.
  package func piece(_ number: Int, of name: String) throws(TreeRingError) -> [UInt8] {
    guard let index = manifest.files.firstIndex(where: { $0.name == name }),
      manifest.files[index].checksums.indices.contains(number)
    else { throw TreeRingError(.notFound, "The base has no piece \(number) of a file \(name).") }
    let file = manifest.files[index]
    let bytes = try parts[index].bytes(manifest.range(of: number, in: file))
    guard crc32c(bytes) == file.checksums[number] else { throw parts[index].changed }
    return bytes
  }
}

extension CommitLog {
  /// Pins the log up to its newest synced commit. Reads it whole once, for the checksums; rewriting
  /// waits for that.
  ///
  /// - Parameter pieceByteCount: The size of the pieces, in bytes.
  /// - Throws: `io`, also if the process may not open as many files; `noSpace`, `closed`.
  package func pin(pieceByteCount: Int) throws(TreeRingError) -> PinnedLog {
    let core = core
    return try withCurrentFiles { () throws(TreeRingError) in
      do throws(TreeRingError) {
        return try core.rewriting.withLock { _ throws(TreeRingError) in
          let source = try backupSource()
          var parts: [PinnedLog.Part] = []
          for part in source.parts {
            // The log closes its own file of the active segment, so this is another one.
            parts.append(
              PinnedLog.Part(
                name: part.name, file: try core.fileSystem.open(part.path, .readOnly),
                end: part.end, mark: part.mark))
          }
          return try PinnedLog(source, parts, pieceByteCount: pieceByteCount)
        }
      } catch  where error.code == .conflict {
        throw TreeRingError.corruptLog("the file ends too early", file: core.directory, offset: 0)
      }
    }
  }
}
