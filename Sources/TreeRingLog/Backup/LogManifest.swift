// The contents of a log at one moment: its files in pieces of one size, each with a checksum. The
// log's own checksums find damage in a file. Those of the pieces find a file that was exchanged,
// and let an interrupted transfer keep the pieces that have arrived.

/// The files of a log at one moment.
package struct LogManifest: Hashable, Sendable {
  /// A file.
  package struct File: Hashable, Sendable {
    package var name: String
    package var byteCount: UInt64
    /// The CRC-32C of each piece.
    package var checksums: [UInt32]

    package init(name: String, byteCount: UInt64, checksums: [UInt32]) {
      self.name = name
      self.byteCount = byteCount
      self.checksums = checksums
    }
  }

  package var storeID: UInt64
  package var lastCommit: CommitNumber
  /// The size of every piece but the last one of a file.
  package var pieceByteCount: Int
  /// The files, oldest first.
  package var files: [File]

  /// A manifest that another machine has sent.
  ///
  /// - Throws: `invalidInput` if names, sizes and numbers of checksums do not fit together.
  package init(
    storeID: UInt64, lastCommit: CommitNumber, pieceByteCount: Int, files: [File]
  ) throws(TreeRingError) {
    (self.storeID, self.lastCommit) = (storeID, lastCommit)
    (self.pieceByteCount, self.files) = (pieceByteCount, files)
    let names = files.compactMap { SegmentName(fileName: $0.name) }
    guard Self.pieceByteCounts.contains(pieceByteCount), names.count == files.count,
      zip(names, names.dropFirst()).allSatisfy({ $0.firstCommit < $1.firstCommit }),
      files.allSatisfy({ $0.checksums.count == pieceCount(of: $0.byteCount) })
    else {
      throw TreeRingError(
        .invalidInput, "The manifest is not that of a log. Check the versions of both programs.")
    }
  }

  /// The bytes of all files.
  package var byteCount: UInt64 { files.reduce(0) { $0 + $1.byteCount } }

  /// The bytes that a piece has in its file.
  package func range(of piece: Int, in file: File) -> Range<UInt64> {
    let start = UInt64(piece) * UInt64(pieceByteCount)
    return start..<min(start + UInt64(pieceByteCount), file.byteCount)
  }

  private func pieceCount(of byteCount: UInt64) -> UInt64 {
    let size = UInt64(pieceByteCount)
    return byteCount / size + (byteCount % size > 0 ? 1 : 0)
  }

  /// The sizes of pieces that a program accepts: each is held in memory.
  package static let pieceByteCounts = 1...(64 << 20)
}
