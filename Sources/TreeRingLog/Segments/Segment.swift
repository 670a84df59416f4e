// The log's in-memory state of each segment, and the errors that name a segment.

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
  /// The position of the next sequenced frame; behind all sequenced frames.
  var position: ChainPosition
  /// The position of the next written frame; behind all completed frames.
  var written: ChainPosition
  /// The length up to which the file is known to be synced.
  var synced: UInt64
  /// The size of the file. The bytes behind `written` are zeros, reserved room.
  var fileSize: UInt64
  /// True if the last frame written is a mark.
  var endsInMark: Bool

  /// The segment as its directory stands, up to the end of the written bytes.
  var segment: Segment {
    Segment(path: path, header: header, directory: directory, end: written.offset)
  }

  /// The segment for readers: only completed commits.
  func segment(completed: CommitNumber, timestamp: Timestamp) -> Segment {
    var directory = directory
    directory.removeCommits(after: completed, timestamp: timestamp)
    return Segment(path: path, header: header, directory: directory, end: written.offset)
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
      "The commit log is damaged: \(what). Nothing was changed; `treering salvage` copies what is "
        + "still readable into a new store.",
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
        + "\(Format.version). Use a newer one.",
      file: file, offset: offset, commit: commit)
  }
}
