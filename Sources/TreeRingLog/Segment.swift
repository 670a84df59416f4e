// What the log holds in memory about each segment, and the errors that name one.

/// A segment that is not written any more.
struct Segment: Sendable {
  var path: String
  var header: SegmentHeader
  /// Where its commits lie; also how many there are.
  var directory: SegmentDirectory
  /// The end of its last frame.
  var end: UInt64

  /// The last commit number it covers, there or compacted away.
  var lastCommit: CommitNumber {
    header.isCompacted ? header.lastCommit : directory.lastCommit
  }
}

/// The segment that takes new commits.
struct ActiveSegment: Sendable {
  var file: any File
  var path: String
  var header: SegmentHeader
  /// Includes sequenced commits that are not written yet.
  var directory: SegmentDirectory
  /// Where the next frame goes; behind the sequenced ones.
  var position: ChainPosition
  /// Where the next frame to be written goes; behind the completed ones.
  var written: ChainPosition
  /// How far the file is known to be synced.
  var synced: UInt64
  /// The size of the file; beyond `written` it is zeros, reserved ahead.
  var fileSize: UInt64
  /// True if the last frame written is a mark.
  var endsInMark: Bool

  /// The same for readers of commits that have been written.
  var segment: Segment {
    Segment(path: path, header: header, directory: directory, end: written.offset)
  }

  /// The same for readers: what has been written.
  func segment(completed: CommitNumber, timestamp: Timestamp) -> Segment {
    var directory = directory
    directory.removeCommits(after: completed, timestamp: timestamp)
    return Segment(path: path, header: header, directory: directory, end: written.offset)
  }
}

extension TreeRingError {
  /// Bytes on disk are wrong; `what` is a clause such as "the header's checksum is wrong".
  static func corruptLog(
    _ what: String, file: String, offset: UInt64, commit: CommitNumber? = nil
  ) -> TreeRingError {
    TreeRingError(
      .corruption,
      "The commit log is damaged: \(what). Nothing was changed; `treering salvage` copies what is "
        + "still readable into a new store.",
      file: file, offset: offset, commit: commit)
  }

  /// The error for a flaw at a place.
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
