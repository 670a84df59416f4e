// The log's segments in memory, and the errors that name a segment.

/// A segment that is no longer written.
struct Segment: Sendable {
  var path: String
  var header: SegmentHeader
  /// The offsets and the number of its commits.
  var directory: SegmentDirectory
  /// The end of its last frame.
  var end: UInt64

  /// The last commit number that it covers, present or removed by compaction.
  var lastCommit: CommitNumber {
    header.isCompacted ? header.lastCommit : directory.lastCommit
  }
}

/// The segment that receives new commits.
struct ActiveSegment: Sendable {
  var file: any File
  var path: String
  var header: SegmentHeader
  /// Includes sequenced commits that are not written yet.
  var directory: SegmentDirectory
  /// The end of the sequenced frames, at which the next one is placed.
  var position: ChainPosition
  /// The end of the completed frames, at which the next write begins.
  var written: ChainPosition
  /// The length up to which the file is known to be synced.
  var synced: UInt64
  /// The file's bytes after `written`, zeros.
  var room: ReservedRoom
  /// True if the last frame written is a mark.
  var endsInMark: Bool

  /// A segment that ends at `position`, synced and without reserved room.
  init(
    _ file: any File, _ header: SegmentHeader, _ directory: SegmentDirectory,
    at position: ChainPosition, endsInMark: Bool
  ) {
    self.file = file
    path = file.path
    self.header = header
    self.directory = directory
    self.position = position
    written = position
    synced = position.offset
    room = ReservedRoom(after: position.offset)
    self.endsInMark = endsInMark
  }

  /// The segment up to its written end. Its directory includes commits not written yet.
  var segment: Segment {
    Segment(path: path, header: header, directory: directory, end: written.offset)
  }

  /// The segment with its completed commits only, for readers.
  func segment(completed: CommitNumber, timestamp: Timestamp) -> Segment {
    var segment = segment
    segment.directory.removeCommits(after: completed, timestamp: timestamp)
    return segment
  }
}

extension TreeRingError {
  /// The error for wrong bytes on disk; `what` is a clause such as "the header's checksum is
  /// wrong".
  static func corruptLog(
    _ what: String, file: String, offset: UInt64, commit: CommitNumber? = nil
  ) -> TreeRingError {
    TreeRingError(
      .corruption,
      "The commit log is damaged: \(what). Nothing was changed. Restore a backup, or copy the "
        + "readable commits to a new store with `treering salvage`.",
      file: file, offset: offset, commit: commit)
  }

  /// The error for a flaw at an offset.
  static func flaw(
    _ flaw: FrameFlaw, file: String, offset: UInt64, commit: CommitNumber? = nil
  ) -> TreeRingError {
    guard case .unsupported(let version, let flags) = flaw else {
      return corruptLog(flaw.problem, file: file, offset: offset, commit: commit)
    }
    return TreeRingError(
      .unsupportedFormat,
      "The log is of format version \(version) with flags \(flags); this program reads version "
        + "\(Format.version). Use a newer program.",
      file: file, offset: offset, commit: commit)
  }
}
